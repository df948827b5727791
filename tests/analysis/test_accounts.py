"""The mean times of a cell's units, from planted accounts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from netstudy.analysis.accounts import PartKey, unit_time
from netstudy.analysis.cells import CellRow
from netstudy.analysis.study_result import analyse
from netstudy.wire import Run, TimeAccount
from tests.report.results import from_text, study_text
from tests.report.synthetic import record
from tests.report.timed import account, with_accounts

RTO_1 = ("recovery", "retransmission-timer", "server-1", "")
RTO_2 = ("recovery", "retransmission-timer", "server-2", "")
WIRE = ("own", "serialization", "server-1", "switch")


def cell(folder: Path, accounts: Callable[[Run], Sequence[TimeAccount]]) -> CellRow:
    text = study_text("factors: {servers: [2]}\nreplicates: 2\n", servers='"${servers}"')
    maker = from_text(
        folder, text, maker=lambda run: with_accounts(record(run), list(accounts(run)))
    )
    (row,) = analyse(maker).cells.rows
    return row


def test_hosts_of_a_group_are_one_part(tmp_path: Path) -> None:
    row = cell(tmp_path, lambda _: [account({RTO_1: 3.0, RTO_2: 5.0, WIRE: 2.0})])
    found = unit_time(row, "journey", "all")
    assert found is not None
    assert [(part.key.place, part.key.node) for part in found.parts] == [
        ("retransmission-timer", "server"),
        ("serialization", "server"),
    ]
    assert [part.low_s for part in found.parts] == [pytest.approx(0.008), pytest.approx(0.002)]
    assert found.whole_s == pytest.approx(0.010)
    assert found.is_exact


def test_runs_are_pooled_by_their_units(tmp_path: Path) -> None:
    """10 units of 1 ms and 30 of 5 ms: 4 ms."""
    row = cell(
        tmp_path,
        lambda run: [account({WIRE: (1.0, 5.0)[run.replicate - 1]}, units=20 * run.replicate - 10)],
    )
    found = unit_time(row, "journey", "all")
    assert found is not None
    assert found.whole_s == pytest.approx(0.004)
    assert found.units == 40


def test_runs_without_accounts_do_not_count(tmp_path: Path) -> None:
    row = cell(tmp_path, lambda run: [account({WIRE: 1.0})] if run.replicate == 1 else [])
    found = unit_time(row, "journey", "all")
    assert found is not None
    assert found.units == 100
    assert unit_time(row, "cause", "all") is None


def test_the_worst_unit_is_that_of_one_run(tmp_path: Path) -> None:
    row = cell(
        tmp_path,
        lambda run: [
            account({WIRE: 10.0 * run.replicate}, group="worst", units=1, number=7 * run.replicate)
        ],
    )
    found = unit_time(row, "journey", "worst")
    assert found is not None
    assert found.whole_s == pytest.approx(0.020)
    assert found.number == 14
    assert found.run == row.runs[1].run


def test_bounds_stay_bounds(tmp_path: Path) -> None:
    row = cell(tmp_path, lambda _: [account({WIRE: (2.0, 3.0), RTO_1: (1.0, 4.0)}, whole_ms=5.0)])
    found = unit_time(row, "journey", "all")
    assert found is not None
    assert not found.is_exact
    assert found.share_pct(lambda key: key.family == "wire") == pytest.approx(40)
    assert [part.high_s for part in found.parts] == [pytest.approx(0.003), pytest.approx(0.004)]


def test_the_time_that_is_not_known_is_never_the_largest_family(tmp_path: Path) -> None:
    unknown = ("own", "not-known", "", "")
    row = cell(tmp_path, lambda _: [account({unknown: 8.0, WIRE: 1.0, RTO_1: 2.0})])
    found = unit_time(row, "journey", "all")
    assert found is not None
    assert found.families == ("timer", "wire", "not known")


@pytest.mark.parametrize(
    ("reason", "place", "family"),
    [
        ("own", "propagation", "wire"),
        ("peer-window", "propagation", "window"),
        ("congestion-window", "serialization", "window"),
        ("congestion-window", "queue", "queue"),
        ("recovery", "serialization", "timer"),
        ("own-buffer", "not-known", "window"),
        ("own", "not-known", "not known"),
        ("own", "pool", "slot"),
    ],
)
def test_the_reason_counts_where_nothing_waits(reason: str, place: str, family: str) -> None:
    assert PartKey(reason, place, "a", "b").family == family  # type: ignore[arg-type]
