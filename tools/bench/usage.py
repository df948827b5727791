"""Runs one program and measures its usage: CPU time, wall time and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = Path(__file__).parent / "launch.py"
_SIGNALS = 128
"""If a signal ended the program, the launcher's exit status is the number of the signal plus
this."""


@dataclass(frozen=True)
class Job:
    """A program to run, with its arguments and its input."""

    command: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True)
class Usage:
    """The usage of a program from its start to its end, and its output."""

    user_s: float
    wall_s: float
    rss_bytes_max: int
    output: str


class Crash(Exception):
    """Raised if a program was ended by a signal; the message names the signal."""


def run(job: Job) -> Usage:
    """Run a job to its end. Its messages (standard error) are not stored.

    Raises Crash if a signal ended the program, CalledProcessError if it failed in another way.
    """
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            launched(job.command, writing),
            input=job.text,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=(writing,),
        )
    finally:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
    if done.returncode > _SIGNALS:
        raise Crash(signal.Signals(done.returncode - _SIGNALS).name)
    done.check_returncode()
    return parse(said, done.stdout)


def launched(command: Sequence[str], fd: int) -> list[str]:
    """The command, started by the launcher, which needs no packages."""
    return [sys.executable, "-I", "-S", str(LAUNCHER), str(fd), *command]


def parse(said: str, output: str) -> Usage:
    """Reads the numbers that the launcher wrote; Linux counts memory in kibibytes
    (getrusage(2))."""
    user_s, wall_s, rss_kib = said.split()
    return Usage(float(user_s), float(wall_s), int(rss_kib) * 1024, output)
