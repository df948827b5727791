"""The report of an unfinished study on the terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netstudy.report.cellrefs import count
from netstudy.report.refs import Name, say
from netstudy.report.so_far.document import SoFar
from netstudy.report.tables import Table
from netstudy.report.terminal import print_sentences, print_table

if TYPE_CHECKING:
    from rich.console import Console

_ROWS: Final = 40
"""At most this number of rows of a table is printed."""


def print_so_far(doc: SoFar, console: Console) -> None:
    """Prints the progress and the preliminary answer, then the failed and invalid runs, the
    comparisons in the deciding metric, and the cells."""
    heading = say("{study} · {badge} · so far", study=Name(doc.study), badge=Name(doc.badge))
    print_sentences(console, [heading], style="bold underline")
    print_sentences(console, doc.progress, style="bold")
    print_sentences(console, [doc.state, *doc.growth])
    print_sentences(console, doc.problems, style="yellow", lead="! ")
    print_sentences(console, doc.answer, style="bold")
    print_sentences(console, [doc.later])
    console.print()
    problems = () if doc.problem_table is None else (doc.problem_table,)
    for table in (*doc.comparisons[: doc.deciding], *doc.cells, *problems):
        print_table(console, _first_rows(table))


def _first_rows(table: Table) -> Table:
    """The table with its first rows, and a note on how many are left out."""
    left = len(table.rows) - _ROWS
    if left <= 0:
        return table
    note = say(
        "{n} more rows: in the pages (-o) and in the export (--so-far).",
        n=count(left, "rows left out"),
    )
    return replace(table, rows=table.rows[:_ROWS], notes=(*table.notes, note))
