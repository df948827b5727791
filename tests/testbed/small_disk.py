"""`python -m tests.testbed.small_disk BYTES`: the supervisor, with a RAM disk of that size for
files."""

from __future__ import annotations

import sys
from pathlib import Path

from netstudy.testbed.netns.kernel import kernel
from netstudy.testbed.netns.namespaces import run_program
from netstudy.testbed.netns.sandbox import enter
from netstudy.testbed.netns.supervisor import supervise
from netstudy.testbed.workloads.base import RAM_FOLDER

if __name__ == "__main__":
    enter()
    Path(RAM_FOLDER).mkdir()
    run_program("mount", "-t", "tmpfs", "-o", f"size={sys.argv[1]}", "tmpfs", RAM_FOLDER)
    supervise("user-space", None, kernel())
