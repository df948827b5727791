"""Writes text and tables as Markdown, and replaces the generated part of a page, between two
markers."""

from __future__ import annotations

import re
from pathlib import Path

from netstudy.errors import StudyError
from netstudy.report.refs import Name, Number, Sentence
from netstudy.report.tables import Group, Table, Value
from netstudy.store import write_atomic

_SPECIAL = re.compile(r"([\\|*`\[\]])")


def text(value: Value | str) -> str:
    """Text with Markdown's special characters escaped; names that are code are written as code."""
    if isinstance(value, Sentence):
        return "".join(text(part) for part in value.parts)
    if isinstance(value, Name) and value.code:
        return f"`{value.text}`"
    escaped = _SPECIAL.sub(r"\\\1", "" if value is None else str(value))
    return escaped.replace("<", "&lt;").replace("\n", " ")


def pipe_table(table: Table) -> str:
    """A pipe table. A header with two levels becomes one line: "heading, sub-heading"."""
    heads = [head for group in table.groups for head in _heads(group)]
    columns = list(zip(*table.rows, strict=True)) or [()] * len(heads)
    numeric = [any(isinstance(value, Number) for value in column) for column in columns]
    rules = ["---:" if aligned else "---" for aligned in numeric]
    lines = [heads, rules, *([text(value) for value in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def captioned_table(table: Table) -> str:
    """A pipe table between its caption and its notes."""
    return "\n\n".join(
        (f"**{text(table.caption)}**", pipe_table(table), *map(text, table.footnotes))
    )


def _heads(group: Group) -> list[str]:
    title = text(f"{group.heading} ({group.unit})" if group.unit else group.heading)
    return [f"{title}, {text(column)}" for column in group.columns] or [title]


def replace_between(page: Path, begin: str, end: str, body: str) -> None:
    """Replace the text between the two markers of a page; the rest of the page stays as it is.

    Raises StudyError if the page cannot be read or lacks a marker; the page is then unchanged.
    """
    before, after = _around(page, begin, end)
    write_atomic(page, f"{before}{begin}\n\n{body}\n\n{end}{after}".encode())


def _around(page: Path, begin: str, end: str) -> tuple[str, str]:
    """The text before the first marker and after the second."""
    try:
        content = page.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(f"cannot read {page}: {error.strerror}") from error
    before, first, rest = content.partition(begin)
    _, second, after = rest.partition(end)
    if not first or not second:
        raise StudyError(f"{page} has no markers; put these two lines into it:\n{begin}\n{end}")
    return before, after
