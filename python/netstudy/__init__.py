"""netstudy: design, run, analyse and publish network performance studies.

`netstudy.run` runs a study; `netstudy.open` reads its results as tables (`netstudy.data`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netstudy.errors import NetstudyError
from netstudy.version import __version__

if TYPE_CHECKING:
    from netstudy.data import Column, MissingPackageError, StudyData, Table, Verdict, open, run

__all__ = [
    "Column",
    "MissingPackageError",
    "NetstudyError",
    "StudyData",
    "Table",
    "Verdict",
    "__version__",
    "open",
    "run",
]


def __getattr__(name: str) -> Any:
    """A name of `netstudy.data`, which is imported on first use, because importing it takes a
    while."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from netstudy import data

    return getattr(data, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
