"""Changes the records in a results folder, as damage or another hand would."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from netstudy.store import Folder

Record = dict[str, Any]


def rewrite(path: Path, change: Callable[[Record], Record | None]) -> None:
    """Write the records of a folder anew, each as `change` returns it; None: the run is then
    missing. The folder is no longer sealed."""
    folder = Folder(path)
    records = [change(json.loads(text)) for text in folder.record_texts(folder.plan().runs)]
    shutil.rmtree(path / "records")
    (path / "DONE").unlink(missing_ok=True)
    anew = Folder(path)
    with anew.writing():
        for record in records:
            if record is not None:
                anew.write_run(record["run"], record["status"], json.dumps(record).encode() + b"\n")


def damage(path: Path, offset: int) -> None:
    """Change one byte of a file; a negative offset counts from its end."""
    content = bytearray(path.read_bytes())
    content[offset] ^= 0xFF
    path.write_bytes(content)
