"""Cells and samples as Arrow, pandas and polars hold what the CSV holds, with types and units."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netstudy
from netstudy.analysis.related import cell_table
from netstudy.analysis.study_result import analyse
from netstudy.cli import invoke
from netstudy.data.columns import FactorColumns
from netstudy.data.samples import TABLES, samples_csv
from netstudy.data.wanted import Wanted
from netstudy.report.export import to_csv
from netstudy.study.levels import level_text
from netstudy.wire import Run, RunRecord
from tests.data.conftest import finished
from tests.report.results import from_text, small_incast, study_text
from tests.report.synthetic import record
from tests.report.timed import account, with_accounts

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

COURSE = "client.goodput_mbps"


def rows_of_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def as_csv(value: Any) -> str:
    """A value as the CSV has it; floats with all digits."""
    if value is None:
        return ""
    return level_text(value) if isinstance(value, str | bool | int) else repr(float(value))


def rows_of(table: netstudy.Table, how: str) -> list[list[Any]]:
    """The rows as Python values, by way of a library; what is missing is None."""
    if how == "arrow":
        return [list(row.values()) for row in table.to_arrow().to_pylist()]
    if how == "polars":
        return [list(row) for row in table.to_polars().rows()]
    frame = table.to_pandas()
    return [
        [None if pd.isna(value) else getattr(value, "item", lambda v=value: v)() for value in row]
        for row in frame.itertuples(index=False, name=None)
    ]


@pytest.mark.parametrize("how", ["arrow", "pandas", "polars"])
def test_cells_are_those_of_the_csv_to_the_digit(incast: netstudy.StudyData, how: str) -> None:
    head, *rows = rows_of_csv(to_csv(cell_table(incast.folder)))
    cells = incast.cells()
    assert [one.name for one in cells.columns] == head
    assert [[as_csv(value) for value in row] for row in rows_of(cells, how)] == rows


@pytest.mark.parametrize("how", ["arrow", "pandas", "polars"])
@pytest.mark.parametrize("table", ["iteration", "connection"])
def test_samples_are_those_of_the_csv_to_the_digit(
    incast: netstudy.StudyData, table: str, how: str
) -> None:
    head, *rows = rows_of_csv("".join(samples_csv(incast.folder, table)))
    samples = incast.samples(table, invalid=True)
    names = [one.name for one in samples.columns]
    at = names.index("status")  # and sample_index
    assert names[:at] + names[at + 2 :] == head
    made = [row[:at] + row[at + 2 :] for row in rows_of(samples, how)]
    assert [[as_csv(value) for value in row] for row in made] == rows


@pytest.mark.parametrize("table", [*TABLES, COURSE])
def test_every_table_of_transfers_is_that_of_the_csv(sized: netstudy.StudyData, table: str) -> None:
    head, *rows = rows_of_csv("".join(samples_csv(sized.folder, table)))
    samples = sized.samples(table)
    of_others = {"iteration", "transaction", "error", "statistics", "time"}
    assert bool(rows) == (table not in of_others), "the study samples all other tables"
    at = head.index("replicate") + 1
    assert [one.name for one in samples.columns] == [
        *head[:at],
        "status",
        "sample_index",
        *head[at:],
    ]
    made = [[as_csv(value) for value in row] for row in rows_of(samples, "arrow")]
    assert [row[:at] + row[at + 2 :] for row in made] == rows


def test_each_part_of_a_time_has_a_row(tmp_path: Path) -> None:
    wire, rto = ("own", "serialization", "server-1", "switch"), ("recovery", "probe-timer", "a", "")

    def timed(run: Run) -> RunRecord:
        bounds = account({wire: (1.0, 2.5)}, group="slowest", units=2, whole_ms=4.0)
        exact = account({wire: 1.0, rto: 3.0}, units=10)
        return with_accounts(record(run), [exact, bounds] if run.replicate == 1 else [])

    text = study_text("factors: {servers: [2]}\nreplicates: 2\n", servers='"${servers}"')
    opened = netstudy.open(finished(from_text(tmp_path, text, maker=timed)).path)
    rows = opened.samples("time").to_arrow().to_pylist()
    ms = 10**9
    assert [(row["group"], row["family"], row["low_ps"], row["high_ps"]) for row in rows] == [
        ("all", "wire", 10 * ms, 10 * ms),
        ("all", "timer", 30 * ms, 30 * ms),
        ("slowest", "wire", 2 * ms, 5 * ms),
    ]
    assert [(row["units"], row["whole_ps"]) for row in rows[1:]] == [(10, 40 * ms), (2, 8 * ms)]
    head, *csv_rows = rows_of_csv("".join(samples_csv(opened.folder, "time")))
    assert [row[head.index("place")] for row in csv_rows] == [row["place"] for row in rows]
    assert {row[head.index("replicate")] for row in csv_rows} == {"1"}


def test_without_a_name_the_samples_are_what_the_workload_counts(
    incast: netstudy.StudyData, sized: netstudy.StudyData, loaded: netstudy.StudyData
) -> None:
    assert incast.samples().name == "iteration"
    assert sized.samples().name == "transfer"
    assert loaded.samples().name == "second", "flows without an end count nothing"


def test_a_value_that_was_not_measured_is_null_and_never_0(incast: netstudy.StudyData) -> None:
    cells = {row["servers"]: row for row in incast.cells().to_arrow().to_pylist()}
    assert cells[5]["completion_ms_mean"] is cells[5]["drops_per_iteration"] is None
    rows = incast.samples().to_pandas()
    uncounted = rows[(rows.servers == 2) & (rows.replicate == 1)]
    assert len(uncounted) == 2 * 120
    assert uncounted.dropped_packets.isna().all()
    assert uncounted.timeouts.notna().all()
    assert str(rows.dropped_packets.dtype) == "Int64", "integers stay integers beside missing ones"


def test_metrics_can_be_computed_again_from_samples(incast: netstudy.StudyData) -> None:
    # rows of the invalid run are no part of either
    rows = incast.samples().to_pandas()
    cells = incast.cells().to_pandas().set_index(["switch", "servers"])
    by_cell = rows.groupby(["switch", "servers"]).completion_ns
    p99 = by_cell.apply(lambda ns: np.percentile(ns.to_numpy(np.float64) / 1e6, 99))
    assert len(p99) == 2 * 3
    for cell, value in p99.items():
        assert value == pytest.approx(cells.completion_ms_p99[cell], rel=1e-12)


def test_connections_are_found_by_their_index(sized: netstudy.StudyData) -> None:
    connections = sized.samples("connection").to_pandas().set_index(["run", "sample_index"])
    transfers = sized.samples("transfer").to_pandas()
    first = transfers[transfers.sample_index == 0]
    assert len(first) == len({*transfers.run})
    found = connections.loc[list(zip(transfers.run, transfers.connection, strict=True))]
    assert len(found) == len(transfers)


def test_samples_of_invalid_runs_come_when_asked_for(incast: netstudy.StudyData) -> None:
    valid, every = (incast.samples(invalid=also).to_pandas() for also in (False, True))
    assert set(valid.status) == {"ok"}
    assert set(every[every.status == "invalid"].servers) == {9}
    assert len(every) - len(valid) == 2 * 120


def test_intervals_stand_beside_their_metric(incast: netstudy.StudyData) -> None:
    rows = incast.cells(intervals=True).to_arrow().to_pylist()
    measured = [row for row in rows if row["servers"] != 5]
    for row in measured:
        assert row["completion_ms_mean_low"] < row["completion_ms_mean"]
        assert row["completion_ms_mean"] < row["completion_ms_mean_high"]
    assert [row["completion_ms_mean_low"] for row in rows if row["servers"] == 5] == [None] * 2


def test_every_column_has_a_meaning_and_times_have_a_unit(loaded: netstudy.StudyData) -> None:
    for table in (loaded.cells(), *map(loaded.samples, (*TABLES, COURSE))):
        assert [one.name for one in table.columns if not one.meaning] == []
        times = {one.unit for one in table.columns if one.name.endswith("_ns")}
        assert times <= {"ns"}
    units = {one.name: one.unit for one in loaded.samples("transfer").columns}
    assert (units["bytes_received"], units["start_ns"], units["connection"]) == ("B", "ns", "")
    field = loaded.cells().to_arrow().schema.field("goodput_mbps")
    assert field.metadata[b"unit"] == b"Mbit/s"


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([1, 2], "int64"),
        ([1, 2.5], "float64"),
        ([True, False], "bool"),
        (["a", "b"], "string"),
        ([1, "all"], "string"),
        ([True, 1], "string"),
        ([2**63], "string"),
    ],
)
def test_the_column_of_a_factor_has_the_type_of_its_levels(
    levels: list[Any], expected: str
) -> None:
    columns = FactorColumns.of({"f": levels}, [])
    assert columns.columns[0].type == expected
    written = [columns.levels({"f": level})[0] for level in levels]
    texts = [level_text(level) for level in levels]
    assert written == (texts if expected == "string" else levels)


def test_a_factor_that_a_case_does_not_have_is_null_and_cases_are_a_list(tmp_path: Path) -> None:
    cases = """
cases:
  few: {factors: {servers: [1, 2]}, fixed: {switch: nexus-5010}}
  striped: {factors: {servers: [2], stripe: [true, false]}, fixed: {switch: nexus-5010}}
"""
    text = study_text(cases, switch='"${switch}"', servers='"${servers}"').replace(
        "block: 4 MB", 'block: 4 MB, striped: "${stripe}"'
    )
    text = text.replace("servers: [1, 2]}, fixed: {", "servers: [1, 2]}, fixed: {stripe: false, ")
    opened = netstudy.open(finished(from_text(tmp_path, text)).path)
    rows = opened.cells().to_arrow().to_pylist()
    assert {tuple(row["cases"]) for row in rows} <= {("few",), ("striped",), ("few", "striped")}
    assert {type(row["stripe"]) for row in rows} <= {bool, type(None)}


def test_a_factor_with_the_name_of_a_column_gets_a_name_of_its_own() -> None:
    columns = FactorColumns.of({"run": [1], "run_level": [2]}, ["run"])
    assert [one.name for one in columns.columns] == ["run_level", "run_level_level"]


def test_a_table_is_an_arrow_stream_itself(incast: netstudy.StudyData) -> None:
    duckdb = pytest.importorskip("duckdb")
    iterations = incast.samples()
    expected = iterations.to_arrow()
    assert pa.table(iterations).equals(expected)
    assert pl.DataFrame(iterations).height == expected.num_rows
    timeouts = sum(expected["timeouts"].to_pylist())
    for _ in range(2):  # it can be read again
        counted = duckdb.sql("select count(*), sum(timeouts) from iterations").fetchall()
        assert counted == [(expected.num_rows, timeouts)]


def test_an_unfinished_folder_and_unknown_samples_are_refused(
    tmp_path: Path, incast: netstudy.StudyData
) -> None:
    unfinished = small_incast(tmp_path, lambda run: record(run) if run.replicate < 5 else None)
    with pytest.raises(netstudy.NetstudyError, match="is not finished"):
        netstudy.open(unfinished.path)
    with pytest.raises(netstudy.NetstudyError, match='no samples "packet"; there are iteration,'):
        incast.samples("packet")
    with pytest.raises(netstudy.NetstudyError, match="no results of 'nothing' in "):
        netstudy.open("nothing", results=tmp_path)


def test_a_study_opens_by_its_name(incast: netstudy.StudyData) -> None:
    assert netstudy.open("incast", results=incast.path.parents[1]).path == incast.path


class TestReplicates:
    """One row for each run that gives numbers, with the metrics of the cells."""

    def test_each_valid_run_has_a_row(self, incast: netstudy.StudyData) -> None:
        rows = incast.replicates().to_arrow().to_pylist()
        valid = [record.run for record in incast.folder.records() if record.status == "ok"]
        assert [row["run"] for row in rows] == valid
        assert {row["replicate"] for row in rows} == {1, 2, 3, 4, 5}
        cells = [one.name for one in incast.cells().columns]
        columns = [one.name for one in incast.replicates().columns]
        assert set(columns) == {"run", "replicate", *cells}

    def test_a_mean_of_samples_is_that_of_its_own_samples(self, incast: netstudy.StudyData) -> None:
        samples = incast.samples("iteration").to_pandas()
        means = samples.groupby("run")["completion_ns"].mean() / 1e6
        for row in incast.replicates().to_arrow().to_pylist():
            assert row["completion_ms_mean"] == pytest.approx(means[row["run"]])

    def test_what_a_run_does_not_measure_is_null(self, tmp_path: Path) -> None:
        """A percentile needs samples beyond it."""
        text = study_text(
            "\nfactors: {servers: [4]}\nreplicates: 2\n", servers='"${servers}"', iterations="9"
        )
        found = netstudy.open(finished(from_text(tmp_path, text)).path)
        rows = found.replicates().to_arrow().to_pylist()
        assert [row["completion_ms_p99"] for row in rows] == [None, None]
        assert all(row["completion_ms_mean"] > 0 for row in rows)


class TestVerdicts:
    def test_each_is_that_of_the_report(self, incast: netstudy.StudyData) -> None:
        result = analyse(incast.folder)
        tables = [v for case in result.cases for panel in case.panels for v in panel.verdicts]
        assert len(incast.verdicts) == sum(len(table.rows) for table in tables)
        first, row = incast.verdicts[0], tables[0].rows[0]
        assert (first.metric, first.level, first.base) == (
            tables[0].metric.name,
            tables[0].level,
            tables[0].base,
        )
        assert (first.outcome, first.winner, first.value) == (row.outcome, row.winner, row.value)
        assert first.at == {"configuration": "4 MB", "servers": row.x}
        assert first.noise_pct == 2
        by_outcome = {one.outcome for one in incast.verdicts}
        assert "missing" in by_outcome  # all runs with 5 servers are
        for one in incast.verdicts:
            assert (one.winner is not None) <= (one.outcome == "different")
            if one.change_pct is not None and one.interval_pct is not None:
                assert one.interval_pct[0] <= one.change_pct <= one.interval_pct[1]

    def test_they_are_rows_of_a_data_frame(self, incast: netstudy.StudyData) -> None:
        frame = pd.DataFrame(list(incast.verdicts))
        assert list(frame["outcome"]) == [one.outcome for one in incast.verdicts]

    def test_a_study_that_compares_nothing_has_none(self, tmp_path: Path) -> None:
        text = study_text("\nfactors: {servers: [4]}\n", servers='"${servers}"')
        folder = finished(from_text(tmp_path, text))
        assert netstudy.open(folder.path).verdicts == ()


class TestPartsOfTheSeries:
    """A node, a counter, an interval: what a figure of one's own is drawn from."""

    def rows(self, of: netstudy.StudyData, **asked: Any) -> list[dict[str, Any]]:
        return list(of.samples("series", **asked).to_arrow().to_pylist())

    def test_a_node_a_group_and_a_counter(self, loaded: netstudy.StudyData) -> None:
        every = self.rows(loaded)
        node = every[0]["node"]
        counter = next(row["counter"] for row in every if row["node"] == node)
        for asked in ({"node": node}, {"counter": counter}, {"node": node, "counter": counter}):
            kept = [row for row in every if all(row[key] == one for key, one in asked.items())]
            found = self.rows(loaded, **asked)
            assert [row["value"] for row in found] == [row["value"] for row in kept]
            assert found
        assert len(self.rows(loaded, counter=counter)) < len(every)
        assert Wanted(node="server").has_node("server-3")
        assert not Wanted(node="serv").has_node("server")
        assert not Wanted(node="server-3").has_node("server-31")

    def test_a_span_of_the_measuring_phase(self, loaded: netstudy.StudyData) -> None:
        found = self.rows(loaded, interval="1s..2s")
        kept = [row for row in self.rows(loaded) if 1 <= (row["measure_s"] or -1) < 2]
        assert [row["at_ns"] for row in found] == [row["at_ns"] for row in kept]
        assert found

    def test_the_last_sample_of_each_interval(self, loaded: netstudy.StudyData) -> None:
        def key(row: dict[str, Any]) -> tuple[Any, ...]:
            names = ("run", "instrument", "node", "port", "connection", "counter")
            return (*(row[name] for name in names), row["measure_s"] // 2)

        last = {key(row): row["at_ns"] for row in self.rows(loaded)}
        found = self.rows(loaded, interval="2 s")
        assert {key(row): row["at_ns"] for row in found} == last
        assert len(found) == len(last)

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({"interval": "2"}, "--interval: "),
            ({"interval": "0 s"}, "--interval: 0 s is not a length"),
            ({"interval": "3s..2s"}, "--interval: 3s..2s ends before it begins"),
        ],
    )
    def test_no_interval_is_refused(
        self, loaded: netstudy.StudyData, asked: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(netstudy.NetstudyError, match=said):
            loaded.samples("series", **asked)

    def test_other_tables_have_none_of_it(self, loaded: netstudy.StudyData) -> None:
        with pytest.raises(netstudy.NetstudyError, match="--node: is only for samples of series"):
            loaded.samples("second", node="server")

    def test_the_verb_takes_the_same(
        self, loaded: netstudy.StudyData, capfd: pytest.CaptureFixture[str]
    ) -> None:
        def export(*options: str) -> tuple[int, list[list[str]], str]:
            code = invoke(["export", str(loaded.path), "--samples", "series", *options])
            out, err = capfd.readouterr()
            return code, rows_of_csv(out)[1:], err

        every = self.rows(loaded)
        node, counter = every[0]["node"], every[0]["counter"]
        asked = {"node": node, "counter": counter, "interval": "1s"}
        code, rows, _ = export("--node", node, "--counter", counter, "--interval", "1s")
        assert code == 0
        assert len(rows) == len(self.rows(loaded, **asked))
        code, rows, err = export("--node", "nobody")
        assert (code, rows) == (2, [])
        nodes = ", ".join(dict.fromkeys(row["node"] for row in every))
        assert f"no run has such a series; nodes: {nodes}; counters: " in err
        assert counter in err
        assert invoke(["export", str(loaded.path), "--node", node]) == 2
        assert "--node: is only for samples of series, not of cells" in capfd.readouterr().err
