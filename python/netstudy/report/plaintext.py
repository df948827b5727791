"""Formats a table with its two-level header as lines of plain text, for any width from 40 columns
on.

A table that is too wide is split into several below each other, each with the row headers. A single
group of columns that is too wide is split as well, and long cells are wrapped. Nothing is cut: a
single word that is longer than the width, such as a path, is printed in full.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from netstudy.report.numbers import MARGIN, NO_BREAK
from netstudy.report.refs import Name, Number
from netstudy.report.tables import Group, Table, Trend, Value

SUB_WIDTH = 9
"""Sub-headings of narrow columns are wrapped at this width, so that long level names do not widen
the columns."""
GAP = "  "

Segment = tuple[str, Value]
"""Padded text, and the value that it shows; the value is None for headers and gaps."""
Spelling = Callable[[str], str]
"""A function that replaces characters that the output cannot print."""


@dataclass(frozen=True)
class _Column:
    """One column: its sub-heading, its values, and the lines of text of each value."""

    label: str
    values: tuple[Value, ...]
    lines: tuple[tuple[str, ...], ...]

    @property
    def sub_lines(self) -> list[str]:
        """The sub-heading, wrapped at the width of the values. Words, and numbers with their units,
        are broken only if necessary."""
        widest = max((len(line) for cell in self.lines for line in cell), default=0)
        width = max(SUB_WIDTH, widest)
        lines = _wrapped(self.label, width)
        if max(map(len, lines), default=0) <= width:
            return lines
        return textwrap.wrap(self.label.replace(NO_BREAK, " "), width)

    @property
    def width(self) -> int:
        """The length of the longest line of the sub-heading and the values."""
        return max(
            (len(line) for cell in (self.sub_lines, *self.lines) for line in cell), default=1
        )

    def cell(self, row: int, line: int, width: int) -> str:
        """One line of a cell, padded so that numbers are at the right and words at the left."""
        lines, value = self.lines[row], self.values[row]
        text = lines[line] if line < len(lines) else ""
        if isinstance(value, Number | Trend | None) or text.startswith("–"):
            return text.rjust(width)
        return text.ljust(width)


@dataclass(frozen=True)
class _Block:
    """A group of columns, or some columns of a group."""

    heading: str
    """The heading of the group, with the unit."""
    is_single: bool
    """Whether there are no sub-headings."""
    columns: tuple[_Column, ...]

    @property
    def widths(self) -> list[int]:
        """The width of each column. The first is widened if the longest word of the heading would
        not fit."""
        widths = [column.width for column in self.columns]
        longest = max((len(word) for word in self.heading.split()), default=0)
        lacking = longest - len(GAP.join(" " * width for width in widths))
        return [widths[0] + max(0, lacking), *widths[1:]]

    @property
    def width(self) -> int:
        """The width of all columns and the gaps between them."""
        return sum(self.widths) + len(GAP) * (len(self.widths) - 1)

    def head(self, lines: int, sub_lines: int) -> list[str]:
        """The lines of the heading and, below, of the sub-headings; shorter ones have blank lines
        above."""
        wrapped = _wrapped(self.heading, self.width)
        if self.is_single:
            return [line.rjust(self.width) for line in _at_bottom(wrapped, lines + sub_lines)]
        subs = [_at_bottom(column.sub_lines, sub_lines) for column in self.columns]
        below = [
            GAP.join(sub[i].rjust(w) for sub, w in zip(subs, self.widths, strict=True))
            for i in range(sub_lines)
        ]
        return [line.center(self.width) for line in _at_bottom(wrapped, lines)] + below

    def row(self, row: int, line: int) -> Iterator[Segment]:
        """One line of a row."""
        for place, (column, width) in enumerate(zip(self.columns, self.widths, strict=True)):
            if place:
                yield GAP, None
            yield column.cell(row, line, width), column.values[row]


def text_table(table: Table, width: int) -> str:
    """The table as text no wider than `width`; if it must be split, each part repeats the row
    headers."""
    return "\n".join(
        "".join(text for text, _ in line).rstrip() for line in table_lines(table, width)
    )


def table_lines(table: Table, width: int, spelling: Spelling = str) -> Iterator[list[Segment]]:
    """The lines of the table. Each line is a list of segments with their values, so that an output
    can colour them."""
    stub = _stub(table, width, spelling)
    rest: list[_Block] = []
    room = width - _width(stub) - (2 * len(GAP) if stub else 0)
    for group, columns in _groups(table, spelling)[table.stub :]:
        rest += _fitting(group, columns, room, spelling)
    parts: list[list[_Block]] = [[*stub]]
    for block in rest:
        if len(parts[-1]) > len(stub) and _width([*parts[-1], block]) > width:
            parts.append([*stub])
        parts[-1].append(block)
    for place, part in enumerate(parts):
        if place:
            yield []
        yield from _part(part, _shown_rows(table, part), spelling)


def _groups(table: Table, spelling: Spelling) -> list[tuple[Group, list[_Column]]]:
    found, start = [], 0
    for group in table.groups:
        labels = group.columns or ("",)
        columns = []
        for place, label in enumerate(labels, start):
            values = tuple(row[place] for row in table.rows)
            texts = _aligned([spelling(_text(value)) for value in values], spelling(MARGIN))
            lines = tuple((text,) for text in texts)
            columns.append(_Column(spelling(label), values, lines))
        found.append((group, columns))
        start += group.width
    return found


def _stub(table: Table, width: int, spelling: Spelling) -> list[_Block]:
    """The blocks with the row headers. If possible, they take at most half of the width: they are
    wrapped or, if that is not enough, joined into one column."""
    groups = _groups(table, spelling)[: table.stub]
    stub = [_block(group, columns, spelling) for group, columns in groups]
    if _width(stub) <= width // 2 or len(groups) == len(table.groups):
        return stub
    each = max(SUB_WIDTH, width // 2 // len(groups) - 2 * len(GAP))
    narrow = [_block(group, [_narrow(c, each) for c in cs], spelling) for group, cs in groups]
    if _width(narrow) <= width // 2 or len(groups) == 1:
        return narrow
    joined = tuple(Name(", ".join(map(_text, row[: table.stub]))) for row in table.rows)
    column = _Column("", joined, tuple((spelling(str(name)),) for name in joined))
    heading = Group(", ".join(group.heading for group, _ in groups))
    return [_block(heading, [_narrow(column, width // 2)], spelling)]


def _fitting(
    group: Group, columns: Sequence[_Column], room: int, spelling: Spelling
) -> Iterator[_Block]:
    """Splits a group into blocks that fit into the width; its columns are wrapped first."""
    taken: list[_Column] = []
    for column in (_narrow(column, room) for column in columns):
        if taken and _block(group, [*taken, column], spelling).width > room:
            yield _block(group, taken, spelling)
            taken = []
        taken.append(column)
    yield _block(group, taken, spelling)


def _block(group: Group, columns: Sequence[_Column], spelling: Spelling) -> _Block:
    unit = f" ({group.unit})" if group.unit else ""
    return _Block(spelling(f"{group.heading}{unit}"), not group.columns, tuple(columns))


def _narrow(column: _Column, width: int) -> _Column:
    """The column with its cells wrapped to this width; longer words are not broken."""
    if column.width <= width:
        return column
    lines = tuple(
        tuple(part for line in cell for part in _wrapped(line, width) or [""])
        for cell in column.lines
    )
    return _Column(column.label, column.values, lines)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)


def _text(value: Value) -> str:
    return "" if value is None else str(value).replace(NO_BREAK, " ")


def _aligned(texts: Sequence[str], margin: str) -> list[str]:
    """The texts of a column, padded so that values and margins of error are aligned."""
    parts = [text.partition(margin) for text in texts]
    after = max((len(end) for _, sign, end in parts if sign), default=0)
    if not after:
        return list(texts)
    blank = " " * (len(margin) + after)
    return [
        f"{value}{sign}{end.rjust(after)}" if sign else f"{value}{blank}" if value else ""
        for value, sign, end in parts
    ]


def _at_bottom(lines: Sequence[str], height: int) -> list[str]:
    return [""] * (height - len(lines)) + list(lines)


def _width(blocks: Sequence[_Block]) -> int:
    return sum(block.width for block in blocks) + 2 * len(GAP) * (len(blocks) - 1)


def _shown_rows(table: Table, part: Sequence[_Block]) -> list[int]:
    """The indices of the rows to show: all, but the row of trends only if one of these columns has
    a trend."""
    columns = [column for block in part for column in block.columns]
    return [
        number
        for number, row in enumerate(table.rows)
        if not _has_trend(row) or _has_trend([column.values[number] for column in columns])
    ]


def _has_trend(values: Sequence[Value]) -> bool:
    return any(isinstance(value, Trend) for value in values)


def _part(
    blocks: Sequence[_Block], rows: Sequence[int], spelling: Spelling
) -> Iterator[list[Segment]]:
    columns = [column for block in blocks for column in block.columns]
    subs = max(len(column.sub_lines) for column in columns)
    top = max(
        len(_wrapped(block.heading, block.width)) - (subs if block.is_single else 0)
        for block in blocks
    )
    heads = [block.head(max(top, 0), subs) for block in blocks]
    for i in range(len(heads[0])):
        yield [((2 * GAP).join(head[i] for head in heads), None)]
    yield [(spelling("─") * _width(blocks), None)]
    for row in rows:
        for line in range(max(len(column.lines[row]) for column in columns)):
            yield _row(blocks, row, line)


def _row(blocks: Sequence[_Block], row: int, line: int) -> list[Segment]:
    found: list[Segment] = []
    for place, block in enumerate(blocks):
        found += [(2 * GAP, None)] if place else []
        found += block.row(row, line)
    return found
