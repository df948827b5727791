"""What one program used: processor time, wall time, memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = Path(__file__).parent / "launch.py"


@dataclass(frozen=True)
class Job:
    """A program to run, with its input."""

    command: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True)
class Usage:
    """What a program used until its end, and what it printed."""

    user_s: float
    wall_s: float
    rss_bytes_max: int
    output: str


def run(job: Job) -> Usage:
    """Run a job to its end. Raises CalledProcessError when it fails; its messages are not held."""
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            launched(job.command, writing),
            input=job.text,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            pass_fds=(writing,),
        )
    finally:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
    return parse(said, done.stdout)


def launched(command: Sequence[str], fd: int) -> list[str]:
    """The command behind its launcher, which needs no packages."""
    return [sys.executable, "-I", "-S", str(LAUNCHER), str(fd), *command]


def parse(said: str, output: str) -> Usage:
    """What the launcher said; Linux counts memory in kibibytes (getrusage(2))."""
    user_s, wall_s, rss_kib = said.split()
    return Usage(float(user_s), float(wall_s), int(rss_kib) * 1024, output)
