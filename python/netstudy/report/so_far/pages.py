"""The report of an unfinished study as files: a self-contained HTML page and Markdown."""

from __future__ import annotations

from pathlib import Path

from markupsafe import escape

from netstudy.characters import visible
from netstudy.report.markdown import pipe_table, text
from netstudy.report.page_templates import source, templates
from netstudy.report.pages import ReportFiles
from netstudy.report.refs import Number
from netstudy.report.so_far.document import SoFar
from netstudy.store import write_atomic


def write_so_far(doc: SoFar, into: Path) -> ReportFiles:
    """Write report.html and report.md into a folder, under the names of the final report, so that
    a link to them stays valid. Raises OSError when a file cannot be written."""
    files = ReportFiles.named(into)
    write_atomic(files.html, render_html(doc).encode(), within=into)
    write_atomic(files.md, render_markdown(doc).encode(), within=into)
    return files


def render_html(doc: SoFar) -> str:
    """The whole page with style and scripts."""
    environment = templates(escapes=True)
    environment.tests["number"] = lambda value: isinstance(value, Number)
    environment.filters["cell"] = escape
    page = environment.get_template("so-far.html.j2").render(
        doc=doc, css=source(environment, "report.css"), script=source(environment, "report.js")
    )
    return visible(page)


def render_markdown(doc: SoFar) -> str:
    """The report as Markdown, with pipe tables."""
    environment = templates(escapes=False)
    environment.filters["md"] = text
    environment.filters["md_table"] = pipe_table
    return visible(environment.get_template("so-far.md.j2").render(doc=doc))
