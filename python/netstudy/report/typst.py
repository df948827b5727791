"""The report as a PDF, typeset by typst, with page numbers, and with the heads of long tables
repeated on each page.

The typst source is made by its own template, from the same document as the other formats. All text
is in string literals, so that no part of it is taken for markup. Fonts are part of typst, and
figures are the report's SVG files, so pages look the same on every machine and need no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from netstudy.packages import package
from netstudy.report.figures import Figure
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.report.tables import Group, Table, Value, Verdict

FONTS: Final = ("Libertinus Serif", "DejaVu Sans Mono")
"""Fonts of text and of code. The second font is also used for characters that the first one lacks,
such as ✓."""
_BREAK: Final = "\u200b"
"""An invisible character at which a word may be broken."""
_UNBROKEN: Final = 14
"""Words in a table that are longer than this may be broken anywhere."""


def check() -> None:
    """Raises MissingPackageError if typst is not installed."""
    package("typst")


def pdf(source: str) -> bytes:
    """The PDF of a typst source. Raises MissingPackageError if typst is not installed."""
    typst = package("typst")
    made: bytes = typst.compile(source.encode(), ignore_system_fonts=True, timestamp=0)
    return made


def literal(text: str) -> str:
    """Text as a string literal of typst."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def content(value: Value | str) -> str:
    """Text as content of typst; names that are code are set as code."""
    if isinstance(value, Sentence):
        return "".join(content(part) for part in value.parts)
    if isinstance(value, Name) and value.code:
        return f"#raw({literal(breakable(value.text))})"
    text = "" if value is None else str(value)
    return f"#{literal(text)}" if text else ""


def breakable(text: str) -> str:
    """Text with places to break long words: after signs, and anywhere in a very long word."""
    return " ".join(_broken(word) for word in text.split(" "))


def _broken(word: str) -> str:
    if len(word) <= _UNBROKEN:
        return word
    parts = re.split(r"(?<=[/_.,=:@-])", word)
    pieces = (part[at : at + _UNBROKEN] for part in parts for at in range(0, len(part), _UNBROKEN))
    return _BREAK.join(pieces)


@dataclass(frozen=True)
class Sheet:
    """How a table is laid out on paper."""

    size_pt: float
    flipped: bool
    """Whether the table is on a page of its own in landscape."""


_UPRIGHT_PT: Final = 482.0
_FLIPPED_PT: Final = 729.0
"""Width of the text on A4, upright and in landscape."""
_USUAL_PT: Final = 8.0
_SHEETS: Final = (
    *((_USUAL_PT, False), (7.0, False), (6.5, False)),
    *((_USUAL_PT, True), (7.0, True), (6.0, True)),
)
"""Font sizes in the order in which they are tried, each with whether the page is in landscape."""
_SMALLEST_PT: Final = 5.0
_SHORT_ROWS: Final = 12
"""A wide table with at most this number of rows is divided into parts instead of being put on a
landscape page."""
_CONTINUED: Final = say("continued")
_CHARACTER: Final = 0.48
"""Mean width of a character ÷ font size."""
_GAP_PT: Final = 7.0
_SHORT_HEAD: Final = 8
"""Headings with at most this number of characters stay on one line."""
_WORDS_WIDTH: Final = 24
"""Cells with words are wrapped at this number of characters."""


def sheet_of(table: Table) -> Sheet:
    """The largest font size with which the table fits in portrait or, if there is none, in
    landscape."""
    for size, flipped in _SHEETS:
        if _needed_pt(table, size) <= (_FLIPPED_PT if flipped else _UPRIGHT_PT):
            return Sheet(size, flipped)
    return Sheet(_SMALLEST_PT, flipped=True)


def parts_of(table: Table) -> tuple[Table, ...]:
    """Splits a short table that fits only in landscape into parts in portrait, one below the other,
    each with the row headers. Otherwise a landscape page and the page before it would be mostly
    empty. All other tables are returned unchanged."""
    if not sheet_of(table).flipped or len(table.rows) > _SHORT_ROWS:
        return (table,)
    parts: list[list[int]] = []
    for group in range(table.stub, len(table.groups)):
        longer = [*(parts[-1] if parts else ()), group]
        fits = bool(parts) and _needed_pt(_with_groups(table, longer), _USUAL_PT) <= _UPRIGHT_PT
        parts = [*parts[:-1], longer] if fits else [*parts, [group]]
    found = [_with_groups(table, groups) for groups in parts]
    if any(sheet_of(part).flipped for part in found):
        return (table,)
    return tuple(
        replace(
            part,
            caption=_CONTINUED if part is not found[0] else table.caption,
            notes=table.notes if part is found[-1] else (),
        )
        for part in found
    )


def _with_groups(table: Table, groups: Sequence[int]) -> Table:
    """The table with its row headers and only some of its groups of columns."""
    ends = list(accumulate((group.width for group in table.groups), initial=0))
    kept = (*range(table.stub), *groups)
    columns = [column for group in kept for column in range(ends[group], ends[group + 1])]
    rows = tuple(tuple(row[column] for column in columns) if row else row for row in table.rows)
    return replace(table, groups=tuple(table.groups[group] for group in kept), rows=rows)


def _needed_pt(table: Table, size_pt: float) -> float:
    """The width of a table with this font size."""
    widths = (_width(table, column) for column in range(_columns(table)))
    return sum(width * _CHARACTER * size_pt + _GAP_PT for width in widths)


def _columns(table: Table) -> int:
    return sum(group.width for group in table.groups)


def _width(table: Table, column: int) -> int:
    """Number of characters of the widest line in a column. Numbers stay on one line, words may be
    wrapped."""
    heads = [label for group in table.groups for label in (group.columns or (group.heading,))]
    head = heads[column]
    found = [len(head) if len(head) <= _SHORT_HEAD else _longest_word(head)]
    for row in table.rows:
        value = row[column]
        text = "" if value is None else str(value)
        longest = len(text) if isinstance(value, Number) else min(len(text), _WORDS_WIDTH)
        found.append(longest)
    return max(found)


_WIDE_PX: Final = 720
"""Figures at least this wide take the largest allowed share of the page."""


def share_pct(figure: Figure, most_pct: int) -> str:
    """The width of a figure as a share of the text's width; small figures are not enlarged."""
    found = re.search(r'<svg[^>]*? width="([\d.]+)', figure.wide)
    width_px = float(found[1]) if found else _WIDE_PX
    return f"{most_pct * min(1.0, width_px / _WIDE_PX):.0f}%"


def _longest_word(text: str) -> int:
    return max((min(len(word), _UNBROKEN) for word in text.split()), default=1)


def table_source(table: Table) -> str:
    """The typst source of a table; if it continues on another page, its head is repeated there."""
    alignments = ", ".join("right" if one else "left" for one in _numeric(table))
    widths = ", ".join(_column_widths(table))
    cells = "\n".join(f"  {', '.join(_cell(value) for value in row)}," for row in table.rows if row)
    return (
        f"table(\n  columns: ({widths},),\n  align: ({alignments},),\n"
        f"  table.header({', '.join(_head(table))}),\n{cells}\n)"
    )


def _column_widths(table: Table) -> Iterator[str]:
    """The width of each column. Columns under a common heading have fixed widths, so that a long
    heading is wrapped instead of widening one of them; all others are automatic."""
    at = 0
    for group in table.groups:
        chars = [_width(table, at + index) for index in range(group.width)]
        lacking = max(0, _longest_word(group.heading) - sum(chars))
        for index in range(group.width):
            wide = chars[index] + lacking / group.width
            yield f"{wide * _CHARACTER:.2f}em + {_GAP_PT + 2:.0f}pt" if group.columns else "auto"
        at += group.width


def _numeric(table: Table) -> list[bool]:
    columns = list(zip(*table.rows, strict=True)) or [()] * _columns(table)
    return [any(isinstance(value, Number) for value in column) for column in columns]


def _head(table: Table) -> Iterator[str]:
    """The cells of the head, in one row or in two."""
    numeric, at = _numeric(table), 0
    for group in table.groups:
        alignment = "center" if group.columns else "right" if numeric[at] else "left"
        span = f"colspan: {group.width}" if group.columns else f"rowspan: {1 + table.two_levels}"
        yield f"table.cell({span}, align: {alignment} + bottom)[{_heading(group)}]"
        at += group.width
    for group in table.groups:
        for label in group.columns:
            yield f"table.cell(align: right + bottom)[{content(breakable(label))}]"


def _heading(group: Group) -> str:
    unit = f" ({group.unit})" if group.unit else ""
    note = f" #note[{content(group.note)}]" if group.note else ""
    return f"#strong[{content(breakable(group.heading))}]{content(unit)}{note}"


def _cell(value: Value) -> str:
    if isinstance(value, Verdict):
        return f"verdict({literal(value.outcome)}, {literal(str(value))})"
    if isinstance(value, Name) and not value.code:
        return f"[{content(breakable(value.text))}]"
    return f"[{content(value)}]"
