"""`netstudy export --samples`: what the metrics were computed from, from a folder that is there."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.results import NOW, small_incast
from tests.report.synthetic import record
from tests.report.timed import account, with_accounts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = small_incast(tmp_path_factory.mktemp("incast"))
    made.seal(NOW)
    return made.path


def export(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "netstudy", "export", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_iteration_of_every_run_has_a_row(folder: Path) -> None:
    done = export(folder, "--samples", "iteration")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 2 * 4 * 5 * 120  # switches, numbers of servers, replicates, iterations
    assert list(rows[0])[:5] == ["run", "switch", "configuration", "servers", "replicate"]
    assert all(int(row["completion_ns"]) > 0 for row in rows)


def test_samples_may_be_written_to_a_file(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "connections.csv"
    assert export(folder, "--samples", "connection", "-o", str(target)).returncode == 0
    assert target.read_text().startswith("run,switch,configuration,servers,replicate,client,")


def test_the_parts_of_the_time_are_written(tmp_path: Path) -> None:
    part = ("own", "serialization", "server-1", "switch")
    made = small_incast(tmp_path, lambda run: with_accounts(record(run), [account({part: 2.0})]))
    made.seal(NOW)
    done = export(made.path, "--time")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 2 * 4 * 5  # switches, numbers of servers, replicates
    assert {(row["view"], row["place"], row["to"]) for row in rows} == {
        ("journey", "serialization", "switch")
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--samples", "packet"], 'there are no samples "packet"; there are iteration,'),
        (["--time"], "no run has samples of time; there are iteration, connection"),
        (["--time", "--samples", "second"], "one table at a time: --time or --samples second?"),
        (["--samples", "second", "--json"], "samples are written as CSV or Parquet, not as json"),
    ],
)
def test_what_is_not_there_is_refused(folder: Path, options: list[str], message: str) -> None:
    done = export(folder, *options)
    assert done.returncode == 2
    assert message in done.stderr
