"""Rounds of a growing study with records made by hand: which levels follow, and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import pytest

from netstudy.analysis.growth import GrownLoop, loops_in
from netstudy.analysis.study_result import analyse
from netstudy.errors import StudyError
from netstudy.execute import execute, left_to_do, rounds_of
from netstudy.plan.planned import Estimate
from netstudy.report.conclusions import concluded_points
from netstudy.report.document import document
from netstudy.report.prose.grow import ending_text, loop_sentence
from netstudy.store import Folder
from netstudy.study.vocabulary import TestbedName
from netstudy.testbed.base import OnRecord, Preflight
from netstudy.testbed.memory import Memory
from netstudy.wire import Level, Plan, Run, RunRecord, to_json
from tests.report.results import from_text, results, study_text
from tests.report.synthetic import failed, from_samples

Outcome = Callable[[Run], RunRecord]

ONE = """factors: {servers: {grow: [1, 2, 3, 4, 5, 6], of: completion_ms_mean, confirm: 2}}
noise: 2 %
replicates: 2
"""


class ByHand:
    """A testbed whose records are what a function makes of each run."""

    __test__: ClassVar[bool] = False
    name: ClassVar[TestbedName] = "sim"
    repeats_itself: ClassVar[bool] = True

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.made: list[list[str]] = []

    def check(self) -> None:
        pass

    def missing_controls(self, plan: Plan) -> Sequence[str]:
        raise AssertionError("nobody asks")

    def unsupported(self, plan: Plan) -> Sequence[str]:
        raise AssertionError("nobody asks")

    def preflight(self, plan: Plan, scale: Fraction) -> Preflight:
        raise AssertionError(f"nobody asks of {plan.study}")

    def seconds(self, estimate: Estimate, *, threads: int | None) -> float:
        raise AssertionError(f"nobody asks of {estimate.runs} runs and {threads} threads")

    def memory(self, estimate: Estimate, *, threads: int | None) -> Memory | None:
        raise AssertionError(f"nobody asks of {estimate.runs} runs and {threads} threads")

    def run(
        self,
        plan: Plan,
        *,
        threads: int | None,
        on_record: OnRecord,
        captures: Path | None = None,
    ) -> None:
        del threads, captures
        self.made.append([run.id for run in plan.runs])
        for run in plan.runs:
            record = self.outcome(run)
            on_record(record, to_json(record).encode() + b"\n")


def taking(times_ms: Mapping[Level, float], factor: str = "servers") -> Outcome:
    """Completion times by the level of a factor."""

    def outcome(run: Run) -> RunRecord:
        n = run.count("measure")
        time = times_ms[run.treatment[factor]] + 0.001 * run.replicate
        return from_samples(run, [time] * n, [0] * n, [0] * n, [0] * n)

    return outcome


def begun(folder: Path, rest: str, only: Sequence[str] = (), **said: str) -> Folder:
    """A results folder of a study with no records yet."""
    text = study_text(rest, **{"servers": '"${servers}"', **said})
    (folder / "study.yaml").write_text(text)
    return results(folder, folder / "study.yaml", only=only, maker=lambda _: None)


def grown(folder: Folder, outcome: Outcome) -> ByHand:
    testbed = ByHand(outcome)
    execute(folder, testbed, rounds=rounds_of(folder))
    return testbed


def tried(one: GrownLoop) -> list[Level]:
    return [step.level for step in one.judged.steps]


def test_levels_follow_one_a_round_until_two_do_not_gain(tmp_path: Path) -> None:
    folder = begun(tmp_path, ONE)
    testbed = grown(folder, taking({1: 40, 2: 30, 3: 31, 4: 31.5}))
    (one,) = loops_in(folder)
    assert (tried(one), one.ending) == ([1, 2, 3, 4], "no gain")
    assert one.judged.best is not None
    assert one.judged.best.level == 2
    assert one.best_row is not None
    assert one.best_row.treatment == {"servers": 2}
    assert one.last_gain_row is one.best_row
    assert [len(runs) for runs in testbed.made] == [2, 2, 2, 2]
    assert folder.rounds() == 4
    assert [run.treatment["servers"] for run in folder.plan().runs] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert ending_text(one).replace("\u00a0", " ") == (
        "after 2 servers the next 2 levels gain no more than the noise"
    )


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (
            {1: 40, 2: 30, 3: 31, 4: 90},
            "is best at 2 servers, 30.002 ms; at 4 servers it rises to 90",
        ),
        ({1: 40, 2: 30, 3: 31, 4: 31.5}, "is best at 2 servers, 30.002 ms. After 2 servers"),
    ],
)
def test_a_level_far_worse_than_the_best_before_it_is_told(
    tmp_path: Path, times: dict[Level, float], said: str
) -> None:
    folder = begun(tmp_path, ONE)
    grown(folder, taking(times))
    (one,) = loops_in(folder)
    assert said in str(loop_sentence(one)).replace("\u00a0", " ")


def test_a_dip_is_crossed_where_the_level_after_it_gains(tmp_path: Path) -> None:
    folder = begun(tmp_path, ONE)
    grown(folder, taking({1: 40, 2: 45, 3: 30, 4: 30, 5: 31}))
    (one,) = loops_in(folder)
    assert (tried(one), one.ending) == ([1, 2, 3, 4, 5], "no gain")


def test_a_list_ends_with_its_last_level(tmp_path: Path) -> None:
    folder = begun(tmp_path, ONE)
    grown(folder, taking({level: 100 - 10 * level for level in range(1, 7)}))
    (one,) = loops_in(folder)
    assert (tried(one), one.ending, one.next) == ([1, 2, 3, 4, 5, 6], "list ended", None)


def test_a_range_without_an_end_ends_with_the_level_that_the_study_allows(tmp_path: Path) -> None:
    growing = "{grow: 3.., at most: 5, of: completion_ms_mean}"
    folder = begun(tmp_path, f"factors: {{servers: {growing}}}\nnoise: 2 %\n")
    grown(folder, taking({level: 100 - 10 * level for level in (3, 4, 5)}))
    (one,) = loops_in(folder)
    assert (tried(one), one.ending) == ([3, 4, 5], "at most")
    assert "the last that the study allows" in ending_text(one)


def test_the_workloads_throughput_is_what_must_gain_unless_the_study_says(tmp_path: Path) -> None:
    """Each server sends a block: 4 take twice the time of 2, and so bring no more in that time."""
    folder = begun(tmp_path, ONE.replace(", of: completion_ms_mean", ""))
    grown(folder, taking({1: 40, 2: 40, 3: 60, 4: 80}))
    (one,) = loops_in(folder)
    assert one.metric.name == "goodput_mbps"
    assert (tried(one), one.ending) == ([1, 2, 3, 4], "no gain")


def test_a_level_without_a_valid_run_ends_it_and_the_report_says_so(tmp_path: Path) -> None:
    folder = begun(tmp_path, ONE)
    well = taking({1: 40, 2: 30})
    grown(folder, lambda run: failed(run) if run.treatment["servers"] == 3 else well(run))
    (one,) = loops_in(folder)
    assert (tried(one), one.ending) == ([1, 2, 3], "no valid run")
    result = analyse(folder)
    said = str(document(folder, result).answer.sentences[0]).replace("\u00a0", " ")
    assert "best at 2 servers" in said
    assert "ended at 3 servers, since no run of it is valid" in said


def test_one_valid_replicate_of_a_level_is_enough_to_go_on(tmp_path: Path) -> None:
    folder = begun(tmp_path, ONE)
    well = taking({1: 40, 2: 30, 3: 30, 4: 30})
    grown(folder, lambda run: failed(run) if run.replicate == 2 else well(run))
    (one,) = loops_in(folder)
    assert (tried(one), one.ending) == ([1, 2, 3, 4], "no gain")


TWO = """factors:
  switch: [nexus-5010, arista-7124s]
  servers: {grow: [1, 2, 3, 4, 5, 6], of: completion_ms_mean}
holes: [{switch: arista-7124s, servers: [1, 3]}]
noise: 2 %
"""


def two(run: Run) -> RunRecord:
    """The one switch is at its best at once, the other one from 5 servers on."""
    if run.treatment["switch"] == "nexus-5010":
        return taking({1: 40, 2: 40})(run)
    return taking({2: 40, 4: 30, 5: 20, 6: 20})(run)


def test_each_combination_ends_by_itself_and_holes_are_skipped(tmp_path: Path) -> None:
    folder = begun(tmp_path, TWO, switch='"${switch}"')
    testbed = grown(folder, two)
    first, second = loops_in(folder)
    assert (first.loop.held, tried(first)) == ({"switch": "nexus-5010"}, [1, 2])
    assert (second.loop.held, tried(second)) == ({"switch": "arista-7124s"}, [2, 4, 5, 6])
    assert (first.ending, second.ending) == ("no gain", "no gain")
    assert [len(runs) for runs in testbed.made] == [2, 2, 1, 1]


def test_a_report_of_combinations_of_different_length_has_empty_cells(tmp_path: Path) -> None:
    folder = begun(tmp_path, TWO, switch='"${switch}"')
    grown(folder, two)
    result = analyse(folder)
    (panel,) = result.cases[0].panels
    assert panel.panel.x_levels == (1, 2, 4, 5, 6)
    assert panel.panel.cell(5, "nexus-5010") is None
    (section,) = document(folder, result).cases
    assert section.growth is not None
    assert len(section.growth.tables[0].rows) == 2
    assert len(section.growth.tables[1].rows) == 6


PLACED = """factors:
  iterations: [30, 60]
  servers: {grow: [1, 2, 4, 8], until: no gain, confirm: 1}
noise: 2 %
tables: [{rows: iterations, columns: [servers, completion_ms_mean]}]
figures: [{x: iterations, y: goodput_mbps, ideal: true}]
conclude: [loss against ideal]
"""


def test_a_growing_factor_stands_where_more_of_it_brings_no_more_than_the_noise(
    tmp_path: Path,
) -> None:
    """Eight servers carry 1 % more than four: that is the best value, and no gain."""
    folder = begun(tmp_path, PLACED, iterations='"${iterations}"')
    grown(folder, taking({1: 40, 2: 40, 4: 40, 8: 79}))
    result = analyse(folder)
    assert [one.judged.best and one.judged.best.level for one in loops_in(folder)] == [8, 8]
    (table,) = document(folder, result).cases[0].results
    assert [[str(cell) for cell in row] for row in table.rows] == [
        ["30", "4", "40.0"], ["60", "4", "40.0"],
    ]  # fmt: skip
    (sentence,) = (str(one) for point in concluded_points(result) for one in point.sentences)
    assert sentence.replace("\u00a0", " ").endswith(", with 4 servers each.")


def test_levels_that_are_not_wanted_are_not_tried(tmp_path: Path) -> None:
    folder = begun(tmp_path, ONE, only=["servers=2,4,5"])
    grown(folder, taking({2: 40, 4: 30, 5: 20}))
    (one,) = loops_in(folder)
    assert (tried(one), one.ending) == ([2, 4, 5], "list ended")


SHARED = """cases:
  wide: {factors: {servers: [1, 3, 6]}}
  deep: {factors: {servers: {grow: [1, 2, 3, 4, 5, 6], of: completion_ms_mean}}}
noise: 2 %
"""


def test_a_run_that_another_case_has_is_made_once_and_belongs_to_both(tmp_path: Path) -> None:
    folder = begun(tmp_path, SHARED)
    testbed = grown(folder, taking({1: 40, 2: 30, 3: 20, 4: 20, 6: 10}))
    (one,) = loops_in(folder)
    assert (one.loop.case, tried(one), one.ending) == ("deep", [1, 2, 3, 4], "no gain")
    made = [run for runs in testbed.made for run in runs]
    assert len(made) == len(set(made)) == 5
    cases = {run.treatment["servers"]: run.cases for run in folder.plan().runs}
    assert cases == {
        1: ("wide", "deep"),
        2: ("deep",),
        3: ("wide", "deep"),
        4: ("deep",),
        6: ("wide",),
    }
    assert folder.rounds() == 4, "a round whose runs are all there is a round"


def test_zipped_factors_grow_together(tmp_path: Path) -> None:
    rest = """factors:
  servers: {grow: [1, 2, 3], of: completion_ms_mean}
  size: [1 MB, 2 MB, 3 MB]
zip: [[servers, size]]
noise: 2 %
"""
    folder = begun(tmp_path, rest, block='"${size}"')
    grown(folder, taking({1: 40, 2: 40}))
    (one,) = loops_in(folder)
    assert [row.treatment for row in one.rows] == [
        {"servers": 1, "size": "1 MB"},
        {"servers": 2, "size": "2 MB"},
    ]


def test_a_further_round_is_the_same_whoever_asks_for_it(tmp_path: Path) -> None:
    times = taking({1: 40, 2: 30, 3: 31, 4: 31.5})
    plans = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        folder = begun(tmp_path / name, ONE)
        grown(folder, times)
        kept = sorted((folder.path / "rounds").iterdir())
        plans.append([path.read_bytes() for path in kept])
        assert [path.name for path in kept] == ["2.jsonl", "3.jsonl", "4.jsonl"]
    assert plans[0] == plans[1]


def test_what_may_still_be_run_shrinks_as_loops_end(tmp_path: Path) -> None:
    folder = begun(tmp_path, TWO, switch='"${switch}"')
    assert {run.treatment["servers"] for run in left_to_do(folder, ()).runs} == {1, 2, 3, 4, 5, 6}
    grown(folder, two)
    assert left_to_do(folder, ()).runs == ()
    again = folder.plan().runs[0]
    left = left_to_do(folder, {again.id}).runs
    assert again.id in {run.id for run in left}
    assert {run.treatment["switch"] for run in left} == {again.treatment["switch"]}


def test_a_run_made_again_changes_no_round_and_may_let_the_loop_go_on(tmp_path: Path) -> None:
    folder = begun(tmp_path, ONE.replace("confirm: 2", "confirm: 1"))
    slow = taking({1: 40, 2: 30, 3: 30})
    grown(folder, lambda run: failed(run) if run.treatment["servers"] == 3 else slow(run))
    before = {path.name: path.read_bytes() for path in (folder.path / "rounds").iterdir()}
    (one,) = loops_in(folder)
    assert one.ending == "no valid run"
    folder.set_aside([record for record in folder.records() if record.status == "failed"])
    grown(folder, taking({3: 20, 4: 21}))
    (one,) = loops_in(folder)
    assert (tried(one), one.ending) == ([1, 2, 3, 4], "no gain")
    after = {path.name: path.read_bytes() for path in (folder.path / "rounds").iterdir()}
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"4.jsonl"}


def test_a_study_in_which_nothing_grows_has_one_round(tmp_path: Path) -> None:
    folder = from_text(tmp_path, study_text("factors: {servers: [1, 2]}\n", servers='"${servers}"'))
    assert rounds_of(folder) is None
    assert folder.rounds() == 1
    assert not (folder.path / "rounds").exists()


def test_a_round_that_is_damaged_is_said_to_be(tmp_path: Path) -> None:
    folder = begun(tmp_path, ONE)
    grown(folder, taking({1: 40, 2: 40, 3: 40}))
    (folder.path / "rounds" / "2.jsonl").write_text("{}")
    with pytest.raises(StudyError, match=r"rounds/2\.jsonl is damaged"):
        Folder(folder.path).plan()
