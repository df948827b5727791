"""`make bench-ftp`: how programs are compared, and one turn of each for real."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

from netstudy.testbed.netns.testbed import Netns
from tests.skips import needs_programs, needs_root, or_skip
from tools.bench.ftp import Case, Fetched, cases, figures, table


def fetched(*gbps: float, cpu_ns_a_byte: float) -> list[Fetched]:
    """A gigabyte each."""
    return [Fetched(10**9, seconds=8 / rate, cpu_s=cpu_ns_a_byte) for rate in gbps]


TAKEN = {
    "agent": fetched(40.0, 16.0, 32.0, cpu_ns_a_byte=0.125),
    "vsftpd": fetched(16.0, 20.0, 16.0, cpu_ns_a_byte=0.25),
}


def test_figures_of_a_turn_have_their_units() -> None:
    turn = Fetched(bytes=1_000_000_000, seconds=2.0, cpu_s=0.5)

    assert (turn.gbps, turn.cpu_ns_a_byte) == (4.0, 0.5)


def test_every_case_is_measured_once_and_names_what_it_is_held_against() -> None:
    assert len(set(cases())) == len(cases()) == 8
    assert {case.theirs for case in cases() if case.side == "server"} == {"vsftpd"}
    assert {case.theirs for case in cases() if case.side == "client"} == {"curl"}
    assert Case("server", 5, "sendfile").name == "server, 5 clients, sendfile"
    assert Case("client", 1, "sendfile", verifies=True).name.endswith("sendfile, verifying")


def test_ratios_are_of_our_median_to_the_others() -> None:
    assert figures(TAKEN, "gbps") == {"agent": 32.0, "vsftpd": 16.0, "ratio": 2.0}
    assert figures(TAKEN, "cpu_ns_a_byte") == {"agent": 0.125, "vsftpd": 0.25, "ratio": 0.5}


def test_the_table_has_a_line_for_each_case() -> None:
    printed = io.StringIO()
    Console(width=160, file=printed).print(table({"one": TAKEN, "two": TAKEN}))
    lines = [line.split("│") for line in printed.getvalue().splitlines() if "│" in line]
    shown = [[cell.strip() for cell in cells[1:-1]] for cells in lines]

    assert shown[0] == ["one", "32.000", "16.000", "2.000", "0.125", "0.250", "0.500"]
    assert shown[1][0] == "two"


@pytest.mark.slow
@pytest.mark.engine
@needs_root("vsftpd changes its user")
@needs_programs("vsftpd", "curl")
def test_small_files_are_fetched_in_a_sandbox() -> None:
    with or_skip():
        Netns().check()
    command = [sys.executable, "-m", "tools.bench.ftp", "--rounds", "1", "--megabytes", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.keys() == {case.name for case in cases()}
    for case in cases():
        for quantity in ("gbps", "cpu_ns_a_byte"):
            assert found[case.name][quantity].keys() == {"agent", case.theirs, "ratio"}
        assert min(found[case.name]["gbps"].values()) > 0
