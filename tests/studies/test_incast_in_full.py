"""The incast study as `make run` carries it out: every cell, every column, the same bytes twice."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NETSTUDY = Path(sys.executable).parent / "netstudy"
COLUMNS = [
    "cases",
    "switch",
    "configuration",
    "servers",
    "completion_ms_mean",
    "completion_ms_p50",
    "completion_ms_p99",
    "goodput_mbps",
    "drops_per_iteration",
    "retransmissions_per_iteration",
    "timeouts_per_iteration",
]

BYTES: Mapping[str, Callable[[int], float]] = {
    "4 MB": lambda servers: servers * 4e6,
    "8 MB": lambda servers: servers * 8e6,
    "10 MB striped": lambda _servers: 10e6,
}
"""Bytes of an iteration."""

pytestmark = pytest.mark.slow


def netstudy(folder: Path, *arguments: str) -> str:
    """Call a verb in a folder; it must succeed. Its standard output."""
    done = subprocess.run(
        [NETSTUDY, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the study was run with one thread and with two."""
    folder = tmp_path_factory.mktemp("incast")
    for threads in ("1", "2"):
        where = ["--results", f"with-{threads}"]
        netstudy(folder, "run", str(ROOT / "studies/incast"), "--threads", threads, *where)
    return folder


def test_the_records_are_the_same_with_one_thread_and_with_two(results: Path) -> None:
    one, two = (
        netstudy(results, "export", "incast", "--records", "--results", f"with-{n}") for n in (1, 2)
    )

    assert one == two


def test_the_export_has_a_row_for_each_switch_configuration_and_number_of_servers(
    results: Path,
) -> None:
    exported = netstudy(results, "export", "incast", "--csv", "--results", "with-2")
    rows = list(csv.DictReader(exported.splitlines()))

    assert list(rows[0])[: len(COLUMNS)] == COLUMNS
    found = [(row["switch"], row["configuration"], int(row["servers"])) for row in rows]
    switches = ("arista-7124s", "nexus-5010")
    assert sorted(found) == [
        (s, c, n) for s in switches for c in sorted(BYTES) for n in range(1, 24)
    ]


def test_goodput_times_completion_time_is_the_bytes_of_an_iteration(results: Path) -> None:
    exported = netstudy(results, "export", "incast", "--csv", "--results", "with-2")
    for row in csv.DictReader(exported.splitlines()):
        bits = float(row["goodput_mbps"]) * 1e6 * float(row["completion_ms_mean"]) / 1e3
        whole = BYTES[row["configuration"]](int(row["servers"]))
        assert bits == pytest.approx(whole * 8, rel=1e-3), row
