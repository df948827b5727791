"""`make bench-http`: how generators are compared, and one turn of each for real."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

from netstudy.testbed.netns.testbed import Netns
from tests.skips import needs_programs, or_skip
from tools.bench.http import Case, Page, Turn, cases, figures, read_wrk, table

WRK = """Running 2s test @ http://10.77.0.2:8080/home
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.21ms    3.02ms  40.12ms   95.31%
    Req/Sec    24.51k     4.10k   30.08k    70.00%
  48820 requests in 2.00s, 441.58MB read
Requests/sec:  24410.00
"""


def turns(*requests: int, cpu_s: float) -> list[Turn]:
    """Of two seconds each."""
    return [Turn(count, 2.0, cpu_s) for count in requests]


TAKEN = {
    "agent": turns(300, 100, 200, cpu_s=0.5),
    "wrk": turns(100, 100, 100, cpu_s=1.0),
}


def test_rates_are_by_the_clock_and_by_processor_time() -> None:
    turn = Turn(requests=1000, seconds=2.0, cpu_s=0.5)

    assert (turn.rate_per_s, turn.rate_per_cpu_s) == (500.0, 2000.0)


def test_ratios_are_of_our_median_to_the_others() -> None:
    assert figures(TAKEN, "rate_per_s") == {"agent": 100.0, "wrk": 50.0, "ratio": 2.0}
    assert figures(TAKEN, "rate_per_cpu_s") == {"agent": 400.0, "wrk": 100.0, "ratio": 4.0}


def test_what_wrk_prints_is_read() -> None:
    assert read_wrk(WRK, cpu_s=1.5) == Turn(48820, 2.0, 1.5)
    assert read_wrk(WRK.replace("2.00s,", "1.50m,"), cpu_s=1.5).seconds == 90.0


@pytest.mark.parametrize(
    "line",
    ["  Socket errors: connect 0, read 3, write 0, timeout 0", "  Non-2xx or 3xx responses: 7"],
)
def test_a_turn_of_wrk_with_errors_is_no_turn(line: str) -> None:
    with pytest.raises(SystemExit, match="wrk says"):
        read_wrk(f"{WRK}{line}\n", cpu_s=1.5)


def test_each_case_has_its_line() -> None:
    compared = {case.name: TAKEN for case in cases(Page("nginx"))}
    printed = io.StringIO()
    Console(width=200, file=printed).print(table(compared))
    lines = [line.split("│") for line in printed.getvalue().splitlines() if "│" in line]
    shown = [[cell.strip() for cell in cells[1:-1]] for cells in lines]

    assert [row[0] for row in shown] == list(compared)
    assert shown[1][1:] == ["100", "50", "2.00", "400", "100", "4.00"]
    assert Case(Page("nginx"), 16).name in compared


@pytest.mark.slow
@pytest.mark.engine
@needs_programs("nginx", "wrk")
def test_generators_take_turns_in_a_sandbox() -> None:
    with or_skip():
        Netns().check()
    quick = ["--rounds", "1", "--seconds", "1", "--least", "0"]
    command = [sys.executable, "-m", "tools.bench.http", *quick]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    pages = [Page("nginx"), Page("brokerage")]
    assert found.keys() == {case.name for page in pages for case in cases(page)}
    for quantities in found.values():
        for figure in quantities.values():
            assert min(figure.values()) > 0
