"""What a reader of the published table would have to conclude, and what the report says."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netstudy.analysis.agreement import OrderAgreement
from netstudy.analysis.caveats.published_data import ContradictedOrder
from netstudy.analysis.caveats.warm_up import OnlyAtFirst
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.verdict import VerdictTable
from netstudy.analysis.workloads.incast import GOODPUT
from netstudy.analysis.workloads.incast import INCAST as INCAST_METRICS
from netstudy.report.answer import answer
from netstudy.report.answer.comparison import two_levels
from netstudy.report.caveats import caveat_sentence
from netstudy.report.prose.against_published import against_published
from netstudy.report.prose.describe import case_description, differing
from netstudy.report.prose.explain import cause_summary, chain
from netstudy.wire import Run, RunRecord
from tests.report.accounts import Shares, Spot, accounts
from tests.report.caveats import caveat_sentences
from tests.report.planted import has, named, numbers
from tests.report.results import INCAST, from_text, results, small_incast, study_text
from tests.report.synthetic import failed, from_samples, invalid, record, run

ITERATIONS = 100
SWITCHES = ("arista-7124s", "nexus-5010")


def published() -> dict[tuple[str, int], dict[str, float]]:
    """(switch, servers) -> its published row."""
    path = INCAST / "reference" / "incast_4mb_mtu9000.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        (switch, int(row["servers"])): {
            "completion": float(row[f"completion_ms_{column}"]),
            "drops": float(row[f"dropped_packets_{column}"]),
        }
        for row in rows
        for switch, column in (("arista-7124s", "arista_7124s"), ("nexus-5010", "nexus_5010"))
    }


def as_published(planned: Run) -> RunRecord:
    """A run whose means are the published ones, give or take the replicate."""
    row = published()[planned.network.switches[0].profile, int(planned.treatment["servers"])]
    n = planned.count("measure")
    completion = np.full(n, row["completion"] * (1 + 0.0001 * (planned.replicate - 3)))
    drops = np.full(n, int(row["drops"]))
    drops[: round((row["drops"] % 1) * n)] += 1
    return from_samples(planned, completion, drops, drops, np.zeros(n, dtype=int))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """The incast study with the published outcome."""
    overrides = {"workload.incast.iterations": str(ITERATIONS), "replicates": "5"}
    folder = results(tmp_path_factory.mktemp("told"), overrides=overrides, maker=as_published)
    return analyse(folder)


def table_of(result: StudyResult, metric: str = "completion_ms_mean") -> VerdictTable:
    """The only table of verdicts on a metric."""
    (found,) = (t for t in result.cases[0].panels[0].verdicts if t.metric.name == metric)
    return found


def answer_of(result: StudyResult) -> str:
    return " ".join(map(str, answer(result))).replace("\u00a0", " ")


def test_the_winner_is_known_at_every_number_of_servers(told: StudyResult) -> None:
    table = table_of(told)
    assert [row.x for row in table.won_by("arista-7124s")] == [2, 3, 4]
    assert [row.x for row in table.won_by("nexus-5010")] == [*range(5, 24)]
    assert [row.x for row in table.with_outcome("same")] == [1]
    assert "5 to 23 servers" in answer_of(told)
    assert "2 to 4 servers" in answer_of(told)


def test_the_crossover_is_not_hidden(told: StudyResult) -> None:
    table = table_of(told)
    (crossover,) = table.crossovers
    assert (crossover.from_level, crossover.to_level) == ("arista-7124s", "nexus-5010")
    assert crossover.before == 5
    first, *_ = answer(told).sentences
    places = [*SWITCHES, "5 to 23 servers", "2 to 4 servers"]
    assert named([first], places) == ["nexus-5010", "arista-7124s", *places[2:]]


@pytest.mark.parametrize("is_equal_at_two", [True, False])
def test_a_level_is_ahead_throughout_only_if_it_is_ahead_everywhere(
    tmp_path: Path, is_equal_at_two: bool
) -> None:
    def made(planned: Run) -> RunRecord:
        servers = int(planned.treatment["servers"])
        is_slow = planned.treatment["switch"] == "arista-7124s"
        time = 10.0 * servers * (1 if servers == 2 and is_equal_at_two else 1 + is_slow)
        n = planned.count("measure")
        zeros = np.zeros(n, dtype=int)
        times = np.full(n, time * (1 + 0.001 * (planned.replicate - 2)))
        return from_samples(planned, times, zeros, zeros, zeros)

    rest = "factors: {switch: [arista-7124s, nexus-5010], servers: [2, 4, 8]}\nreplicates: 3\n"
    text = study_text(
        f"{rest}compare: {{factor: switch, base: nexus-5010, noise: 2 %}}\n",
        switch='"${switch}"',
        servers='"${servers}"',
    )
    result = analyse(from_text(tmp_path, text, made))
    first, *_ = two_levels(result.cases[0].panels[0], table_of(result), keeps_order=False)
    assert ("throughout" in str(first)) is not is_equal_at_two


def test_ratios_come_from_the_table_and_not_from_rounded_values(told: StudyResult) -> None:
    row = table_of(told).rows[-1]
    assert (row.x, row.value, row.base_value) == pytest.approx((23, 379.1, 140.5), abs=0.05)
    assert row.ratio == pytest.approx(379.1 / 140.5, rel=1e-3)


def test_the_largest_difference_is_told(told: StudyResult) -> None:
    best, worst, ratio, *_ = numbers(answer(told).sentences)
    assert (best.value, worst.value) == pytest.approx((35.9, 147.3), abs=0.05)
    assert ratio.value == pytest.approx(147.3 / 35.9, rel=1e-3)


def test_drops_are_compared_too(told: StudyResult) -> None:
    row = table_of(told, "drops_per_iteration").rows[-1]
    assert row.ratio == pytest.approx(4.052, rel=2e-3)


def test_published_values_agree_with_themselves(told: StudyResult) -> None:
    text = " ".join(map(str, against_published(told.cases[0].panels[0], None))).replace(
        "\u00a0", " "
    )
    assert "is off the published values by 0 % on arista-7124s and 0 % on nexus-5010 in the" in text
    assert "In all 46 published rows goodput × completion time is the bytes" in text
    assert "0.95 on arista-7124s and 0.88 on nexus-5010 as published, 1.00 here" in text
    assert "is 2.70 in the published data and 2.70 here." in text  # no width that digits show


def contradicted(result: StudyResult) -> list[OrderAgreement]:
    return [one.order for one in result.caveats if isinstance(one, ContradictedOrder)]


def test_the_published_order_is_found_again(told: StudyResult) -> None:
    text = " ".join(map(str, against_published(told.cases[0].panels[0], None)))
    assert "are in the published order in 22 of the 22 rows" in text
    assert contradicted(told) == []


def test_an_order_turned_round_is_warned_of(tmp_path: Path) -> None:
    other = {"arista-7124s": "nexus-5010", "nexus-5010": "arista-7124s"}

    def turned(planned: Run) -> RunRecord:
        row = published()[
            other[planned.network.switches[0].profile], int(planned.treatment["servers"])
        ]
        zeros = np.zeros(planned.count("measure"), dtype=int)
        return from_samples(planned, zeros + row["completion"], zeros, zeros, zeros)

    found = [str(s) for s in caveat_sentences(analyse(small_incast(tmp_path, turned)))]
    assert any("the other way round in 3 of 3 rows" in s and "completion time" in s for s in found)


@pytest.mark.parametrize(("noise", "is_turned"), [("0.5 %", True), ("5 %", False)])
def test_orders_within_the_noise_of_the_study_are_none(
    noise: str, is_turned: bool, tmp_path: Path
) -> None:
    """Published are 40.0 and 40.4 ms, here 40 and 39; the study compares nothing."""
    published_ms = {"nexus-5010": 40.0, "arista-7124s": 40.4}
    rows = [f"{switch},{n},{ms}" for switch, ms in published_ms.items() for n in (1, 2)]
    (tmp_path / "ref.csv").write_text("\n".join(["switch,servers,ms", *rows]))
    columns = "{ms: {metric: completion_ms_mean}}"
    text = study_text(
        "factors: {switch: [nexus-5010, arista-7124s], servers: [1, 2]}\nreplicates: 5\n"
        f"noise: {noise}\nreference:\n  - {{file: ref.csv, source: a test, columns: {columns}, "
        "factors: {switch: switch, servers: servers}}\n",
        switch='"${switch}"',
        servers='"${servers}"',
    )

    def made(planned: Run) -> RunRecord:
        n = planned.count("measure")
        time = 40.0 if planned.treatment["switch"] == "nexus-5010" else 39.0
        times = np.full(n, time + 0.01 * planned.replicate)
        return from_samples(planned, times, [2] * n, [0] * n, [0] * n)

    result = analyse(from_text(tmp_path, text, made))
    assert [one.compared for one in contradicted(result)] == ([2] if is_turned else [])


def test_goodput_is_known_against_what_headers_leave(told: StudyResult) -> None:
    cell = told.cases[0].panels[0].panel.cell(1, "arista-7124s")
    assert cell is not None
    bound, value = INCAST_METRICS.bound(cell.planned[0]), cell.value(GOODPUT)
    assert bound is not None
    assert value is not None
    assert (value, value / bound.goodput_mbps) == pytest.approx((9142.9, 0.924), rel=1e-3)


def test_goodput_that_reaches_its_bound_is_not_above_it(tmp_path: Path) -> None:
    def full(planned: Run) -> RunRecord:
        """Iterations that take the time of the wire."""
        n, bound = planned.count("measure"), INCAST_METRICS.bound(planned)
        assert bound is not None
        wire_ms = int(planned.treatment["servers"]) * 4_000_000 * 8 / bound.goodput_mbps / 1e3
        zeros = np.zeros(n, dtype=int)
        return from_samples(planned, np.full(n, wire_ms), zeros, zeros, zeros)

    text = study_text("factors: {servers: [2, 4]}\nreplicates: 3\n", servers='"${servers}"')
    result = analyse(from_text(tmp_path, text, full))
    for cell in result.cases[0].panels[0].panel.cells.values():
        value, bound = cell.value(GOODPUT), INCAST_METRICS.bound(cell.planned[0])
        assert value is not None
        assert bound is not None
        assert value <= bound.goodput_mbps * (1 + 1e-6)


def test_the_description_says_what_the_compared_cells_differ_in(told: StudyResult) -> None:
    text = " ".join(map(str, case_description(told.cases[0], told.comparing)))
    assert "It varies switch (arista-7124s and nexus-5010)" in text
    assert "and holds configuration (4 MB): " in text
    assert "46 cells with 5 runs in each" in text
    assert "switch.buffer" in text
    assert "credited to the switch as a whole" in text


def test_a_difference_in_one_setting_is_credited_to_it(tmp_path: Path) -> None:
    text = study_text(
        "factors: {servers: [2, 4], control: [reno, cubic]}\nreplicates: 3\n"
        "compare: {factor: control, base: reno, noise: 2 %}\n",
        servers='"${servers}"',
    ).replace('count: "${servers}"', 'count: "${servers}", tcp: {congestion_control: "${control}"}')
    result = analyse(from_text(tmp_path, text))
    told = " ".join(map(str, case_description(result.cases[0], result.comparing)))
    assert "differ in server.tcp.congestion_control and in nothing else." in told
    assert "credited" not in told


def test_equal_configurations_do_not_differ_and_changed_ones_name_their_path() -> None:
    one = run({"servers": 4})
    assert differing(one, one) == []
    assert differing(one, run({"servers": 8})) == ["server.count"]


def test_one_run_a_cell_gives_no_verdict(tmp_path: Path) -> None:
    result = analyse(results(tmp_path, quick=True))
    assert {row.winner for row in table_of(result).rows} == {None}
    assert {row.within_one_run for row in table_of(result).rows} == {True}
    assert answer(result).caveats != ()
    assert answer(result).next is not None


def test_levels_without_a_value_at_the_same_place_are_not_said_to_have_one_run(
    tmp_path: Path,
) -> None:
    def apart(planned: Run) -> RunRecord | None:
        """One switch has runs with two servers, the other one with four."""
        is_first = planned.treatment["switch"] == "arista-7124s"
        return record(planned) if is_first == (planned.treatment["servers"] == 2) else None

    rest = (
        "factors: {switch: [arista-7124s, nexus-5010], servers: [2, 4]}\nreplicates: 3\n"
        "compare: {factor: switch, base: nexus-5010, noise: 2 %}\n"
    )
    text = study_text(rest, switch='"${switch}"', servers='"${servers}"')
    for maker, why in ((apart, "not measured at the same levels"), (failed, "No run gives")):
        folder = tmp_path / maker.__name__
        folder.mkdir()
        result = analyse(from_text(folder, text, maker))
        (told,) = answer(result).sentences
        assert why in str(told)
        assert set(named([told], SWITCHES)) == set(SWITCHES)


@pytest.mark.parametrize(
    ("iterations", "why"),
    [("5", "25 iterations of the 299 that carry it"), ("80", "Single runs have too few samples")],
)
def test_a_percentile_that_single_runs_are_too_short_for_is_not_called_one_run(
    tmp_path: Path, iterations: str, why: str
) -> None:
    compared = "{factor: switch, base: nexus-5010, noise: 2 %, on: [completion_ms_p99]}"
    text = study_text(
        f"factors: {{switch: [arista-7124s, nexus-5010]}}\nreplicates: 5\ncompare: {compared}\n",
        switch='"${switch}"',
        iterations=iterations,
    )
    result = analyse(from_text(tmp_path, text))
    told = answer_of(result)
    assert "too few samples for the 99th percentile" in told
    assert why in told
    assert "One run" not in told
    assert "replicates=5" not in told, "it has as many"


WIRE: Spot = ("own", "serialization", "switch", "client")
QUEUE: Spot = ("own", "queue", "switch", "client")
TIMER: Spot = ("recovery", "retransmission-timer", "server", "")


def timed(planned: Run) -> RunRecord:
    """Iterations of 20 ms on the Arista, of which 12 are timers; of 10 ms on the Nexus, of which 4
    are queues."""
    parts: Shares = {WIRE: 0.6, QUEUE: 0.4}
    ms = 10.0
    if planned.treatment["switch"] == "arista-7124s":
        parts, ms = {WIRE: 0.3, TIMER: 0.6, QUEUE: 0.1}, 20.0
    made = record(planned)
    time = accounts("iteration", ms * 1e9, parts)
    return made.model_copy(update={"samples": made.samples.model_copy(update={"time": time})})


def test_the_cause_is_the_part_of_the_time_that_grows(tmp_path: Path) -> None:
    """10 ms more in all, with 12 ms more of timers and 2 ms less of queues."""
    panel = analyse(small_incast(tmp_path, timed)).cases[0].panels[0]
    first, *_ = cause_summary(panel)
    assert {round(one.value, 6) for one in numbers([first])} >= {10.0, 12.0}
    every = [one.value for one in numbers(chain(panel))]
    assert pytest.approx(100 * 12 / 14) in every


def test_without_accounts_no_part_of_the_time_is_a_cause(tmp_path: Path) -> None:
    panel = analyse(small_incast(tmp_path)).cases[0].panels[0]
    assert not panel.causes.beyond_wire
    assert not panel.causes.grown
    first, *_ = cause_summary(panel)
    assert has([first], panel.causes.timeout_cost_ms or 0.0)


WARNED: list[tuple[Callable[[Run], RunRecord | None], str]] = [
    (failed, "1 of 40 runs failed."),
    (invalid, "1 of 40 runs broke a conservation law and is kept out of the numbers."),
    (lambda _: None, "1 of 40 runs was planned and has no record."),
]


@pytest.mark.parametrize(("change", "sentence"), WARNED)
def test_a_bad_run_is_warned_of(
    tmp_path: Path, change: Callable[[Run], RunRecord | None], sentence: str
) -> None:
    def maker(planned: Run) -> RunRecord | None:
        bad = planned.treatment["servers"] == 9 and planned.replicate == 2
        return (
            change(planned) if bad and planned.network.switches[0].ports == 24 else record(planned)
        )

    found = [str(s) for s in caveat_sentences(analyse(small_incast(tmp_path, maker)))]
    assert sentence in found
    assert any("1 of 8 cells has fewer than 5 runs (4)" in s for s in found)


def test_an_empty_cell_is_named(tmp_path: Path) -> None:
    folder = small_incast(tmp_path, lambda p: None if p.treatment["servers"] == 9 else record(p))
    found = [str(s) for s in caveat_sentences(analyse(folder))]
    (named,) = (s for s in found if "No run gives numbers for" in s)
    assert "for switch=arista-7124s, servers=9 and for switch=nexus-5010, servers=9." in named
    assert "configuration" not in named, "all cells have the same"


def test_empty_cells_are_parted_by_semicolons_as_their_levels_are_by_commas(
    tmp_path: Path,
) -> None:
    text = study_text(
        "factors: {block: [1 MB, 2 MB, 4 MB], servers: [2, 4]}\nreplicates: 3\n",
        servers='"${servers}"',
        block='"${block}"',
    )
    made = from_text(tmp_path, text, lambda p: None if p.treatment["servers"] == 4 else record(p))
    found = [str(s) for s in caveat_sentences(analyse(made))]
    (named,) = (s for s in found if "No run gives numbers for" in s)
    assert "for block=1 MB, servers=4; block=2 MB, servers=4 and for block=4 MB, servers=4" in named


def test_all_well_warns_of_nothing(found: StudyResult) -> None:
    assert caveat_sentences(found) == []
    assert found.caveats == ()


def test_a_cell_that_stands_still_after_its_first_samples_is_warned_of(found: StudyResult) -> None:
    stalled = OnlyAtFirst(found.cells.rows[:1], found.cells, "second")
    assert "all that was measured lies in the first seconds; nothing came later." in str(
        caveat_sentence(stalled)
    )


def test_published_values_that_are_no_numbers_are_warned_of(tmp_path: Path) -> None:
    folder = small_incast(tmp_path)
    path = folder.path / "reference" / "incast_4mb_mtu9000.csv"
    path.write_text(path.read_text().replace("5456.0", "about 5456"))
    found = [str(s) for s in caveat_sentences(analyse(folder))]
    assert any('3: goodput_mbps_arista_7124s "about 5456" is not a number' in s for s in found)


def test_a_figure_that_cannot_be_drawn_is_warned_of(tmp_path: Path) -> None:
    figure = "{kind: time series, y: completion_ms_mean}"
    more = f"factors: {{servers: [1, 2]}}\nreport: {{figures: [{figure}]}}\n"
    folder = from_text(tmp_path, study_text(more, servers='"${servers}"'))
    found = [str(s) for s in caveat_sentences(analyse(folder))]
    assert "The study asks for “report.figures[0]”, which is not shown." in found
