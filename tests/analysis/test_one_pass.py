"""The records of a study are read once, and not kept."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from netstudy.analysis.causes import causes
from netstudy.analysis.cells import CellTable, Reader, pool
from netstudy.analysis.gathering import BlockCache, StoredRuns
from netstudy.analysis.intervals import Sums, packed
from netstudy.analysis.layout import layout
from netstudy.analysis.one_pass import demands_of, settle
from netstudy.analysis.panel_distributions import distributions_of
from netstudy.wire import Plan, Run, RunRecord
from tests.report.synthetic import failed, folder, incast_plan, invalid, record

Make = Callable[[Run], RunRecord | None]
TINY_BYTES = 100_000
"""Memory of two or three of the records here."""


class Records:
    """Records that are made anew whenever they are read."""

    def __init__(self, make: Make = record) -> None:
        self.reads: Counter[str] = Counter()
        self._make = make

    def reader(self, cache_bytes: int = TINY_BYTES) -> Reader:
        return Reader(self._read, demands_of, settle, cache=BlockCache(cache_bytes))

    def _read(self, run: Run) -> RunRecord | None:
        self.reads[run.id] += 1
        return self._make(run)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return incast_plan((1, 2, 8, 20), replicates=6, iterations=50)


def numbers(table: CellTable) -> Iterator[object]:
    """Numbers from every kind of analysis that gathers something."""
    for row in table.rows:
        yield len(row.runs), row.problems, row.samples, row.runs.replicates
        for metric in (*table.metrics, *table.further, *table.of_nodes):
            yield metric.name, row.estimate(metric), metric.reading.of_each(row.runs)
    for panel in layout(table, table.cases[0], "switch").panels:
        found = causes(panel, panel.series_levels[0], table.workload)
        yield found.links, found.timeout_costs_ms, found.long_waits, found.signals
        yield found.retransmissions_per_drop
        for one in distributions_of(panel, table.workload, ()):
            for cell in one.cells:
                yield cell.percentiles, cell.found.curve()[0].tolist()
                yield cell.humps and (
                    cell.humps.share,
                    cell.humps.other and cell.humps.other.median,
                )


def missing(_: Run) -> None:
    """A run without a record."""


@pytest.mark.parametrize("cache_bytes", [1, TINY_BYTES, 2**30])
def test_results_do_not_depend_on_the_memory_for_records(plan: Plan, cache_bytes: int) -> None:
    odd: dict[str, Make] = {
        plan.runs[3].id: failed,
        plan.runs[40].id: invalid,
        plan.runs[17].id: missing,
    }
    kept = pool(plan, folder(plan, odd).records())
    stored = pool(plan, Records(lambda run: odd.get(run.id, record)(run)).reader(cache_bytes))
    assert all(isinstance(row.runs, StoredRuns) for row in stored.rows)
    for one, other in zip(numbers(stored), numbers(kept), strict=True):
        assert repr(one) == repr(other)


def test_each_record_is_read_once_for_the_usual_analyses(plan: Plan) -> None:
    records = Records()
    table = pool(plan, records.reader())
    for row in table.rows:
        for metric in (*table.metrics, *table.of_nodes):
            row.estimate(metric)
    for panel in layout(table, table.cases[0], "switch").panels:
        causes(panel, panel.series_levels[0], table.workload)
        distributions_of(panel, table.workload, ())
    assert set(records.reads.values()) == {1}
    assert len(records.reads) == len(plan.runs)


def test_an_analysis_that_is_not_listed_reads_records_again(plan: Plan) -> None:
    records = Records()
    table = pool(plan, records.reader())
    runs = table.rows[0].runs
    assert runs.each("mode", lambda run: run.record.mode) == [None] * 6
    assert {records.reads[run] for run in runs.ids} == {2}
    runs.each("mode", lambda run: run.record.mode)
    assert {records.reads[run] for run in runs.ids} == {2}  # it was kept
    assert runs[0].run == runs.ids[0]
    assert [run.run for run in runs] == runs.ids


def test_the_cache_drops_what_was_not_used_for_longest() -> None:
    cache = BlockCache(100)
    for name in ("a", "b"):
        cache.put(name, name.upper(), 40)
    assert cache.get("a") == "A"
    cache.put("c", "C", 40)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("A", None, "C")
    cache.put("large", "L", 1_000)  # the last entry stays, however large
    assert (cache.get("a"), cache.get("c"), cache.get("large")) == (None, None, "L")


def test_blocks_are_freed_without_a_search_for_cycles(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[weakref.ref[RunRecord]] = []

    def noted(run: Run) -> RunRecord:
        found = record(run)
        made.append(weakref.ref(found))
        return found

    monkeypatch.setattr(gc, "enable", lambda: None)
    try:
        table = pool(plan, Records(noted).reader(1))
        assert len(made) == len(plan.runs)
        assert table.rows
        assert sum(one() is not None for one in made) <= 1  # the one that was used last
    finally:
        monkeypatch.undo()
        gc.enable()


@pytest.mark.slow
def test_memory_grows_little_with_the_number_of_runs() -> None:
    """Of 40 blocks of a megabyte, four are in memory. The plan and its runs are not counted; each
    run has three samples."""

    def used(replicates: int) -> int:
        plan = incast_plan((1, 2), replicates=replicates, iterations=3)
        reader = Reader(record, demands_of, settle, cache=BlockCache(4 * 2**20))
        gc.collect()
        tracemalloc.start()
        table = pool(plan, reader)
        gc.collect()
        bytes_used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert sum(len(row.runs) for row in table.rows) == len(plan.runs)
        return bytes_used

    assert (used(1_000) - used(500)) / 2_000 < 300


def test_equal_values_take_no_memory() -> None:
    assert packed(np.zeros(1_000)).base is not None
    assert packed(np.zeros(1_000)).strides == (0,)
    assert packed(np.full(3, np.nan)).strides == (0,)
    for mixed in ([1.0, 2.0, 1.0], [np.nan, 1.0], [1.0, np.nan], [3.0]):
        assert packed(np.array(mixed)).tobytes() == np.array(mixed).tobytes()


def test_sums_of_blocks_are_those_of_the_cell() -> None:
    """Runs without terms keep their places: run 2 has none, and run 5 begins the second block."""
    terms = [(np.array([1.0 * n, 2.0]), np.array([1.0, 3.0])) for n in range(7)]
    found = [pair if n != 2 else None for n, pair in enumerate(terms)]
    whole = Sums.of(found)
    joined = Sums.joined([Sums.of(found[:5]), Sums.of([]), Sums.of(found[5:])])
    assert joined.ratios() == whole.ratios()
    assert joined.ratios()[:3] == [0.5, 0.75, None]
    assert joined.estimate() == whole.estimate()
    alone = Sums.joined([Sums.of([None, None]), Sums.of([terms[0]]), Sums.of([None])])
    assert alone.estimate() == Sums.of([terms[0]]).estimate()


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 127, 128, 129, 1_000])
def test_rows_of_a_matrix_add_up_as_single_runs_do(length: int) -> None:
    """To the last bit, so that the numbers do not depend on the way that runs are read."""
    values = np.random.default_rng(length).random((20, length)) * 1e3
    rows = Sums.of_rows(values, np.ones(values.shape))
    single = Sums.of([(np.array(row), np.ones(length)) for row in values])
    assert rows.above.tolist() == single.above.tolist()
    assert rows.below.tolist() == single.below.tolist()


def test_relative_metrics_have_bases_of_their_own(plan: Plan) -> None:
    runs = pool(plan, Records().reader()).rows[0].runs
    related = runs.with_bases({"etr_pct": 2.0})
    assert related.bases == {"etr_pct": 2.0}
    assert {run.bases["etr_pct"] for run in related} == {2.0}
    assert replace(runs[0], bases={}).bases == runs.bases == {}
