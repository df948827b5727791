"""`python -m netstudy.testbed.ssh`: the controller of a user's hosts."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path

from netstudy.errors import NetstudyError, TestbedError
from netstudy.inventory import parse_inventory
from netstudy.testbed.ssh.supervisor import supervise


def main() -> int:
    """Run the plan on standard input."""
    parser = argparse.ArgumentParser(prog="python -m netstudy.testbed.ssh")
    parser.add_argument("--inventory", required=True, help="text of the inventory")
    parser.add_argument("--file", required=True, help="file of the inventory, for messages")
    parser.add_argument("--captures", type=Path, help="folder for the output of the processes")
    asked = parser.parse_args()
    try:
        inventory = parse_inventory(asked.inventory, asked.file)
        work = supervise(inventory, asked.file, asked.captures)
        is_done = asyncio.run(_unless_asked_to_end(work))
    except NetstudyError as error:
        print(error, file=sys.stderr)
        return TestbedError.exit_code  # plan and inventory were already checked
    if not is_done:  # end as a process that does not handle the signal
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    return 0


async def _unless_asked_to_end(work: Coroutine[None, None, None]) -> bool:
    """Do the work. SIGTERM stops it, so that its sessions end and its folders are removed; then
    this is False."""
    task = asyncio.ensure_future(work)
    asked = False

    def end() -> None:
        nonlocal asked
        asked = True
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    with suppress(asyncio.CancelledError):
        await task
    return not asked


if __name__ == "__main__":
    sys.exit(main())
