"""Writing a report into its results folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.report.document import Document, document
from netstudy.report.html import render_html
from netstudy.report.markdown import render_markdown
from netstudy.store import write_atomic

if TYPE_CHECKING:
    from netstudy.analysis.study_result import StudyResult
    from netstudy.store import Folder

HTML, MARKDOWN, FIGURES = "report.html", "report.md", "figures"


def write(folder: Folder, result: StudyResult, into: Path) -> tuple[Path, Path, tuple[Path, ...]]:
    """Render and write all of it into a folder; each file appears whole or not at all. Where the
    HTML, the Markdown and the figures are."""
    doc = document(folder, result)
    html, md = into / HTML, into / MARKDOWN
    figures = _write_figures(into / FIGURES, doc)
    write_atomic(html, render_html(doc).encode())
    write_atomic(md, render_markdown(doc).encode())
    return html, md, figures


def _write_figures(folder: Path, doc: Document) -> tuple[Path, ...]:
    folder.mkdir(exist_ok=True)
    paths = []
    for figure in doc.figures():
        path = folder / f"{figure.name}.svg"
        write_atomic(path, figure.wide.encode())
        paths.append(path)
    return tuple(paths)
