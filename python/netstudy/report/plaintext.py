"""A table as lines of plain text, with its two-level header, split into parts that fit a width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from netstudy.report.refs import Number
from netstudy.report.tables import Group, Table, Value

SUB_WIDTH = 9
"""Width for wrapping sub-headings, so that level names do not widen the columns."""
GAP = "  "


@dataclass(frozen=True)
class _Block:
    """A group with its part of every row, laid out separately."""

    group: Group
    columns: tuple[tuple[Value, ...], ...]
    """One tuple for each column, top to bottom."""

    @property
    def sub_lines(self) -> list[list[str]]:
        """The wrapped sub-heading of each column."""
        return [textwrap.wrap(label, SUB_WIDTH) for label in self.group.columns or ("",)]

    @property
    def widths(self) -> list[int]:
        """The width of each column; widened so that the longest word of the heading fits."""
        widths = [
            max(map(len, (*lines, *map(_text, column))), default=1)
            for lines, column in zip(self.sub_lines, self.columns, strict=True)
        ]
        longest = max((len(word) for word in self.heading.split()), default=0)
        lacking = longest - len(GAP.join(" " * width for width in widths))
        return [widths[0] + max(0, lacking), *widths[1:]]

    @property
    def heading(self) -> str:
        """The metric with its unit."""
        unit = f" ({self.group.unit})" if self.group.unit else ""
        return f"{self.group.heading}{unit}"

    @property
    def width(self) -> int:
        """The whole width."""
        return sum(self.widths) + len(GAP) * (len(self.widths) - 1)

    def head(self, lines: int, sub_lines: int) -> list[str]:
        """Heading above, sub-headings below, both aligned at the bottom."""
        if not self.group.columns:
            alone = _at_bottom(textwrap.wrap(self.heading, self.width), lines + sub_lines)
            return [line.rjust(self.width) for line in alone]
        top = _at_bottom(textwrap.wrap(self.heading, self.width), lines)
        subs = [_at_bottom(lines_, sub_lines) for lines_ in self.sub_lines]
        below = [
            GAP.join(sub[i].rjust(w) for sub, w in zip(subs, self.widths, strict=True))
            for i in range(sub_lines)
        ]
        return [line.center(self.width) for line in top] + below

    def row(self, index: int) -> str:
        """One row: numbers to the right, words to the left."""
        return GAP.join(
            _text(column[index]).rjust(width)
            if isinstance(column[index], Number | None) or _text(column[index]).startswith("–")
            else _text(column[index]).ljust(width)
            for column, width in zip(self.columns, self.widths, strict=True)
        )


def _text(value: Value) -> str:
    return "" if value is None else str(value).replace("\u00a0", " ")


def _at_bottom(lines: Sequence[str], height: int) -> list[str]:
    return [""] * (height - len(lines)) + list(lines)


def text_table(table: Table, width: int) -> str:
    """The table in parts no wider than `width`; each part repeats the headers of the rows."""
    blocks = _blocks(table)
    stub, rest = blocks[: table.stub], blocks[table.stub :]
    parts: list[list[_Block]] = [[*stub]]
    for block in rest:
        if len(parts[-1]) > len(stub) and _width([*parts[-1], block]) > width:
            parts.append([*stub])
        parts[-1].append(block)
    return "\n\n".join(_part(part, len(table.rows)) for part in parts)


def _blocks(table: Table) -> list[_Block]:
    blocks, start = [], 0
    for group in table.groups:
        places = range(start, start + group.width)
        columns = tuple(tuple(row[place] for row in table.rows) for place in places)
        blocks.append(_Block(group, columns))
        start += group.width
    return blocks


def _width(blocks: Sequence[_Block]) -> int:
    return sum(block.width for block in blocks) + 2 * len(GAP) * (len(blocks) - 1)


def _part(blocks: Sequence[_Block], rows: int) -> str:
    top = max(len(textwrap.wrap(block.heading, block.width)) for block in blocks)
    subs = max(len(lines) for block in blocks for lines in block.sub_lines)
    heads = [block.head(top, subs) for block in blocks]
    lines = [(2 * GAP).join(head[i] for head in heads) for i in range(top + subs)]
    body = [(2 * GAP).join(block.row(i) for block in blocks) for i in range(rows)]
    rule = "─" * _width(blocks)
    return "\n".join(line.rstrip() for line in [*lines, rule, *body])
