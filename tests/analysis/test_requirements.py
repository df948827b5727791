"""Requirements held against cells: met, missed, not measured, not in this run."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.related import cell_table
from netstudy.analysis.requirements import CheckedRequirement, check
from netstudy.analysis.study_result import analyse
from netstudy.study.outcome import Condition
from netstudy.wire import Run, RunRecord
from tests.report.results import from_text, study_text
from tests.report.synthetic import failed, from_samples, server_count

FACTORS = "factors: {servers: [2, 4]}\nreplicates: 3\n"


def outcome(run: Run) -> RunRecord:
    """Ten milliseconds and one drop a server, a little more with each replicate."""
    servers, n = server_count(run), run.count("measure")
    times = [10.0 * servers + run.replicate] * n
    return from_samples(run, times, [servers] * n, [0] * n, [0] * n)


def checked(folder: Path, requirement: str, **kwargs: object) -> CheckedRequirement:
    text = study_text(f"{FACTORS}require: [{requirement}]\n", servers='"${servers}"')
    made = from_text(folder, text, **{"maker": outcome, **kwargs})  # type: ignore[arg-type]
    (found,) = check(made.study(), cell_table(made))
    return found


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("completion_ms_mean < 43", "met"),
        ("completion_ms_mean < 42", "missed"),
        ("completion_ms_mean <= 42", "met"),
        ("completion_ms_mean > 22", "missed"),
        ("completion_ms_mean >= 22", "met"),
        ("drops_per_iteration<=3.5", "missed"),
        ("{that: drops_per_iteration <= 3.5, at: {servers: 2}}", "met"),
        ("{that: drops_per_iteration <= 3.5, at: {servers: 1..4}}", "missed"),
    ],
)
def test_every_cell_that_it_speaks_of_must_keep_it(
    condition: str, said: str, tmp_path: Path
) -> None:
    """Completion times are 22 and 42 ms, drops 2 and 4."""
    found = checked(tmp_path, condition)
    assert found.outcome == said
    assert found.failed == (said == "missed")


def test_the_worst_cell_is_furthest_on_the_wrong_side(tmp_path: Path) -> None:
    for condition, servers in (("completion_ms_mean < 1", 4), ("completion_ms_mean > 1", 2)):
        worst = checked(tmp_path, condition).worst
        assert worst is not None
        assert worst.cell.treatment["servers"] == servers


def test_what_is_not_measured_was_not_shown_to_hold(tmp_path: Path) -> None:
    found = checked(tmp_path, "switch@client.port_in_mbps < 1")
    assert (found.outcome, found.failed, found.worst) == ("not measured", True, None)


def test_a_cell_without_numbers_misses_and_the_others_still_count(tmp_path: Path) -> None:
    def lacking(run: Run) -> RunRecord:
        return failed(run) if server_count(run) == 2 else outcome(run)

    assert checked(tmp_path, "completion_ms_mean < 99", maker=lacking).outcome == "not measured"
    assert checked(tmp_path, "completion_ms_mean < 1", maker=lacking).outcome == "missed"


def test_what_this_run_leaves_out_is_not_asked_for(tmp_path: Path) -> None:
    text = study_text(
        "factors: {servers: [2, 4]}\n"
        "quick: {only: {servers: 2}}\n"
        "require:\n"
        "  - {that: completion_ms_mean < 1, at: {servers: 4}}\n"
        "  - completion_ms_mean < 99\n",
        servers='"${servers}"',
    )
    from tests.report.results import results

    path = tmp_path / "study.yaml"
    path.write_text(text)
    found = analyse(results(tmp_path, path, quick=True, maker=outcome))
    assert [one.outcome for one in found.requirements] == ["not in this run", "met"]
    assert found.missed == ()


def test_a_bound_is_read_from_its_condition() -> None:
    bound = Condition().parse("completion_ms_p99 <= 0.5")
    assert (str(bound.metric), bound.sign, bound.value) == ("completion_ms_p99", "<=", 0.5)
    assert bound.holds(0.5)
    assert not bound.holds(0.51)
