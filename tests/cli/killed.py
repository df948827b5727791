"""netstudy, killed with kill -9 at a chosen write: `KILL_AT=name:count:when`.

`count` says which write of a file whose path contains `name`; `when` is `before` or `after` the
file gets its name. The process kills itself, at an instant that a test can repeat.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from netstudy.cli import main

NAME, COUNT, WHEN = os.environ["KILL_AT"].split(":")
flush = os.fsync
seen = 0
named_next = False


def killing_flush(fd: Any) -> None:
    """A file is flushed under its temporary name, then its folder, when it has its own."""
    global seen, named_next
    flushed = Path(f"/proc/self/fd/{fd}").readlink()
    if named_next:
        os.kill(os.getpid(), signal.SIGKILL)
    if flushed.is_file() and NAME in str(flushed):
        seen += 1
        if seen == int(COUNT) and WHEN == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        named_next = seen == int(COUNT)
    flush(fd)


os.fsync = killing_flush
main()
