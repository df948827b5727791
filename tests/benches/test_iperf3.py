"""`make bench-iperf3`: how transfers are compared, and one of each kind for real."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys

import pytest
from rich.console import Console

from tools.bench.iperf3 import Cell, Comparison, Transfer, cells, json_line, table

CELL = Cell(mtu_bytes=9000, streams=4, offloads=True)
COMPARED = Comparison(
    CELL,
    gbps={"agent": 30.0, "iperf3": 20.0},
    cpu_ns_a_byte={"agent": 0.1, "iperf3": 0.2},
)


def test_figures_of_a_transfer_have_their_units() -> None:
    transfer = Transfer(bytes=1_000_000_000, seconds=2.0, cpu_s=0.5)

    assert transfer.gbps == 4.0
    assert transfer.cpu_ns_a_byte == 0.5


def test_every_size_is_measured_once() -> None:
    assert len(set(cells())) == len(cells()) == 8


def test_ratios_are_of_ours_to_iperf3s() -> None:
    printed = io.StringIO()
    Console(width=120, file=printed).print(table([COMPARED]))
    shown = [cell.strip() for cell in printed.getvalue().split("│")]

    assert "1.50" in shown
    assert "0.50" in shown


def test_the_last_line_holds_all_figures() -> None:
    assert json.loads(json_line([COMPARED])) == {
        "mtu 9000, streams 4, offloads on": {
            "gbps": {"agent": 30.0, "iperf3": 20.0},
            "cpu_ns_a_byte": {"agent": 0.1, "iperf3": 0.2},
        }
    }


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_small_transfers_are_measured_in_a_sandbox() -> None:
    command = [sys.executable, "-m", "tools.bench.iperf3", "--rounds", "1", "--gigabytes", "0.02"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert len(figures) == 8
    for figure in figures.values():
        assert figure["gbps"].keys() == figure["cpu_ns_a_byte"].keys() == {"agent", "iperf3"}
        assert min(figure["gbps"].values()) > 0
