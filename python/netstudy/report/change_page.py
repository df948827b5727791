"""The comparison of two results folders as Markdown that fits into a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from netstudy.report.folder_verdicts import answer, notable, ordered, verdicts_table
from netstudy.report.markdown import captioned_table, text
from netstudy.report.refs import Sentence

if TYPE_CHECKING:
    from netstudy.analysis.folder_verdicts import FolderVerdicts
    from netstudy.report.tables import Table

LONGEST: Final = 60_000
"""Most characters of the page: GitHub refuses comments above 65,536."""
_MOST_ROWS: Final = 60
_MOST_SENTENCES: Final = 40


def change_page(
    verdicts: FolderVerdicts, sentences: Sequence[Sentence], tables: Sequence[Table]
) -> str:
    """A page whose first line is the answer. The verdicts follow, then the sentences, and the
    tables as long as there is room for them; a note says how much is left out."""
    rows = ordered(verdicts)
    parts = [
        f"**{text(answer(verdicts))}**",
        captioned_table(verdicts_table(rows[:_MOST_ROWS])),
        *_left_out(len(rows) - _MOST_ROWS, "cell in the table above", "cells in the table above"),
        _list([*notable(verdicts), *sentences]),
    ]
    return _with_tables("\n\n".join(parts), tables)


def _list(sentences: Sequence[Sentence]) -> str:
    lines = [f"- {text(sentence)}" for sentence in sentences[:_MOST_SENTENCES]]
    more = _left_out(len(sentences) - _MOST_SENTENCES, "sentence", "sentences")
    return "\n".join([*lines, *(f"- {one}" for one in more)])


def _left_out(number: int, noun: str, plural: str) -> Iterator[str]:
    if number > 0:
        yield f"{number:,} {noun if number == 1 else plural}: left out here."


def _with_tables(page: str, tables: Sequence[Table]) -> str:
    """The page, then each table that still fits, folded."""
    left = 0
    for table in tables:
        folded = f"\n\n<details><summary>{text(table.caption)}</summary>\n\n{{}}\n\n</details>"
        folded = folded.format(captioned_table(table))
        if len(page) + len(folded) > LONGEST:
            left += 1
        else:
            page += folded
    note = "".join(f"\n\n{one}" for one in _left_out(left, "table", "tables"))
    return f"{page}{note}\n"
