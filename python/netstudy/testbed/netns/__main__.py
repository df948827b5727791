"""`python -m netstudy.testbed.netns`: the supervisor, as the first process of a sandbox."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from netstudy.errors import NetstudyError, TestbedError
from netstudy.testbed.netns.kernel import kernel
from netstudy.testbed.netns.sandbox import enter
from netstudy.testbed.netns.supervisor import supervise
from netstudy.testbed.real.setting import SILENCE_S


def main() -> int:
    """Prepare the sandbox and run the plan on standard input."""
    parser = argparse.ArgumentParser(prog="python -m netstudy.testbed.netns")
    parser.add_argument("--switching", choices=("user-space", "kernel"), default="user-space")
    parser.add_argument("--captures", type=Path, help="folder for the output of the processes")
    parser.add_argument(
        "--silence",
        type=float,
        default=SILENCE_S,
        metavar="SECONDS",
        help="longest silence of a server, in seconds",
    )
    parser.add_argument(
        "--machine-sysctls",
        type=json.loads,
        metavar="JSON",
        help="settings of the machine's own namespace, as JSON",
    )
    asked = parser.parse_args()
    try:
        enter()
        supervise(
            asked.switching,
            asked.captures,
            kernel(),
            silence_s=asked.silence,
            machine_sysctls=asked.machine_sysctls,
        )
    except NetstudyError as error:
        print(error, file=sys.stderr)
        return TestbedError.exit_code  # the plan was already checked
    return 0


if __name__ == "__main__":
    sys.exit(main())
