"""`python -m tests.testbed.small_disk BYTES [fill]`: the supervisor, with a RAM disk of that size
for files.

With `fill`, all that is left of it is taken by another file once users submit. That is done in
here: nobody outside reaches the mounts of an ordinary user's sandbox.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from netstudy.testbed.netns.kernel import kernel
from netstudy.testbed.netns.namespaces import run_program
from netstudy.testbed.netns.sandbox import enter
from netstudy.testbed.netns.supervisor import supervise
from netstudy.testbed.workloads.base import RAM_FOLDER

_STEP_S = 0.02


def fill() -> None:
    """Take what is left of the disk as soon as there is an agent."""
    while not any(map(_is_agent, Path("/proc").iterdir())):
        time.sleep(_STEP_S)
    with Path(RAM_FOLDER, "others").open("wb", buffering=0) as others, suppress(OSError):
        while True:
            others.write(bytes(2**16))


def _is_agent(process: Path) -> bool:
    with suppress(OSError):
        return (process / "cmdline").read_bytes().split(b"\0")[1:2] == [b"agent"]
    return False


if __name__ == "__main__":
    enter()
    Path(RAM_FOLDER).mkdir()
    run_program("mount", "-t", "tmpfs", "-o", f"size={sys.argv[1]}", "tmpfs", RAM_FOLDER)
    if sys.argv[2:] == ["fill"]:
        threading.Thread(target=fill, daemon=True).start()
    supervise("user-space", None, kernel())
