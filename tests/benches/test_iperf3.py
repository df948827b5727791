"""`make bench-iperf3`: how transfers are compared, and one of each kind for real."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from netstudy.testbed.netns.testbed import Netns
from tests.skips import needs_programs, or_skip
from tests.testbed.conftest import user_named
from tests.tools.lab import result
from tools.bench.iperf3 import cells, ends, staying_on
from tools.bench.transfers import (
    BEGIN,
    END,
    PAGE,
    Cell,
    Comparison,
    Transfer,
    json_line,
    table,
    write,
)

CELL = Cell(mtu_bytes=9000, streams=4, offloads=True)


def transfers(*gbps: float, cpu_ns_a_byte: float) -> list[Transfer]:
    """A gigabyte each."""
    return [Transfer(10**9, seconds=8 / rate, cpu_s=cpu_ns_a_byte) for rate in gbps]


COMPARED = Comparison(
    CELL,
    {
        "agent": transfers(40.0, 16.0, 32.0, cpu_ns_a_byte=0.125),
        "iperf3": transfers(16.0, 20.0, 16.0, cpu_ns_a_byte=0.25),
    },
)


def test_figures_of_a_transfer_have_their_units() -> None:
    transfer = Transfer(bytes=1_000_000_000, seconds=2.0, cpu_s=0.5)

    assert transfer.gbps == 4.0
    assert transfer.cpu_ns_a_byte == 0.5


def test_every_size_is_measured_once() -> None:
    assert len(set(cells())) == len(cells()) == 8


def test_ratios_are_of_ours_to_iperf3s() -> None:
    printed = io.StringIO()
    Console(width=140, file=printed).print(table([COMPARED], "measured here"))
    shown = [cell.strip() for cell in printed.getvalue().split("│")]

    assert "2.00" in shown
    assert "0.50" in shown


def test_a_figure_is_the_median_with_the_lowest_and_the_highest() -> None:
    assert COMPARED.row()[3:5] == ["32.0 (16.0 to 40.0)", "16.0 (16.0 to 20.0)"]


def test_the_last_line_holds_all_figures() -> None:
    assert json.loads(json_line([COMPARED])) == {
        "mtu 9000, streams 4, offloads on": {
            "gbps": {"agent": 32.0, "iperf3": 16.0},
            "gbps_range": {"agent": [16.0, 40.0], "iperf3": [16.0, 20.0]},
            "cpu_ns_a_byte": {"agent": 0.125, "iperf3": 0.25},
            "cpu_ns_a_byte_range": {"agent": [0.125, 0.125], "iperf3": [0.25, 0.25]},
        }
    }


def test_the_page_says_how_it_was_measured_and_keeps_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write([COMPARED], "Measured here", page)
    lines = page.read_text().splitlines()

    assert (lines[0], lines[-1]) == ("before", "after")
    assert "Measured here:" in lines
    assert any(line.startswith("| 9000 | 4 | on | 32.0 (16.0 to 40.0) |") for line in lines)
    assert "old" not in lines


def test_the_real_page_can_be_written() -> None:
    text = PAGE.read_text()

    assert text.index(BEGIN) < text.index(END)


@pytest.mark.parametrize(
    ("allowed", "apart"), [({0, 1}, (0, 1)), ({5, 3, 9}, (3, 5)), ({2}, (2, 2))]
)
def test_ends_are_apart_where_there_are_two_processors(
    allowed: set[int], apart: tuple[int, int]
) -> None:
    on = ends(allowed)

    assert (on.sender, on.receiver) == apart


def test_a_process_stays_where_it_is_put_and_the_starter_does_not() -> None:
    before = os.sched_getaffinity(0)
    command = [sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"]
    for cpu in sorted(before):
        with staying_on(cpu):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.communicate()[0].split() == [str(cpu)]

    assert os.sched_getaffinity(0) == before


@pytest.mark.engine
@needs_programs("iperf3")
def test_small_transfers_are_measured_in_a_sandbox() -> None:
    with or_skip():
        Netns().check()
    command = [sys.executable, "-m", "tools.bench.iperf3", "--rounds", "1", "--gigabytes", "0.02"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert len(figures) == 8
    for figure in figures.values():
        assert figure["gbps"].keys() == figure["cpu_ns_a_byte"].keys() == {"agent", "iperf3"}
        assert min(figure["gbps"].values()) > 0


@pytest.mark.engine
@pytest.mark.slow
@needs_programs("iperf3", "ssh", "sshd", "ip")
def test_small_transfers_are_measured_between_two_hosts_of_a_lab() -> None:
    user = user_named("root")
    program = [user.python, "-m", "tools.bench.iperf3_hosts", "/run/lab/hosts.yaml"]
    done = result(user, "2", "--", *program, "--rounds=1", "--gigabytes=0.02")

    assert done.returncode == 0, done.stderr
    rows = [line.split("│")[1:] for line in done.stdout.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == ["1", "4"]
    assert all(float(row[column].split()[0]) > 0 for row in rows for column in (1, 2))
