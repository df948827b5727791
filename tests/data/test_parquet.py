"""Parquet files: the same rows, with units and meanings, in bounded memory."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import netstudy
from netstudy.cli import invoke
from netstudy.data.table import COLUMNS_KEY, ROW_GROUP_ROWS, Column, Part, Table
from netstudy.store import Folder

pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def test_a_file_has_the_rows_and_the_metadata_of_the_table(
    incast: netstudy.StudyData, tmp_path: Path
) -> None:
    table, target = incast.samples(), tmp_path / "iteration.parquet"
    table.write_parquet(target)
    read = pq.read_table(target)
    assert read.equals(table.to_arrow())
    field = read.schema.field("completion_ns")
    assert field.metadata[b"unit"] == b"ns"
    described = {column.name: column.meaning for column in table.columns}
    assert field.metadata[b"meaning"].decode() == described["completion_ns"]
    assert read.schema.metadata[b"netstudy.study"] == b"incast"
    assert read.schema.metadata[b"netstudy.testbed"] == b"sim"


def test_readers_without_metadata_of_columns_find_units_in_that_of_the_file(
    incast: netstudy.StudyData, tmp_path: Path
) -> None:
    duckdb = pytest.importorskip("duckdb")
    incast.cells().write_parquet(tmp_path / "cells.parquet")
    source = f"parquet_kv_metadata('{tmp_path / 'cells.parquet'}')"
    pairs = dict(duckdb.sql(f"select decode(key), decode(value) from {source}").fetchall())
    columns = json.loads(pairs[COLUMNS_KEY])
    assert columns["completion_ms_p99"]["unit"] == "ms"
    assert columns["servers"]["meaning"] == "Level of the factor servers"


@pytest.mark.parametrize("samples", [[], ["--samples", "iteration"]])
def test_export_writes_parquet_of_cells_and_of_samples(
    incast: netstudy.StudyData, tmp_path: Path, samples: list[str]
) -> None:
    target = tmp_path / "out.parquet"
    arguments = ["export", str(incast.path), "--parquet", *samples, "-o", str(target)]
    assert invoke(arguments) == 0
    expected = incast.samples("iteration", invalid=True) if samples else incast.cells()
    assert pq.read_table(target).equals(expected.to_arrow())


def test_export_writes_parquet_to_a_pipe(incast: netstudy.StudyData) -> None:
    command = [sys.executable, "-m", "netstudy", "export", str(incast.path), "--parquet"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert pq.read_table(io.BytesIO(done.stdout)).equals(incast.cells().to_arrow())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json"], "one format at a time: --json or --parquet?"),
        (["--samples", "packet"], '--samples: there are no samples "packet"'),
        (["--samples", "app.nothing"], "--samples: "),
        (["-o", "nowhere/out.parquet"], "cannot write "),
    ],
)
def test_export_refuses_what_it_cannot_write(
    incast: netstudy.StudyData,
    options: list[str],
    message: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert invoke(["export", str(incast.path), "--parquet", *options]) == 2
    assert message in capfd.readouterr().err


def test_parquet_is_not_printed_on_a_terminal(
    incast: netstudy.StudyData, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert invoke(["export", str(incast.path), "--parquet"]) == 2
    assert (
        "--parquet: Parquet is not text; write it to a file with -o FILE" in capfd.readouterr().err
    )


def test_row_groups_are_of_one_size_however_long_runs_are() -> None:
    lengths = [1, ROW_GROUP_ROWS * 2 + 5, 7, ROW_GROUP_ROWS - 1]

    def parts() -> Iterator[Part]:
        return (Part(length, [range(length)]) for length in lengths)

    table = Table("numbers", (Column("n", "int64", "", "A number"),), {}, parts)
    read = pq.ParquetFile(io.BytesIO(b"".join(table.parquet())))
    sizes = [read.metadata.row_group(at).num_rows for at in range(read.num_row_groups)]
    assert max(sizes) < 2 * ROW_GROUP_ROWS
    assert sum(sizes) == sum(lengths)
    assert read.read()["n"].to_pylist() == [n for length in lengths for n in range(length)]


def test_each_record_is_read_once(
    incast: netstudy.StudyData, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Counter[str] = Counter()
    read = Folder._record

    def counted(folder: Folder, run: str) -> object:
        seen[run] += 1
        return read(folder, run)

    table = incast.samples("iteration")
    monkeypatch.setattr(Folder, "_record", counted)
    assert table.to_arrow().num_rows > 0
    assert set(seen.values()) == {1}


PEAK = """
import sys
from pathlib import Path
import netstudy
from netstudy.data.samples import samples_csv

opened = netstudy.open(sys.argv[1])
if sys.argv[2] == "parquet":
    opened.samples("iteration").write_parquet(sys.argv[3])
else:
    with open(sys.argv[3], "w") as file:
        file.writelines(samples_csv(opened.folder, "iteration"))
status = Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0])
"""


def peak_mb(folder: Path, form: str, target: Path) -> float:
    """The most memory of a process that exports all iterations."""
    command = [sys.executable, "-c", PEAK, str(folder), form, str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_million_samples_are_exported_in_bounded_memory(
    tmp_path: Path, form: str, million: Path, three_hundred_thousand: Path
) -> None:
    large, small = tmp_path / "large", tmp_path / "small"
    more = peak_mb(million, form, large) - peak_mb(three_hundred_thousand, form, small)
    if form == "parquet":
        assert pq.ParquetFile(large).metadata.num_rows == 1_000_000
    else:
        with large.open() as file:
            assert sum(1 for _ in file) == 1 + 1_000_000
    # 700,000 more rows: 60 MB as Arrow, hundreds as records
    assert more < 30
