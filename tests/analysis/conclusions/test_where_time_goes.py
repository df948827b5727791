"""The largest parts of the time along the load, from records with a planted answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.conclusions.where_time_goes import TimesShown
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.answer import answer
from netstudy.wire import Run, RunRecord
from tests.report.results import Maker, from_text, study_text
from tests.report.synthetic import record, server_count
from tests.report.timed import account, with_accounts

WIRE = ("own", "serialization", "switch", "client")
QUEUE = ("own", "queue", "switch", "client")
RTO = ("recovery", "retransmission-timer", "server-1", "")


def planted(run: Run) -> RunRecord:
    """Up to 2 servers the wire takes most of the time, at 4 the queue, at 8 the timer: 3 of 4 ms
    in the mean, and 8 of 9 ms in the slowest. Two connections end 19 of 20 iterations."""
    n = server_count(run)
    parts = {WIRE: 1.0} | ({QUEUE: 2.0} if n == 4 else {}) | ({RTO: 3.0} if n == 8 else {})
    slowest = {**parts, RTO: 8.0} if n == 8 else parts
    member = account({WIRE: 0.8}, group="median-member")
    accounts = [
        account(parts),
        account(parts, group="middle", units=10),
        account(slowest, group="slowest", units=2),
        member,
    ]
    last = [10, 9, *([0] * (n - 3)), 1] if n > 2 else [20, *([0] * (n - 1))]
    return with_accounts(record(run), accounts, last)


def drawn(folder: Path, rest: str = "", maker: Maker = planted) -> StudyResult:
    text = study_text(
        f"factors: {{servers: [1, 2, 4, 8]}}\nreplicates: 2\n{rest}", servers='"${servers}"'
    )
    return analyse(from_text(folder, text, maker=maker))


def shown(result: StudyResult) -> TimesShown:
    every = (*result.concluded, *result.by_default)
    return next(one.drawn for one in every if isinstance(one.drawn, TimesShown))


def test_every_study_with_accounts_has_it(tmp_path: Path) -> None:
    result = drawn(tmp_path)
    assert result.concluded == ()
    (course,) = shown(result).courses
    assert [cell.row.treatment["servers"] for cell in course.cells] == [1, 2, 4, 8]


def test_without_accounts_it_is_not_drawn(tmp_path: Path) -> None:
    result = drawn(tmp_path, maker=record)
    assert not any(isinstance(one.drawn, TimesShown) for one in result.by_default)


def test_cells_with_the_same_largest_family_are_neighbours(tmp_path: Path) -> None:
    (course,) = shown(drawn(tmp_path)).courses
    assert [(len(span), span[0].largest) for span in course.spans] == [
        (2, "wire"),
        (1, "queue"),
        (1, "timer"),
    ]


def test_a_study_that_asks_for_cells_gets_only_these(tmp_path: Path) -> None:
    result = drawn(tmp_path, "conclude: [{where time goes: true, at: {servers: 4}}]\n")
    (course,) = shown(result).courses
    assert [cell.row.treatment["servers"] for cell in course.cells] == [4]
    assert course.factor is None


def test_the_answer_has_the_share_of_the_largest_family_at_the_highest_load(tmp_path: Path) -> None:
    numbers = [
        number.value
        for sentence in answer(drawn(tmp_path)).further
        if "waiting for timers" in str(sentence)
        for number in sentence.numbers()
    ]
    share, middle, slowest = numbers[:3]
    assert (share, middle, slowest) == (75.0, 3.0, 8.0)


def test_the_fewest_connections_that_end_most_units_are_counted(tmp_path: Path) -> None:
    found = shown(drawn(tmp_path))
    ((_, cell),) = found.late
    assert cell.row.treatment["servers"] == 8
    assert cell.slowdown == pytest.approx(4 / 0.8)
    assert [(one.number, one.of, one.share_pct) for one in cell.last] == [(2, 8, 95.0)] * 2


def test_units_whose_last_member_is_not_late_wait_for_no_connection(tmp_path: Path) -> None:
    def even(run: Run) -> RunRecord:
        accounts = [account({WIRE: 1.0}), account({WIRE: 0.9}, group="median-member")]
        return with_accounts(record(run), accounts)

    assert shown(drawn(tmp_path, maker=even)).late == ()


def test_each_setting_has_a_course(tmp_path: Path) -> None:
    rest = "factors: {switch: [arista-7124s, nexus-5010], servers: [2, 4]}\n"
    text = study_text(rest, servers='"${servers}"')
    text = text.replace("switch: nexus-5010", 'switch: {profile: "${switch}"}')
    courses = shown(analyse(from_text(tmp_path, text, maker=planted))).courses
    assert [(one.held, len(one.cells)) for one in courses] == [
        ({"switch": "arista-7124s"}, 2),
        ({"switch": "nexus-5010"}, 2),
    ]
