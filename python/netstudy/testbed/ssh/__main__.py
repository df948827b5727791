"""`python -m netstudy.testbed.ssh`: the controller of a user's hosts."""

from __future__ import annotations

import argparse
import asyncio
import sys
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
        asyncio.run(supervise(inventory, asked.file, asked.captures))
    except NetstudyError as error:
        print(error, file=sys.stderr)
        return TestbedError.exit_code  # plan and inventory were already checked
    return 0


if __name__ == "__main__":
    sys.exit(main())
