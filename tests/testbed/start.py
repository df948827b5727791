"""Becomes a sandbox that runs a command: `python -m tests.testbed.start COMMAND …`."""

from __future__ import annotations

import os
import sys

from netstudy.testbed.netns.sandbox import sandbox_command

if __name__ == "__main__":
    command = sandbox_command(sys.argv[1:])
    os.execv(command[0], command)
