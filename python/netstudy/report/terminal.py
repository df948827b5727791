"""The summary of a run on the terminal: heading, answer, requirements, tables, caveats.

The deciding results come first. Colour only repeats the meaning of a word or sign, so nothing is
lost without colours. An output that cannot print the signs gets ASCII characters.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from netstudy.characters import visible
from netstudy.report.answer import answer
from netstudy.report.asked_tables import asked_tables
from netstudy.report.caveats import caveat_sentence
from netstudy.report.expectation_table import expectation_text
from netstudy.report.numbers import NO_BREAK, full_level, headed_level, level_text
from netstudy.report.plaintext import Spelling, table_lines
from netstudy.report.prose.words import in_panel
from netstudy.report.reference_tables import agreement_table, ratios_table
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.report.requirement_table import requirement_text
from netstudy.report.tables import Group, Table, Trend, Value, Verdict, results_table
from netstudy.units import format_count

if TYPE_CHECKING:
    from rich.console import Console

    from netstudy.analysis.case_result import CaseResult, PanelResult
    from netstudy.analysis.expectations import CheckedExpectation
    from netstudy.analysis.layout import Panel
    from netstudy.analysis.metrics import Metric
    from netstudy.analysis.reference import PanelReference
    from netstudy.analysis.requirements import CheckedRequirement
    from netstudy.analysis.study_result import StudyResult
    from netstudy.analysis.verdict import Comparison

WIDTH = 100
"""Maximum width, so that output fits a usual terminal and a mail."""
NARROWEST = 40
"""Minimum width of the layout."""
BARS = "▁▂▃▄▅▆▇█"
TREND_MIN_ROWS = 3
TREND_WIDTH = 10
"""A trend has at most this number of bars; if there are more rows, several share a bar."""

_SPACE_OF_UNIT = re.compile(r"(?<=\d) (?=%)")
_ASCII = str.maketrans(
    {
        "─": "-", "±": "+/-", "–": "-", "−": "-", "×": "x", "÷": "/", "µ": "u", "’": "'", "“": '"',
        "”": '"', "\u00a0": " ", "·": "-", "≥": ">=", "≤": "<=", "…": "...", "✓": "ok",
        "✗": "FAILED", **{digit: f"^{i}" for i, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    }
)  # fmt: skip
_VERDICT_STYLES = {"different": "green", "same": "dim", "undecided": "yellow", "missing": "dim"}
_OUTCOMES = {
    "met": ("✓", "green"),
    "missed": ("✗", "bold red"),
    "not measured": ("✗", "bold red"),
    "not in this run": ("–", "dim"),
}
_EXPECTED = {
    "confirmed": ("✓", "green"),
    "refuted": ("✗", "bold red"),
    "undecided": ("?", "yellow"),
    "not in this run": ("–", "dim"),
}


def print_summary(result: StudyResult, console: Console) -> None:
    """Prints the answer with its reasons, the requirements, a table for each panel, and the
    caveats."""
    _print(console, heading(result), style="bold underline")
    found = answer(result)
    for sentence in found.sentences:
        _wrapped(console, "", str(sentence), style="bold")
    for sentence in found.further:
        _wrapped(console, "", str(sentence))
    for sentence in found.forbidding:
        _wrapped(console, "! ", str(sentence), style="yellow")
    if found.next is not None:
        _wrapped(console, "Next: ", str(found.next))
    _print_requirements(console, result.requirements)
    _print_expectations(console, result.expectations)
    _print(console, "")
    for case in result.cases:
        _print_case(console, result, case)
    rest = [one for one in result.caveats if one not in found.caveats]
    if rest:
        _print(console, "Caveats:", style="bold yellow")
    for caveat in rest:
        _wrapped(console, "! ", str(caveat_sentence(caveat)))


def heading(result: StudyResult) -> str:
    """The study, its testbed and scale, the number of cells and the number of runs."""
    testbed, cells = result.testbed, len(result.cells.rows)
    runs = sum(len(cell.planned) for cell in result.cells.rows)
    scale = [f"link rates × {testbed.scaled_by}"] if testbed.scaled_by else []
    size = [format_count(cells, "cell"), format_count(runs, "run")]
    return " · ".join([result.study, testbed.badge, *scale, *size])


def _print_requirements(console: Console, found: Sequence[CheckedRequirement]) -> None:
    """One line for each requirement: a check mark or a cross, the condition, and the worst cell."""
    for one in found:
        sign, style = _OUTCOMES[one.outcome]
        _wrapped(console, f"{sign} ", requirement_text(one), style=style)


def _print_expectations(console: Console, found: Sequence[CheckedExpectation]) -> None:
    """One line for each expectation: mark, outcome, claim, and where it does not hold."""
    for one in found:
        sign, style = _EXPECTED[one.outcome]
        text = f"expected, {one.outcome}: {expectation_text(one)}"
        _wrapped(console, f"{sign} ", text, style=style)


def _print_case(console: Console, result: StudyResult, case: CaseResult) -> None:
    metric = result.deciding
    own = asked_tables(result, case, "results")
    only = case.panels[0] if len(case.panels) == 1 else None
    for table in own:
        _print_results(console, _with_verdicts(table, only, metric))
    for found in case.panels:
        if not own:
            table = _panel_table(result, case, found)
            _print_results(console, _with_verdicts(table, found, metric))
        if found.reference is not None:
            _print_agreement(console, found.panel, found.reference)


def _print_results(console: Console, table: Table) -> None:
    """Prints a table of results with a row of trends."""
    print_table(console, _with_trends(console, table))


def _panel_table(result: StudyResult, case: CaseResult, found: PanelResult) -> Table:
    title = f"Test case {case.name}" if len(result.cases) > 1 else "Results"
    caption = say("{title}{held}", title=Name(title), held=in_panel(found.panel))
    return results_table(found.panel, result.headline, "results", caption)


def _with_verdicts(table: Table, found: PanelResult | None, metric: Metric) -> Table:
    """The table with a column of winners after the row headers; unchanged if the rows are not the
    panel's levels along x."""
    if found is None or not _has_rows_of(table, found.panel):
        return table
    tables = [one for one in found.verdicts if one.metric == metric]
    if not any(row.ratio is not None for one in tables for row in one.rows):
        return table
    subs = tuple(
        f"{headed_level(one.factor, one.level)} / {headed_level(one.factor, one.base)}"
        for one in tables
    )
    heading = "Difference in" if metric.direction == "neutral" else "Better in"
    group = Group(f"{heading} {metric.label}", columns=subs if len(tables) > 1 else ())
    columns = [{row.x: _winner(row, one.factor) for row in one.rows} for one in tables]
    rows = tuple(
        (*row[: table.stub], *(by_x.get(x) for by_x in columns), *row[table.stub :])
        for row, x in zip(table.rows, found.panel.x_levels, strict=True)
    )
    groups = (*table.groups[: table.stub], group, *table.groups[table.stub :])
    return replace(table, groups=groups, rows=rows)


def _has_rows_of(table: Table, panel: Panel) -> bool:
    """Whether the rows of the table are the panel's levels along x, in order."""
    if len(table.rows) != len(panel.x_levels) or not table.stub:
        return len(table.rows) == 1 and panel.x is None
    own = [str(row[table.stub - 1]) for row in table.rows]
    return own == [level_text(x) for x in panel.x_levels]


def _winner(row: Comparison, factor: str) -> Value:
    if row.outcome == "missing":
        return None
    text = row.outcome if row.winner is None else full_level(factor, row.winner)
    return Verdict(text, outcome=row.outcome)


def _with_trends(console: Console, table: Table) -> Table:
    """The table with a last row that has a trend for each column. Unchanged if the row headers are
    not increasing numbers, or if the output cannot print bars."""
    along = _along(table)
    if along is None or not _can_write(console, BARS):
        return table
    row: list[Value] = [None] * len(table.groups[: table.stub])
    row[-1] = Name("trend")
    start = table.stub
    for group in table.groups[table.stub :]:
        columns = [[one[i] for one in table.rows] for i in range(start, start + group.width)]
        row += _trends(columns)
        start += group.width
    if not any(isinstance(value, Trend) for value in row):
        return table
    return replace(table, rows=(*table.rows, tuple(row)))


def _along(table: Table) -> int | None:
    """The index of the row header along which trends are drawn: the last one, if its numbers
    increase and the other row headers are constant. Else None."""
    if not table.stub or len(table.rows) < TREND_MIN_ROWS:
        return None
    *others, last = (list(column) for column in list(zip(*table.rows, strict=True))[: table.stub])
    values = [one.value for one in last if isinstance(one, Number)]
    increases = len(values) == len(last) and values == sorted(set(values))
    return table.stub - 1 if increases and all(len(set(map(str, o))) == 1 for o in others) else None


def _trends(columns: Sequence[Sequence[Value]]) -> list[Value]:
    """A trend for each column of a metric, all on the same scale from 0 to the largest value."""
    numbers = [[one.value for one in column if isinstance(one, Number)] for column in columns]
    largest = max((value for column in numbers for value in column), default=0.0)
    return [
        Trend(sparkline(own, largest)) if largest > 0 and len(own) == len(column) else None
        for own, column in zip(numbers, columns, strict=True)
    ]


def sparkline(values: Sequence[float], largest: float) -> str:
    """A line of bars for values from 0 to `largest`. If there are more than `TREND_WIDTH` values,
    neighbours are averaged."""
    count = min(len(values), TREND_WIDTH)
    edges = [i * len(values) // count for i in range(count + 1)]
    parts = [values[low:high] for low, high in pairwise(edges)]
    heights = (sum(part) / len(part) / largest for part in parts)
    return "".join(BARS[min(max(int(h * len(BARS)), 0), len(BARS) - 1)] for h in heights)


def _print_agreement(console: Console, panel: Panel, reference: PanelReference) -> None:
    """Prints how well values agree with the published ones; the report compares them row by row."""
    tables = [agreement_table(panel, reference, "agreement")]
    tables += [ratios_table(panel, reference, "ratios")] if reference.ratios else []
    for table in tables:
        print_table(console, table)


def print_table(console: Console, table: Table) -> None:
    """Prints the caption, the table and its notes."""
    from rich.text import Text

    _wrapped(console, "", str(table.caption), style="bold", indent="")
    for line in table_lines(table, _width(console), _spelling(console)):
        text = Text.assemble(*((words, _style(value)) for words, value in line))
        text.rstrip()
        console.print(text, soft_wrap=True)
    for note in table.footnotes:
        _wrapped(console, "", str(note))
    _print(console, "")


def _style(value: Value) -> str:
    return _VERDICT_STYLES[value.outcome] if isinstance(value, Verdict) else ""


def print_sentences(
    console: Console, sentences: Iterable[Sentence], *, lead: str = "", style: str | None = None
) -> None:
    """Prints each sentence as a paragraph that begins with `lead`."""
    for sentence in sentences:
        _wrapped(console, lead, str(sentence), style=style)


def _width(console: Console) -> int:
    return max(NARROWEST, min(WIDTH, console.width))


def _can_write(console: Console, text: str) -> bool:
    try:
        text.encode(console.encoding)
    except UnicodeEncodeError:
        return False
    return True


def _spelling(console: Console) -> Spelling:
    """A function that makes a text printable on this output, without control sequences from
    names."""

    def spell(text: str) -> str:
        text = visible(text)
        if _can_write(console, text):
            return text
        written = text.translate(_ASCII).encode(console.encoding, "replace")
        return written.decode(console.encoding)

    return spell


def _wrapped(
    console: Console, lead: str, text: str, style: str | None = None, indent: str = "  "
) -> None:
    """Prints a paragraph within the width; all lines but the first are indented, and long words are
    not broken."""
    filled = textwrap.fill(
        f"{lead}{_SPACE_OF_UNIT.sub(NO_BREAK, text)}",
        _width(console),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    _print(console, filled.replace(NO_BREAK, " "), style=style)


def _print(console: Console, text: str, style: str | None = None) -> None:
    written = _spelling(console)(text)
    console.print(written, style=style, markup=False, highlight=False, soft_wrap=True)
