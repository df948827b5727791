"""Runs one program and writes its usage to a file descriptor: launch.py FD PROGRAM ARGUMENT…

Linux also counts the memory that a process had before its exec, so a small program that a large one
starts seems large. This launcher imports almost nothing, so that it is a small parent.
"""

import os
import sys
import time

fd, program = int(sys.argv[1]), sys.argv[2]
started = time.monotonic()
child = os.posix_spawnp(program, sys.argv[2:], os.environ)
_, status, used = os.wait4(child, 0)
wall_s = time.monotonic() - started
os.write(fd, f"{used.ru_utime} {wall_s} {used.ru_maxrss}".encode())
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)  # 128 + signal, as shells do
