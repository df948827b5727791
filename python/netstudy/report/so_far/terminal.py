"""The report of an unfinished study on the terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netstudy.report.cellrefs import count
from netstudy.report.prose.words import NOTHING, things
from netstudy.report.refs import Name, say
from netstudy.report.so_far.document import SoFar
from netstudy.report.tables import Table
from netstudy.report.terminal import print_sentences, print_table

if TYPE_CHECKING:
    from rich.console import Console

_ROWS: Final = 40
"""At most this number of rows of a table is printed."""


def print_so_far(doc: SoFar, console: Console) -> None:
    """Prints the progress and the preliminary answer, then the first comparisons, the cells, and
    the failed and invalid runs."""
    heading = say("{study} · {badge} · so far", study=Name(doc.study), badge=Name(doc.badge))
    print_sentences(console, [heading], style="bold underline")
    print_sentences(console, doc.progress, style="bold")
    print_sentences(console, [doc.state, *doc.growth])
    print_sentences(console, doc.problems, style="yellow", lead="! ")
    print_sentences(console, doc.answer, style="bold")
    print_sentences(console, [doc.later])
    console.print()
    for table in doc.comparisons[: doc.first]:
        print_table(console, _first_rows(table))
    left = len(doc.comparisons) - doc.first
    if left:
        number = things(count(left, "comparisons left out"), "further comparison")
        print_sentences(console, [say("{n}: in the pages (-o DIR).", n=number), NOTHING])
    problems = () if doc.problem_table is None else (doc.problem_table,)
    for table in (*doc.cells, *problems):
        print_table(console, _first_rows(table))


def _first_rows(table: Table) -> Table:
    """The table with its first rows, and a note on how many are left out. Of a long table, rows
    without a value are left out first."""
    if len(table.rows) <= _ROWS:
        return table
    full = tuple(row for row in table.rows if None not in row)
    rows = (full or table.rows)[:_ROWS]
    left = count(len(table.rows) - len(rows), "rows left out")
    note = say("{n} more rows: in the pages (-o DIR).", n=left)
    return replace(table, rows=rows, notes=(*table.notes, note))
