"""Usage of one program: CPU time, wall time, memory."""

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
"""The launcher's exit status is the number of the signal and this, for a program that one ended."""


@dataclass(frozen=True)
class Job:
    """A program to run, with its input."""

    command: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True)
class Usage:
    """A program's usage until its end, and its output."""

    user_s: float
    wall_s: float
    rss_bytes_max: int
    output: str


class Crash(Exception):
    """A program was ended by a signal; says by which."""


def run(job: Job) -> Usage:
    """Run a job to its end; its messages are not held.

    Raises Crash when a signal ended it, CalledProcessError when it failed otherwise.
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
    """The command behind its launcher, which needs no packages."""
    return [sys.executable, "-I", "-S", str(LAUNCHER), str(fd), *command]


def parse(said: str, output: str) -> Usage:
    """The launcher's numbers; Linux counts memory in kibibytes (getrusage(2))."""
    user_s, wall_s, rss_kib = said.split()
    return Usage(float(user_s), float(wall_s), int(rss_kib) * 1024, output)
