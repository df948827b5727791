"""The README of a study: question, figure and answer, written from a results folder.

    python -m netstudy.report.readme STUDY RESULTS

replaces the text between the two markers in STUDY/README.md and writes the figure next to it. The
rest of the page stays as it is, and no number between the markers is typed by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.errors import StudyError, exit_code
from netstudy.report.document import Document, document
from netstudy.report.figures import Figure
from netstudy.report.markdown import captioned_table, pipe_table, replace_between, text
from netstudy.report.reference_tables import MARK
from netstudy.store import write_atomic

if TYPE_CHECKING:
    from netstudy.report.prose.words import Point
    from netstudy.report.refs import Sentence
    from netstudy.report.tables import Table

BEGIN = "<!-- results: written by python -m netstudy.report.readme -->"
END = "<!-- end of results -->"
README = "README.md"


def update_readme(study: Path, results: Path) -> Path:
    """Write the results into a study's README, and the summary's figure into a file next to it.

    Raises StudyError if the README, its markers or the results are missing.
    """
    from netstudy.analysis.study_result import analyse
    from netstudy.store import Results

    folder = Results(results).resolve(str(results), done=True)
    path = study / README
    doc = document(folder, analyse(folder))
    replace_between(path, BEGIN, END, "\n\n".join(_sections(doc)))
    if doc.key_figure is not None:
        write_atomic(study / _file_of(doc.key_figure), doc.key_figure.wide.encode())
    return path


def _file_of(figure: Figure) -> str:
    """The file name of a figure, without the characters of node metrics' names that are not allowed
    in a link."""
    return re.sub(r"[^\w-]+", "-", figure.name) + ".svg"


def _sections(doc: Document) -> list[str]:
    key = doc.key_figure
    shown = [f"![{text(key.alt)}]({_file_of(key)})"] if key else []
    return [
        f"**{text(doc.question or doc.title)}**",
        *shown,
        *_points(doc.summary),
        *_caveats(doc.caveats),
        *_tables([table for case in doc.cases for table in case.results]),
        *_beside_published(doc),
        *([f"Expected beforehand: {text(doc.expectation)}"] if doc.expectation else []),
        text(doc.provenance),
        f"```sh\n{doc.appendix.commands[0]}\n```",
    ]


def _tables(tables: Sequence[Table]) -> Iterator[str]:
    """The tables with their notes and, if there are several, their captions."""
    if len(tables) > 1:
        yield from map(captioned_table, tables)
        return
    for table in tables:
        yield pipe_table(table)
        yield from map(text, table.footnotes)


def _beside_published(doc: Document) -> Iterator[str]:
    """The comparisons with published values that distinguish fitted from predicted values, with the
    reasons for differences."""
    implied = doc.implied_sizes
    for panel in (panel for case in doc.cases for panel in case.panels):
        marked = [table for table in panel.references if MARK in _columns(table)]
        yield from map(captioned_table, marked)
        if marked and panel.reference_text:
            yield "\n".join(f"- {text(sentence)}" for sentence in panel.reference_text)
    if implied is not None:
        yield from map(captioned_table, implied.tables)


def _columns(table: Table) -> list[str]:
    return [column for group in table.groups for column in group.columns]


def _points(points: Sequence[Point]) -> list[str]:
    return [f"**{text(one.lead)}.** {' '.join(text(s) for s in one.sentences)}" for one in points]


def _caveats(caveats: Sequence[Sentence]) -> list[str]:
    if not caveats:
        return []
    lines = "\n".join(f"> - {text(sentence)}" for sentence in caveats)
    return [f"> Caveats:\n>\n{lines}"]


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; returns the exit code."""
    if len(arguments) != 2:
        print("usage: python -m netstudy.report.readme STUDY RESULTS", file=sys.stderr)
        return StudyError.exit_code
    return exit_code(lambda: print(update_readme(Path(arguments[0]), Path(arguments[1]))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
