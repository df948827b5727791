"""Optional packages: imported on first use; the error about a missing package says how to install
it."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final

from netstudy.errors import NetstudyError

EXTRAS: Final = {
    "pyarrow": ("pyarrow",),
    "pandas": ("pandas", "pyarrow"),
    "polars": ("polars", "pyarrow"),
    "typst": ("typst",),
    "distributed": ("distributed", "cryptography"),
}
"""Package -> all packages that are needed to use it. The extras have the same names, except `arrow`
for pyarrow, `pdf` for typst and `dask` for distributed."""


class MissingPackageError(NetstudyError, ImportError):
    """An optional package is not installed; the message has the command that installs it."""


def package(name: str) -> Any:
    """The module of an optional package. Raises MissingPackageError."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        command = f"{sys.executable} -m pip install {' '.join(EXTRAS[name])}"
        raise MissingPackageError(f"{name} is not installed. Install it with: {command}") from None


def module(name: str) -> Any:
    """A module of an optional package. Raises MissingPackageError if the package is missing."""
    package(name.partition(".")[0])
    return importlib.import_module(name)
