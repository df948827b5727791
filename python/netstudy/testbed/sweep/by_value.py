"""Functions of modules that workers do not have: their code is sent, in place of their name."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from netstudy.packages import package


class ByValue:
    """A function that arrives as itself on a worker without its module: its code travels along.

    dask's own pickling looks only at the outermost object for modules that are to be sent by
    value, and that object is dask's task.
    """

    def __init__(self, function: Callable[..., Any], modules: Sequence[ModuleType]) -> None:
        """`modules` are the modules of the function that workers lack; they may import each other,
        the standard library and, inside functions, dask."""
        cloudpickle = package("cloudpickle")
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            self._pickled: bytes = cloudpickle.dumps(function)
        finally:
            for module in modules:
                cloudpickle.unregister_pickle_by_value(module)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[bytes]]:
        return pickle.loads, (self._pickled,)

    def __call__(self, *arguments: Any) -> Any:
        """The function, called here."""
        return pickle.loads(self._pickled)(*arguments)
