"""netstudy, killed with kill -9 at a chosen write: `KILL_AT=name:count:when`.

`count` says which write of a file whose path contains `name`; `when` is `before` or `after` the
file gets its name. For a frame of a segment, it is `before`, `half` way through or `after` the
write. The process kills itself, at an instant that a test can repeat. Writes of its forked copies,
which draw figures, are not counted.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from netstudy.cli import main

NAME, COUNT, WHEN = os.environ["KILL_AT"].split(":")
MAIN = os.getpid()
flush, write = os.fsync, os.write
seen = 0
named_next = False


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def of(fd: int) -> Path:
    return Path(f"/proc/self/fd/{fd}").readlink()


def killing_flush(fd: Any) -> None:
    """A file is flushed under its temporary name, then its folder, when it has its own."""
    global seen, named_next
    if os.getpid() != MAIN:
        flush(fd)
        return
    if named_next:
        die()
    flushed = of(fd)
    if flushed.is_file() and NAME in str(flushed) and flushed.suffix != ".seg":
        seen += 1
        if seen == int(COUNT) and WHEN == "before":
            die()
        named_next = seen == int(COUNT)
    flush(fd)


def killing_write(fd: int, data: Any) -> int:
    """A frame is written to a segment."""
    global seen
    written = of(fd)
    if os.getpid() != MAIN or written.suffix != ".seg" or NAME not in str(written):
        return write(fd, data)
    seen += 1
    if seen == int(COUNT):
        if WHEN != "before":
            write(fd, data[: len(data) // 2] if WHEN == "half" else data)
        die()
    return write(fd, data)


os.fsync, os.write = killing_flush, killing_write
main()
