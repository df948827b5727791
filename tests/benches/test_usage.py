"""What a program used is its own: not its parent's memory, and nothing when it fails."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools.bench.usage import Crash, Job, parse, run


def test_the_launchers_line_is_read_with_its_units() -> None:
    used = parse("1.5 2.25 2048", "printed")

    assert (used.user_s, used.wall_s, used.rss_bytes_max) == (1.5, 2.25, 2048 * 1024)
    assert used.output == "printed"


def test_a_program_gets_its_input_and_its_output_is_held() -> None:
    assert run(Job(("cat",), "a line\n")).output == "a line\n"


def test_a_small_program_is_not_charged_with_this_ones_memory() -> None:
    ballast = bytearray(64 * 2**20)

    assert run(Job(("true",))).rss_bytes_max < len(ballast)


def test_a_program_that_fails_is_no_measurement() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run(Job((sys.executable, "-c", "raise SystemExit(3)")))


def test_a_program_that_a_signal_ends_has_crashed_by_its_name() -> None:
    with pytest.raises(Crash, match=r"^SIGSEGV$"):
        run(Job(("sh", "-c", "kill -SEGV $$")))
