"""A testbed of real machines in the report: its limits, its instruments, its scale, its words."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.testbed import gather_testbed
from netstudy.report.document import Document, document
from netstudy.report.pages import write_report
from netstudy.report.terminal import print_summary
from netstudy.report.testbed_tables import agreement_evidence, limits_evidence
from netstudy.store import Folder
from netstudy.wire import DISTURBED_ATTEMPTS, Check, Reconciliation, Run, RunRecord, TestbedLimit
from tests.report.caveats import caveat_sentences
from tests.report.results import results
from tests.report.synthetic import failed, record, run

CLOCK = "lateness of the switch's clock"
BACKLOG = "frames lost in the backlog queue"
RETRANSMITTED = "segments retransmitted by all connections = RetransSegs"


def limit(name: str, value: float | None, allowed: float, unit: str = "") -> TestbedLimit:
    exceeded = value is not None and value > allowed
    return TestbedLimit(
        name=name, value=value, allowed=allowed, unit=unit, exceeded=exceeded, evidence="read there"
    )


def check(name: str, left: float, right: float, explained: str | None = None) -> Reconciliation:
    return Reconciliation(
        check=name,
        left=left,
        right=right,
        difference=left - right,
        tolerance=0,
        explained=explained,
        holds=left == right or explained is not None,
    )


def real(planned: Run) -> RunRecord:
    """Nine servers are too many for the testbed, and make its instruments disagree."""
    many = planned.treatment["servers"] == 9
    return record(planned).model_copy(
        update={
            "limits": (
                limit("processor of the switch", 41.25, 90, "%"),
                limit(CLOCK, 250.5 if many else 20, 100, "µs"),
                limit(BACKLOG, 3 if many and planned.replicate == 2 else 0, 0),
                limit("time stolen by the hypervisor", None, 1, "%"),
            ),
            "reconciliation": (
                check("frames sent = frames received", 100, 100),
                check("retransmissions = drops", 5, 4, "1 tail loss probe"),
                check(RETRANSMITTED, 7, 5 if many else 7),
            ),
            "environment": {"kernel": "6.18.0", "congestion control": "reno"},
            "scaled_by": "1/20",
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Four cells of two runs, carried out in namespaces."""
    return results(
        tmp_path_factory.mktemp("real"),
        only=["servers=2,9"],
        overrides={"workload.incast.iterations": "50", "replicates": "2"},
        maker=real,
        testbed="netns",
    )


@pytest.fixture(scope="module")
def measured(folder: Folder) -> StudyResult:
    return analyse(folder)


@pytest.fixture(scope="module")
def shown(folder: Folder, measured: StudyResult) -> Document:
    return document(folder, measured)


def test_a_limit_that_a_run_exceeded_comes_first_with_its_worst_run(measured: StudyResult) -> None:
    evidence = limits_evidence(measured.testbed)
    assert evidence is not None
    first, clock, backlog, unknown = map(str, evidence.sentences)
    assert first.startswith("In 4 of 8 runs it was")
    assert ". They are in the numbers, so a difference there may come from the testbed" in first
    assert "in 4 of 8 runs, 250.5\u00a0µs instead of at most 100\u00a0µs" in clock
    assert backlog.startswith("Frames lost in the backlog queue: more than allowed in 2 of 8")
    assert unknown == "Not measured in some runs: time stolen by the hypervisor."
    limits, exceeded = evidence.tables
    assert [str(row[0]) for row in limits.rows] == [
        CLOCK,
        BACKLOG,
        "processor of the switch",
        "time stolen by the hypervisor",
    ]
    assert limits.rows[3][3] is None, "missing is not zero"
    assert len(exceeded.rows) == 6
    assert {str(row[-1]) for row in exceeded.rows} == {"read there"}


def test_a_run_that_measured_the_testbed_alone_is_left_out_and_says_why(tmp_path: Path) -> None:
    def limited(planned: Run) -> RunRecord:
        made = real(planned)
        exceeded = any(one.exceeded for one in made.limits)
        return made.model_copy(update={"status": "invalid" if exceeded else "ok"})

    overrides = {"workload.incast.iterations": "50", "replicates": "2"}
    folder = results(
        tmp_path, only=["servers=2,9"], overrides=overrides, maker=limited, testbed="netns"
    )
    result = analyse(folder)
    evidence = limits_evidence(result.testbed)
    assert evidence is not None
    assert str(evidence.sentences[0]).endswith(" They are kept out of the numbers.")
    problems = [problem for _, problem in result.cells.problems]
    assert [problem.kind for problem in problems] == ["limited"] * 4
    assert f"the testbed was the limit: {CLOCK} 250.5 of 100 µs (read there)" in problems[0].reason
    assert str(caveat_sentences(result)[0]) == (
        "4 of 8 runs are invalid, because the testbed was disturbed, and kept out of the numbers: "
        "make them again on an idle machine by netstudy run --resume, or run the study at a "
        "smaller scale, such as --scale 1/40."
    )


def test_runs_that_were_made_again_are_counted(tmp_path: Path) -> None:
    def again(planned: Run) -> RunRecord:
        attempts = 2 if planned.treatment["servers"] == 9 else 0
        return record(planned).model_copy(
            update={"limits": (limit(DISTURBED_ATTEMPTS, attempts, 2),)}
        )

    folder = results(
        tmp_path,
        only=["servers=2,9"],
        overrides={"workload.incast.iterations": "50", "replicates": "2"},
        maker=again,
        testbed="netns",
    )

    assert str(caveat_sentences(analyse(folder))[0]) == (
        "4 of 8 runs were made again, because the testbed was disturbed; 8 attempts do not count."
    )


def test_a_run_that_is_invalid_for_a_limit_is_no_broken_law_of_the_network(tmp_path: Path) -> None:
    def late(planned: Run) -> RunRecord:
        made = real(planned)
        why = [one.model_copy(update={"invalidates": one.exceeded}) for one in made.limits]
        broken = Check(law="the switch keeps to its times", holds=False, detail="it does not")
        if not any(one.exceeded for one in why):
            return made
        changes = {"status": "invalid", "limits": tuple(why), "checks": (broken,)}
        return made.model_copy(update=changes)

    overrides = {"workload.incast.iterations": "50"}
    result = analyse(
        results(tmp_path, only=["servers=2,9"], overrides=overrides, maker=late, testbed="netns")
    )
    kinds = {problem.kind for _, problem in result.cells.problems}
    assert kinds == {"limited"}


@pytest.mark.parametrize(
    ("used", "smaller"),
    [(None, "1/2"), ("1/10", "1/20"), ("3/10", "1/7"), ("1/10 or 1/20", "1/40")],
)
def test_a_smaller_scale_is_a_unit_fraction_of_at_most_half(used: str | None, smaller: str) -> None:
    assert gather_testbed("netns", [], used).smaller_scale == smaller
    assert gather_testbed("hosts", [], used).smaller_scale is None


def test_instruments_that_disagree_come_first_and_are_named_by_run(measured: StudyResult) -> None:
    evidence = agreement_evidence(measured.testbed)
    assert evidence is not None
    assert str(evidence.sentences[0]) == "1 of 3 checks do not hold in every run."
    assert "does not hold in 4 of 8 runs, 7 against 5" in str(evidence.sentences[1])
    checks, disagreeing = evidence.tables
    assert str(checks.rows[0][0]) == RETRANSMITTED
    assert str(checks.rows[2][-1]) == "1 tail loss probe"
    assert len(disagreeing.rows) == 4


def test_each_kind_of_problem_is_a_line_of_the_summary(measured: StudyResult) -> None:
    lines = [str(sentence) for sentence in caveat_sentences(measured)]
    told = [line for line in lines if "more than allowed" in line or "does not hold" in line]
    assert len(told) == 3
    console = Console(file=io.StringIO(), width=200)
    print_summary(measured, console)
    printed = console.file
    assert isinstance(printed, io.StringIO)
    assert printed.getvalue().count("! Lateness of the switch's clock") == 1


def test_the_words_of_a_real_testbed_are_not_those_of_the_simulator(
    folder: Folder, measured: StudyResult, tmp_path: Path
) -> None:
    files = write_report(folder, measured, tmp_path)
    for path in (files.html, files.md):
        text = path.read_text()
        assert "simulated" not in text.partition("Hardware profiles and their sources")[0]
        assert "Published and measured here" in text
        assert "Was the testbed the limit?" in text
        assert "Do the instruments agree?" in text


def test_the_scale_stands_in_the_title_and_in_the_methods(shown: Document) -> None:
    assert shown.title.endswith("(all link rates × 1/20)")
    assert shown.question is None or shown.question not in shown.title, "nothing is said twice"
    methods = " ".join(map(str, shown.methods))
    assert "Every link has the study’s rate × 1/20." in methods


def test_what_the_runs_were_made_on_stands_in_the_appendix(shown: Document) -> None:
    facts = {str(row[0]): str(row[1]) for row in shown.appendix.environment.rows}
    assert facts["testbed"] == "netns"
    assert facts["congestion control"] == "reno"


def test_the_simulator_has_neither_limits_nor_scale(found: StudyResult) -> None:
    assert limits_evidence(found.testbed) is agreement_evidence(found.testbed) is None
    assert (found.testbed.here, found.testbed.scaled_by) == ("simulated", None)


def test_what_values_are_called_follows_from_the_records_of_runs() -> None:
    simulated = record(run({"servers": 2})).model_copy(update={"mode": "per-hop"})
    for name in ("sim", "another simulator"):
        assert gather_testbed(name, [simulated], None).here == "simulated"
    broken = failed(run({"servers": 2}))
    assert gather_testbed("sim", [broken], None).badge == "simulated"
    assert gather_testbed("netns", [broken], None).badge == "measured in namespaces"
    real = simulated.model_copy(update={"mode": None})
    assert gather_testbed("hosts over SSH", [real], None).here == "measured here"


def test_a_testbed_that_was_no_limit_says_so(folder: Folder) -> None:
    few = [one for one in folder.records() if one.treatment["servers"] == 2]
    quiet = gather_testbed("netns", few, None)
    limits, instruments = limits_evidence(quiet), agreement_evidence(quiet)
    assert limits is not None
    assert instruments is not None
    assert str(limits.sentences[0]) == "In none of 4 runs, as far as was measured."
    assert str(instruments.sentences[0]) == "All of 3 checks hold in every run."
    assert len(limits.tables) == len(instruments.tables) == 1
