"""The largest level that keeps a condition, from records with a planted answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.limit import LevelsHeld, LimitReached
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.conclusions import concluded_points
from netstudy.wire import Run, RunRecord
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples, server_count

SCATTER = (0.0, 0.001, -0.001, 0.0005, -0.0005)
BELOW_50 = "{limit: servers, while: completion_ms_mean < 50}"


def concluding(
    folder: Path,
    times_ms: Mapping[int, float],
    scatter: Mapping[int, float] | None = None,
    slow: float = 1.0,
) -> StudyResult:
    """Number of servers -> mean completion time; `scatter`: by how much more than usual the
    replicates of a level differ; `slow`: times as much with the second switch."""

    def maker(run: Run) -> RunRecord:
        servers, n = server_count(run), run.count("measure")
        spread = SCATTER[run.replicate - 1] * (scatter or {}).get(servers, 1.0)
        late = slow if run.treatment["switch"] == "nexus-5010" else 1.0
        times = [times_ms[servers] * late * (1 + spread)] * n
        return from_samples(run, times, [0] * n, [0] * n, [0] * n)

    rest = (
        f"factors: {{switch: [arista-7124s, nexus-5010], servers: {[*times_ms]}}}\n"
        f"replicates: 5\nconclude: [{BELOW_50}]\n"
    )
    text = study_text(rest, servers='"${servers}"').replace(
        "switch: nexus-5010", 'switch: {profile: "${switch}"}'
    )
    return analyse(from_text(folder, text, maker=maker))


def reached(result: StudyResult) -> LimitReached:
    (found,) = result.concluded
    assert isinstance(found.drawn, LimitReached)
    return found.drawn


def servers(one: LevelsHeld) -> tuple[object, object]:
    """The largest level that keeps the condition, and the first that breaks it."""
    ends = (one.largest, one.broken)
    largest, broken = (None if cell is None else one.level(cell) for cell in ends)
    return largest, broken


@pytest.mark.parametrize(
    ("times", "ends"),
    [
        ({1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0}, (4, 8)),
        ({1: 10.0, 2: 20.0, 4: 30.0, 8: 40.0}, (8, None)),
        ({1: 60.0, 2: 70.0, 4: 80.0}, (None, 1)),
    ],
)
def test_levels_keep_a_condition_up_to_one(
    times: Mapping[int, float], ends: tuple[object, object], tmp_path: Path
) -> None:
    both = reached(concluding(tmp_path, times)).levels
    assert [servers(one) for one in both] == [ends, ends]
    assert all(not one.undecided and not one.again for one in both)


def test_levels_are_taken_by_size_and_not_by_their_place_in_the_study(tmp_path: Path) -> None:
    first, _ = reached(concluding(tmp_path, {8: 80.0, 2: 20.0, 4: 40.0})).levels
    assert servers(first) == (4, 8)


def test_each_setting_of_the_other_factors_has_its_limit(tmp_path: Path) -> None:
    result = concluding(tmp_path, {1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0}, slow=1.5)
    found = {one.held["switch"]: servers(one) for one in reached(result).levels}
    assert found == {"arista-7124s": (4, 8), "nexus-5010": (2, 4)}
    claims = reached(result).claims()
    assert [(one.kind, one.factor, one.levels) for one in claims] == [
        ("holds", "servers", (4,)),
        ("holds", "servers", (2,)),
    ]
    assert isinstance(claims[0], Claim)


def test_a_level_whose_interval_includes_the_bound_is_undecided(tmp_path: Path) -> None:
    """49.9 ms with a standard error of about 1.7 ms."""
    result = concluding(tmp_path, {1: 10.0, 2: 20.0, 4: 49.9, 8: 80.0}, scatter={4: 100.0})
    first, _ = reached(result).levels
    assert servers(first) == (2, 8)
    assert [first.level(cell) for cell in first.undecided] == [4]


def test_a_larger_level_that_keeps_the_condition_again_is_named(tmp_path: Path) -> None:
    first, _ = reached(concluding(tmp_path, {1: 10.0, 2: 60.0, 4: 40.0, 8: 80.0})).levels
    assert servers(first) == (1, 2)
    assert [first.level(cell) for cell in first.again] == [4]


@pytest.mark.parametrize(
    ("times", "numbers"),
    [
        ({1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0}, [["50", "40.00", "80.00"]]),
        ({1: 10.0, 2: 20.0, 4: 30.0}, [["50", "30.00"]]),
        ({1: 10.0, 2: 60.0, 4: 40.0, 8: 80.0}, [["50", "10.000", "60.00"], []]),
    ],
)
def test_the_sentence_has_the_bound_and_the_values_on_both_sides_of_it(
    times: Mapping[int, float], numbers: list[list[str]], tmp_path: Path
) -> None:
    (point,) = concluded_points(concluding(tmp_path, times))
    found = [re.findall(r"([\d.]+)\u00a0ms", str(one)) for one in point.sentences]
    assert found == numbers
