"""The results folder of a run of a study (`results/<study>/<UTC time>/`): the only source of the
study's results.

`create` makes a folder, `execute` fills it, and all other commands only read it. Records are
appended to segments (`records`). Any other file is written under a temporary name, flushed to the
disk and then renamed, so that a crash at any time leaves no incomplete file. Measurements are never
overwritten.
"""

from __future__ import annotations

from netstudy.store.create import create
from netstudy.store.files import storage, write_atomic
from netstudy.store.folder import Folder
from netstudy.store.gather import gather
from netstudy.store.invocation import Invocation
from netstudy.store.lock import is_locked, locked
from netstudy.store.so_far import FolderSoFar
from netstudy.store.tree import Results

__all__ = [
    "Folder",
    "FolderSoFar",
    "Invocation",
    "Results",
    "create",
    "gather",
    "is_locked",
    "locked",
    "storage",
    "write_atomic",
]
