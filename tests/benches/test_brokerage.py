"""`make bench-brokerage`: how servers are compared, and one turn for real."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
from rich.console import Console

from netstudy.testbed.netns.testbed import Netns
from tests.skips import needs_programs, or_skip
from tools.bench.brokerage import (
    NGINX,
    STATIC,
    Asked,
    Target,
    family_cpu_s,
    figures,
    requests_of,
    table,
    take_turns,
)


def asked(*cpu_us: float) -> list[Asked]:
    """A thousand requests each, in half a second."""
    return [Asked(1_000, 0.5, one / 1_000, database_cpu_s=0.001) for one in cpu_us]


TAKEN = {NGINX: asked(10.0, 20.0, 40.0), STATIC: asked(20.0, 30.0, 40.0)}


def test_medians_have_their_units_and_ratios_are_of_the_same_turn() -> None:
    shown = figures(dict(TAKEN))

    assert shown[NGINX] == {
        "requests_per_s": 2_000.0,
        "cpu_us": pytest.approx(20.0),
        "database_cpu_us": pytest.approx(1.0),
        "cpu_ratio": 1.0,
    }
    assert shown[STATIC]["cpu_ratio"] == pytest.approx(1.5)


def test_the_table_has_a_line_for_each_page() -> None:
    printed = io.StringIO()
    Console(width=160, file=printed).print(table(figures(dict(TAKEN))))
    lines = [line.split("│") for line in printed.getvalue().splitlines() if "│" in line]

    assert [cell.strip() for cell in lines[1][1:-1]] == [
        STATIC,
        "2000",
        "30.0 µs",
        "1.0 µs",
        "1.50",
    ]


def test_turns_change_who_is_first() -> None:
    order: list[str] = []

    def once(target: Target) -> Asked:
        order.append(target.name)
        return asked(1.0)[0]

    take_turns([Target("a", "", 1), Target("b", "", 1)], 2, once)

    assert order == ["a", "b", "b", "a"]


def test_a_report_with_errors_is_none() -> None:
    assert requests_of("  1234 requests in 5.01s, 11.2MB read\n") == (1234, 5.01)
    for wrong in ("Non-2xx or 3xx responses: 3", "Socket errors: connect 0, read 1"):
        with pytest.raises(SystemExit, match="wrk says"):
            requests_of(f"  1234 requests in 5.01s, 11.2MB read\n  {wrong}\n")


def test_cpu_time_is_that_of_all_threads_and_children() -> None:
    command = [
        sys.executable,
        "-c",
        "import subprocess; print(sum(range(10**7)), flush=True); input()",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert 0 < family_cpu_s(child.pid) <= family_cpu_s(os.getpid())
        child.communicate(b"\n")


@pytest.mark.slow
@pytest.mark.engine
@needs_programs("nginx", "wrk")
@pytest.mark.one_user
def test_one_short_turn_prints_each_page() -> None:
    with or_skip():
        Netns().check()
    command = [sys.executable, "-m", "tools.bench.brokerage", "--rounds", "1", "--seconds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout.splitlines()[-1])
    assert {NGINX, STATIC} <= set(shown)
    assert all(of["requests_per_s"] > 0 and of["cpu_us"] > 0 for of in shown.values())
