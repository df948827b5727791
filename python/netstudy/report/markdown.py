"""The report as Markdown with pipe tables; the figures are files beside it."""

from __future__ import annotations

import re

from jinja2 import Environment, PackageLoader

from netstudy.report.document import Document
from netstudy.report.refs import Name, Number, Sentence
from netstudy.report.tables import Group, Table, Value

_SPECIAL = re.compile(r"([\\|*`\[\]])")


def render_markdown(doc: Document) -> str:
    """The whole page."""
    environment = Environment(
        loader=PackageLoader("netstudy.report"), autoescape=False, keep_trailing_newline=True
    )
    environment.filters["md"] = text
    environment.filters["md_table"] = pipe_table
    return environment.get_template("report.md.j2").render(doc=doc)


def text(value: Value | str) -> str:
    """Text in which no sign means anything to Markdown; code stays code."""
    if isinstance(value, Sentence):
        return "".join(text(part) for part in value.parts)
    if isinstance(value, Name) and value.code:
        return f"`{value.text}`"
    escaped = _SPECIAL.sub(r"\\\1", "" if value is None else str(value))
    return escaped.replace("<", "&lt;").replace("\n", " ")


def pipe_table(table: Table) -> str:
    """A pipe table; the two levels of its header become one."""
    heads = [head for group in table.groups for head in _heads(group)]
    columns = list(zip(*table.rows, strict=True)) or [()] * len(heads)
    numeric = [any(isinstance(value, Number) for value in column) for column in columns]
    rules = ["---:" if aligned else "---" for aligned in numeric]
    lines = [heads, rules, *([text(value) for value in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _heads(group: Group) -> list[str]:
    title = text(f"{group.heading} ({group.unit})" if group.unit else group.heading)
    return [f"{title}, {text(column)}" for column in group.columns] or [title]
