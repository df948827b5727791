"""The results folder of a run of a study (`results/<study>/<UTC time>/`): the only source of its
results.

`create` makes one, `execute` fills it, every other verb only reads it. A file is written under a
temporary name, flushed to the disk and then renamed, so that a crash at any time leaves complete
files or none. Measurements are never overwritten.
"""

from __future__ import annotations

from netstudy.store.create import create
from netstudy.store.files import storage, write_atomic
from netstudy.store.folder import Folder
from netstudy.store.gather import gather
from netstudy.store.invocation import Invocation
from netstudy.store.lock import is_locked, locked
from netstudy.store.tree import Results

__all__ = [
    "Folder",
    "Invocation",
    "Results",
    "create",
    "gather",
    "is_locked",
    "locked",
    "storage",
    "write_atomic",
]
