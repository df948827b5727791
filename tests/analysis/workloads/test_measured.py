"""Published values: how they are read, how far they are known, what tells them apart."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from netstudy.analysis.cells import CellTable, pool
from netstudy.analysis.intervals import Estimate, decimals_of
from netstudy.analysis.layout import layout
from netstudy.analysis.metrics import Metric
from netstudy.analysis.verdict import Comparison, Pair, verdict_table
from netstudy.plan.identity import digest
from netstudy.report.cellrefs import cell_number
from netstudy.report.export import exported, to_csv, to_json
from netstudy.report.workloads.measured import MEASURED
from netstudy.testbed.measured.records import record_of_table
from netstudy.wire import Measured, MeasuredValue, Network, Plan, Run, Treatment

NOTHING = Network(groups=(), nodes=(), links=())


def published(
    treatment: Treatment,
    values: dict[str, tuple[float, float]],
    replicate: int = 1,
    cases: tuple[str, ...] = ("main",),
    of: str = "incast",
) -> Run:
    """A run of which (value, rounding) of some metrics were published."""
    given = tuple(
        MeasuredValue(metric=name, value=value, rounding=rounding, row="data.csv:2")
        for name, (value, rounding) in values.items()
    )
    return Run(
        id=digest(treatment, replicate, cases)[:12],
        cases=cases,
        treatment=treatment,
        replicate=replicate,
        seed="0" * 16,
        network=NOTHING,
        workload=Measured(of=of, source=("me",), given=given),
        phases=(),
    )


def cells(*runs: Run) -> CellTable:
    plan = Plan(study="small", seed=1, runs=runs)
    return pool(plan, [record_of_table(run) for run in runs])


def named(table: CellTable, name: str) -> Metric:
    return next(metric for metric in table.metrics if metric.name == name)


def estimate(table: CellTable, name: str, row: int = 0) -> Estimate:
    found = table.rows[row].estimate(named(table, name))
    assert found is not None
    return found


def test_a_single_value_is_known_to_its_rounding_and_has_no_interval() -> None:
    table = cells(published({"servers": 4}, {"completion_ms_mean": (31.0, 0.1)}))
    found = estimate(table, "completion_ms_mean")
    assert (found.value, found.unit, found.rounding, found.n) == (31.0, "rounding", 0.1, 1)
    assert found.interval is None


def test_repetitions_have_their_mean_and_the_interval_of_three_runs() -> None:
    """6.7, 5.0 and 4.9 s: mean 5.5333, s = 1.0116, t(.975, 2) = 4.3027."""
    runs = [
        published({"size": "1 GB"}, {"transfer_s": (seconds, 0.1)}, number, of="transfer")
        for number, seconds in enumerate((6.7, 5.0, 4.9), start=1)
    ]
    found = estimate(cells(*runs), "transfer_s_mean")
    assert found.value == pytest.approx(5.5333, abs=1e-4)
    assert found.interval is not None
    half = 4.3027 * 1.0116 / math.sqrt(3)
    assert found.interval.high - found.value == pytest.approx(half, rel=1e-4)


def test_repetitions_that_round_to_the_same_digit_may_still_differ() -> None:
    """Their variance is at least that of rounding, a unit squared by twelve."""
    runs = [published({"a": 1}, {"transfer_s": (12.0, 1.0)}, n, of="transfer") for n in (1, 2, 3)]
    found = estimate(cells(*runs), "transfer_s_mean")
    assert found.variance == pytest.approx(1 / 12 / 3)


@pytest.mark.parametrize(
    ("name", "title", "unit", "direction"),
    [
        ("response_ms", "Response time", "ms", "lower"),
        ("response_ms_p99", "99th percentile of the response time", "ms", "lower"),
        ("etr_pct", "Relative ETR", "%", "higher"),
        ("itr_per_s", "Page elements a second of full CPUs (ITR)", "1/s", "higher"),
        ("errors", "Failed submissions", "", "lower"),
        ("app.cpu_pct", "CPU of app", "%", "neutral"),
    ],
)
def test_what_this_version_does_not_measure_has_a_title_a_unit_and_a_direction(
    name: str, title: str, unit: str, direction: str
) -> None:
    (metric,) = cells(published({"users": 4}, {name: (1.0, 0.1)}, of="transactions")).metrics
    assert (metric.title, metric.unit, metric.direction) == (title, unit, direction)
    assert metric.instruments == ("published data",)


def test_a_value_is_printed_with_the_digits_of_its_source() -> None:
    table = cells(
        published({"size": 1}, {"transfer_s": (0.0072, 0.0001)}, of="transfer"),
        published({"size": 2}, {"transfer_s": (11.0, 0.1)}, of="transfer"),
        published({"size": 3}, {"transfer_s": (12.0, 1.0)}, of="transfer"),
    )
    metric = named(table, "transfer_s_mean")
    assert metric.decimals == 4
    numbers = [cell_number(row, metric) for row in table.rows]
    assert [one.text for one in numbers if one is not None] == ["0.0072", "11.0", "12"]
    assert [decimals_of(rounding) for rounding in (0.1, 0.0001, 1.0, 100.0)] == [1, 4, 0, 0]


@pytest.mark.parametrize(
    ("value", "base", "rounding", "outcome"),
    [
        (31.0, 23.0, 0.1, "different"),
        (3.5, 3.5, 0.1, "undecided"),  # 3.4 and 3.6 would differ by 6 %
        (100.0, 101.0, 0.1, "same"),  # 1.2 % at most, and 2 % is noise
        (100.0, 102.1, 0.1, "undecided"),  # 2.1 % is beyond the noise, but for the digits
        (100.0, 102.2, 0.1, "undecided"),  # 2.04 of noise and 0.2 of digits
        (100.0, 102.5, 0.1, "different"),
        (0.0, 0.0, 0.1, "same"),
    ],
)
def test_single_values_differ_where_neither_noise_nor_digits_explain_it(
    value: float, base: float, rounding: float, outcome: str
) -> None:
    row = compared((value, rounding), (base, rounding))
    assert row.outcome == outcome
    assert row.by_rounding
    assert not row.within_one_run
    assert (row.p_different, row.p_same, row.more_runs) == (None, None, None)
    assert row.winner == ({31.0: "b", 100.0: "a"}[value] if outcome == "different" else None)


def compared(a: tuple[float, float], b: tuple[float, float]) -> Comparison:
    return compared_in(
        cells(
            published({"switch": "a"}, {"completion_ms_mean": a}),
            published({"switch": "b"}, {"completion_ms_mean": b}),
        )
    )


def compared_in(table: CellTable) -> Comparison:
    (row,) = verdict_table(
        [Pair(None, table.rows[0], table.rows[1])],
        metric=named(table, "completion_ms_mean"),
        factor="switch",
        level="a",
        base="b",
        x=None,
        margin_pct=2.0,
    ).rows
    return row


def test_a_published_metric_of_a_node_is_one_in_every_export() -> None:
    """No counters were published: reading them in its place would find nothing."""
    table = cells(published({"users": 4}, {"machine.cpu_pct": (87.5, 0.1)}, of="transactions"))
    assert exported(table) == table.metrics
    (row,) = csv.DictReader(io.StringIO(to_csv(table)))
    assert row["machine.cpu_pct"] == "87.5"
    (cell,) = json.loads(to_json(table))["cells"]
    assert cell["metrics"]["machine.cpu_pct"]["value"] == 87.5


def test_a_value_that_was_not_repeated_is_held_against_the_interval_of_one_that_was() -> None:
    """Five repetitions of 100 with an interval of ± 12.4 do not differ from a single 108."""
    five = [
        published({"switch": "a"}, {"completion_ms_mean": (100.0 + off, 0.1)}, n)
        for n, off in enumerate((-10, -10, 0, 10, 10), start=1)
    ]
    table = cells(*five, published({"switch": "b"}, {"completion_ms_mean": (108.0, 0.1)}))
    assert compared_in(table).outcome == "undecided"


def test_only_of_a_value_that_was_not_repeated_is_rounding_said_to_be_all_that_is_known() -> None:
    run = published({"switch": "a"}, {"completion_ms_mean": (31.0, 0.1)})
    assert not any("rounding" in str(sentence) for sentence in MEASURED.description([run]))
    assert MEASURED.single is not None
    assert str(MEASURED.single(1, 2)).startswith(
        "1 of 2 cells have one published value: its rounding is known"
    )


def test_the_chain_of_the_workload_holds_as_far_as_the_values_go() -> None:
    values = {"drops_per_iteration": (20.1, 0.1), "retransmissions_per_iteration": (19.2, 0.1)}
    table = cells(published({"servers": 4}, values))
    names = [(step.cause.name, step.effect.name) for step in table.workload.chain]
    assert names == [("drops_per_iteration", "retransmissions_per_iteration")]
    assert [metric.name for metric in table.workload.headline] == list(values)


def test_cases_are_kept_apart_where_their_tables_have_bases_of_their_own() -> None:
    """The same treatment is 111 % of the first row of one table, and 97.5 % of another's."""
    same: Treatment = {"disk": "disk", "users": 60}
    table = cells(
        published(same, {"etr_pct": (111.0, 1.0)}, cases=("disk",), of="transactions"),
        published(same, {"etr_pct": (97.5, 0.1)}, cases=("buffers",), of="transactions"),
    )
    found = {case: table.of_case(case) for case in ("disk", "buffers")}
    assert [len(rows) for rows in found.values()] == [1, 1]
    assert [rows[0].value(named(table, "etr_pct")) for rows in found.values()] == [111.0, 97.5]


def test_a_panel_holds_its_cells_together_however_their_levels_are_ordered() -> None:
    table = cells(
        published({"disk": "disk", "cpus": 8, "buffers": 16}, {"etr_pct": (97.5, 0.1)}),
        published({"cpus": 8, "buffers": 128, "disk": "disk"}, {"etr_pct": (100.0, 0.1)}),
    )
    (panel,) = layout(table, "main", None).panels
    assert panel.x_levels == (16, 128)
