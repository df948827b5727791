"""The figure and the table of the time of units of work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from netstudy.analysis.conclusions.where_time_goes import TimesShown
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.charts.style import NARROW, WIDE
from netstudy.report.charts.time_bars import LABELLED_PCT, TimeBars
from netstudy.report.conclusions import (
    brief_sentences,
    conclusion_figures,
    conclusion_tables,
)
from netstudy.report.refs import Number
from netstudy.report.time_figure import CELLS_MAX
from netstudy.wire import Run, RunRecord, TimeAccount
from tests.report.results import from_text, study_text
from tests.report.synthetic import record, server_count
from tests.report.timed import Bounds, Part, account, with_accounts

WIRE = ("own", "serialization", "switch", "client")
WINDOW = ("peer-window", "propagation", "client", "switch")
QUEUE = ("own", "queue", "switch", "client")
TINY = ("own", "interrupt", "client", "")
EXACT: Mapping[Part, float] = {WIRE: 2.0, WINDOW: 5.97, QUEUE: 2.0, TINY: 0.03}
"""10 ms."""


def timed(*accounts: TimeAccount, folder: Path, servers: str = "[1, 2]") -> StudyResult:
    text = study_text(f"factors: {{servers: {servers}}}\n", servers='"${servers}"')
    maker = lambda run: with_accounts(record(run), accounts)  # noqa: E731
    return analyse(from_text(folder, text, maker=maker))


def bars(result: StudyResult) -> TimeBars:
    (figure,) = conclusion_figures(result)
    assert isinstance(figure.source, TimeBars)
    return figure.source


def segments(drawn: TimeBars, kind: str = "segment", block: int = 0) -> list[dict[str, Any]]:
    return [row for row in drawn.rows() if row["kind"] == kind and row["block"] == block]


def test_the_segments_of_a_bar_follow_each_other_and_fill_it(tmp_path: Path) -> None:
    drawn = bars(timed(account(EXACT), folder=tmp_path))
    own = [row for row in segments(drawn) if row["row"] == "1\u00a0server"]
    assert [row["series"] for row in own] == ["wire", "wire", "window", "queue"]
    assert [row["left"] for row in own[1:]] == [row["right"] for row in own[:-1]]
    assert (own[0]["left"], own[-1]["right"]) == (0, 100)
    assert own[2]["right"] - own[2]["left"] == pytest.approx(59.7)


def test_segments_are_labelled_from_a_share_on(tmp_path: Path) -> None:
    drawn = bars(timed(account(EXACT), folder=tmp_path))
    for row in segments(drawn):
        is_large = row["right"] - row["left"] >= LABELLED_PCT
        assert bool(row["label"]) == is_large
    assert {row["label"] for row in segments(drawn) if row["series"] == "window"} == {
        "receive window"
    }


def test_a_bound_is_hatched_between_its_ends(tmp_path: Path) -> None:
    """The lower bounds are 6 of 10 ms. The upper ones leave the last 4 ms to the wire and the
    queue, three to one."""
    bounds: Mapping[Part, float | Bounds] = {WIRE: (4.0, 7.0), QUEUE: (2.0, 3.0)}
    drawn = bars(timed(account(bounds, whole_ms=10.0), folder=tmp_path, servers="[1]"))
    found = [(row["series"], row["right"] - row["left"]) for row in segments(drawn)]
    assert found == [
        ("wire", pytest.approx(40)),
        ("wire", pytest.approx(30)),
        ("queue", pytest.approx(20)),
        ("queue", pytest.approx(10)),
    ]
    lines = [row["left"] for row in segments(drawn, "line")]
    assert lines
    assert all(40 < line < 70 or 90 < line < 100 for line in lines)


def test_exact_parts_are_not_hatched(tmp_path: Path) -> None:
    assert not segments(bars(timed(account(EXACT), folder=tmp_path)), "line")


def test_the_middle_and_the_slowest_units_of_the_highest_load_are_drawn(tmp_path: Path) -> None:
    accounts = [account(EXACT, group=group) for group in ("all", "middle", "slowest")]
    blocks = bars(timed(*accounts, folder=tmp_path)).blocks
    assert [bar.name for bar in blocks[-1].bars] == ["middle tenth", "slowest 2 %"]
    assert blocks[-1].heading == "2\u00a0servers"


def test_of_many_cells_both_ends_and_some_between_are_drawn(tmp_path: Path) -> None:
    def maker(run: Run) -> RunRecord:
        return with_accounts(record(run), [account({WIRE: float(server_count(run))})])

    text = "factors: {servers: [2, 4], mtu: MTUS}\n".replace(
        "MTUS", str([f"{size} B" for size in range(1500, 9100, 400)])
    )
    text = study_text(text, servers='"${servers}"').replace("mtu: 9000 B", 'mtu: "${mtu}"')
    result = analyse(from_text(tmp_path, text, maker=maker))
    drawn = next(one.drawn for one in result.by_default if isinstance(one.drawn, TimesShown))
    assert sum(len(one.cells) for one in drawn.courses) == 38
    (figure,) = conclusion_figures(result)
    named = [len(block.bars) for block in bars(result).blocks]
    assert sum(named) <= CELLS_MAX
    assert figure.caption is not None
    assert [number.value for number in figure.caption.numbers()] == [sum(named), 38]


def test_both_sizes_are_drawn(tmp_path: Path) -> None:
    result = timed(account(EXACT), account(EXACT, group="middle"), folder=tmp_path)
    (figure,) = conclusion_figures(result)
    assert "retransmission" not in figure.wide
    assert figure.wide.count("10.0") >= 2
    assert figure.narrow is not None
    assert "1\u00a0server: 10.0" in figure.narrow
    assert bars(result).spec(WIDE)["vconcat"][0]["width"] > NARROW.width


def test_the_parts_of_the_table_add_up_to_the_whole(tmp_path: Path) -> None:
    result = timed(account(EXACT), account(EXACT, view="cause"), folder=tmp_path, servers="[1]")
    table = next(
        one for one in conclusion_tables(result) if "Part" in [g.heading for g in one.groups]
    )
    heads = [group.heading for group in table.groups]
    assert heads == ["Part", "Kind", "All", "Share", "As cause"]
    for column in (2, 3, 4):
        column_of = [row[column] for row in table.rows]
        whole, *parts = [one.value for one in column_of if isinstance(one, Number)]
        assert sum(parts) == pytest.approx(whole)
    assert str(table.rows[-1][0]) == "smaller parts"


def test_a_part_that_exact_units_do_not_have_is_zero(tmp_path: Path) -> None:
    accounts = account(EXACT), account({WIRE: 9.0}, group="slowest", units=2)
    result = timed(*accounts, folder=tmp_path, servers="[1]")
    table = next(
        one for one in conclusion_tables(result) if "Part" in [g.heading for g in one.groups]
    )
    texts = {str(row[0]): str(row[4]) for row in table.rows}
    assert texts["queue at switch to client"] == "0"


def test_bounds_stand_in_the_table_with_both_ends(tmp_path: Path) -> None:
    bounds: Mapping[Part, float | Bounds] = {WIRE: (4.0, 7.0), QUEUE: (2.0, 2.0)}
    result = timed(account(bounds, whole_ms=10.0), folder=tmp_path, servers="[1]")
    table = next(
        one for one in conclusion_tables(result) if "Part" in [g.heading for g in one.groups]
    )
    texts = {str(row[0]): str(row[2]) for row in table.rows}
    assert texts["serialization from switch to client"] == "4.0 to 7.0"
    assert texts["queue at switch to client"] == "2.0"


def test_where_nothing_has_a_lower_bound_it_is_said_that_nothing_is_known(tmp_path: Path) -> None:
    bounds: Mapping[Part, float | Bounds] = {
        WIRE: (0.0, 7.0),
        QUEUE: (0.0, 10.0),
        ("own", "not-known", "", ""): (0.0, 10.0),
    }
    result = timed(account(bounds, whole_ms=10.0), folder=tmp_path)
    said = [str(one).replace("\u00a0", " ") for one in brief_sentences(result)]
    assert "At 2 servers, it is not known where the time of an iteration goes." in said
