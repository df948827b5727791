"""The end of a run on the terminal: the answer first, then tables with margins and verdicts."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.answer import answer
from netstudy.report.plaintext import text_table
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table, Value
from netstudy.report.terminal import WIDTH, print_summary, print_table, sparkline
from tests.report.results import results


def printed(result: StudyResult, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_summary(result, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_heading_names_study_testbed_and_size_and_the_answer_follows(
    found: StudyResult,
) -> None:
    heading, *rest = printed(found).splitlines()
    assert heading.startswith(f"{found.study} · simulated · 8 cells · ")
    first, *_ = answer(found).sentences
    assert rest[0] in str(first).replace("\u00a0", " ")
    title = "Goodput, drops, retransmissions and completion time by number of servers"
    assert f"{title} (configuration 4 MB)" in rest
    assert not any(line.startswith("Caveats") for line in rest)


def test_a_table_has_margins_winners_and_trends(found: StudyResult) -> None:
    lines = [line.split() for line in printed(found).splitlines()]
    trend = next(line for line in lines if line[:1] == ["trend"])
    nine = next(line for line in lines if line[:1] == ["9"] and "±" in line)
    assert nine[1] == "nexus-5010"
    assert nine[3] == "±"
    assert all(set(bars) <= set("▁▂▃▄▅▆▇█") for bars in trend[1:])
    note = "±: half of the 95 % confidence interval; of an uneven one, its longer side."
    assert note in printed(found)


def test_verdicts_are_coloured_on_a_terminal_and_nowhere_else(
    found: StudyResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)

    def shown(*, is_terminal: bool) -> str:
        file = io.StringIO()
        console = Console(
            file=file,
            width=100,
            force_terminal=is_terminal,
            color_system="standard" if is_terminal else "auto",
            highlight=False,
        )
        print_summary(found, console)
        return file.getvalue()

    assert "\x1b[32mnexus-5010" in shown(is_terminal=True)
    assert "\x1b" not in shown(is_terminal=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in shown(is_terminal=True)


def test_an_output_of_ascii_alone_gets_ascii_signs(found: StudyResult) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    print_summary(found, Console(file=file, width=100, color_system=None))
    file.flush()
    text = raw.getvalue().decode("ascii")
    assert "+/-" in text
    assert "trend" not in text


def test_bars_share_a_scale_and_many_values_share_bars() -> None:
    assert sparkline([0, 4, 8], 8) == "▁▅█"
    assert sparkline([0, 4], 4) == "▁█"
    assert sparkline([0] * 50 + [8] * 50, 8) == "▁▁▁▁▁█████"


def test_it_prints_how_well_the_published_values_are_met(found: StudyResult) -> None:
    text = printed(found)
    assert "Agreement with the published values (configuration 4 MB)\n" in text
    assert "Ratios at the end of the range (configuration 4 MB)\n" in text
    lines = text[text.index("Agreement with") :].splitlines()
    rows = [line.split() for line in lines if line.startswith("Completion time  ")]
    assert [row[2] for row in rows] == ["arista-7124s", "nexus-5010", "arista-7124s"]
    assert [len(row) for row in rows] == [11, 11, 12]  # every column is there, side by side


@pytest.mark.parametrize("width", [40, 60, 80, 250])
def test_it_fits_the_terminal_and_at_most_a_hundred_columns(found: StudyResult, width: int) -> None:
    shown = printed(found, width).splitlines()
    assert max(len(line) for line in shown) <= min(width, WIDTH)


@pytest.mark.parametrize("width", [40, 60, 80, 250])
def test_no_word_is_lost_at_any_width(found: StudyResult, width: int) -> None:
    wide = set(printed(found, 250).replace("─", "").split())
    assert wide <= set(printed(found, width).replace("─", "").split())


def test_a_path_is_never_cut() -> None:
    path = "/results/" + "a-long-name/" * 8 + "report.html"
    rows: tuple[tuple[Value, ...], ...] = (
        (Name("a"), Name(path)),
        (Name("b"), Name("words that are wrapped " * 4)),
    )
    table = Table("paths", say("Paths"), (Group("folder"), Group("path")), rows)
    assert path in text_table(table, 40)
    console = Console(file=io.StringIO(), width=40, color_system=None)
    print_table(console, table)
    assert isinstance(console.file, io.StringIO)
    assert path in console.file.getvalue()


def test_a_group_that_is_too_wide_is_split_between_its_columns() -> None:
    levels = tuple(f"level-{number}" for number in range(6))
    row: tuple[Value, ...] = (Name("a"), *(Number(float(i), f"{i:,.3f}", "x") for i in range(6)))
    groups = (Group("factor"), Group("Goodput", "Mbit/s", columns=levels))
    text = text_table(Table("wide", say("Wide"), groups, (row,)), 40)
    assert max(map(len, text.splitlines())) <= 40
    assert text.count("Goodput") == text.count("factor") > 1
    assert all(text.count(level) == 1 for level in levels)


def test_a_heading_is_parted_at_blanks_and_a_number_stays_with_its_unit_where_there_is_room() -> (
    None
):
    levels = ("double\u00a0buffer", "min RTO 10\u00a0ms", "a-very-long-level")
    row: tuple[Value, ...] = (Name("4"), *(Number(1, "1.0", "x") for _ in levels))
    groups = (Group("servers"), Group("Goodput", columns=levels))
    text = text_table(Table("heads", say("Heads"), groups, (row,)), 80)
    words = [line.split() for line in text.splitlines()]
    assert words[1:4] == [
        ["a-very-"],
        ["double", "min", "RTO", "long-"],
        ["servers", "buffer", "10", "ms", "level"],
    ]


def test_a_caveat_that_forbids_stands_above_the_tables(tmp_path: Path) -> None:
    text = printed(analyse(results(tmp_path, quick=True)))
    assert text.index("\n! ") < text.index("Goodput, drops, retransmissions and completion time")
