"""The report as files: a self-contained HTML page, Markdown, figures, and a PDF if asked for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from netstudy.report import typst
from netstudy.report.charts.live import library, packed
from netstudy.report.document import CaseSection, Document, case_sections, document
from netstudy.report.markdown import pipe_table, text
from netstudy.report.refs import Number
from netstudy.report.rendering import Draw, drawn_here
from netstudy.store import write_atomic

if TYPE_CHECKING:
    from netstudy.analysis.study_result import StudyResult
    from netstudy.store import Folder

_HTML, _MARKDOWN, _PDF, _FIGURES = "report.html", "report.md", "report.pdf", "figures"


@dataclass(frozen=True)
class ReportFiles:
    """Paths of a written report."""

    html: Path
    md: Path
    figures: tuple[Path, ...]
    pdf: Path | None = None
    """None: none was asked for."""

    @classmethod
    def within(cls, folder: Path) -> ReportFiles:
        """The files of a report that was written into a folder before."""
        figures = tuple(sorted((folder / _FIGURES).glob("*.svg")))
        return cls(folder / _HTML, folder / _MARKDOWN, figures)


def write_report(
    folder: Folder,
    result: StudyResult,
    into: Path | None = None,
    on_phase: Callable[[str], object] = lambda _phase: None,
    *,
    draw: Draw = drawn_here,
    is_static: bool = False,
    with_png: bool = False,
    with_pdf: bool = False,
) -> ReportFiles:
    """Write report.html, report.md and figures/*.svg into the folder, or into another one;
    `on_phase` is told what is being done. `draw` makes SVG of specifications. `is_static` leaves
    the drawing library out of the page, `with_png` writes each figure as PNG too, `with_pdf`
    report.pdf.

    The same folder gives the same bytes; each file is written completely or not at all. Raises
    OSError when a file cannot be written, MissingPackageError without what makes a PDF.
    """
    if with_pdf:
        typst.check()
    cases = []
    for case in case_sections(result):  # analyses a case while the charts of earlier ones are drawn
        cases.append(case)
        _begin_drawing(case, draw)
    on_phase("drawing")
    doc = document(folder, result, tuple(cases))
    markdown = render_markdown(doc)
    page = render_html(doc, is_static=is_static)
    to = into or folder.path
    html, md = to / _HTML, to / _MARKDOWN
    on_phase("writing")
    figures = _write_figures(to / _FIGURES, doc, with_png=with_png)
    write_atomic(html, page.encode())
    write_atomic(md, markdown.encode())
    if not with_pdf:
        return ReportFiles(html, md, figures)
    on_phase("setting the PDF")
    pdf = to / _PDF
    write_atomic(pdf, typst.pdf(render_typst(doc)))
    return ReportFiles(html, md, figures, pdf)


def _begin_drawing(case: CaseSection, draw: Draw) -> None:
    """Starts drawing the charts of a test case; its figures wait for them when they are looked
    at."""
    charts = [(one, of) for one in case.figures() if (of := one.specification) is not None]
    drawings = cache(draw([specification for _, specification in charts]))
    for place, (figure, _) in enumerate(charts):
        figure.drawn_by(partial(_drawing, drawings, place))


def _drawing(drawings: Callable[[], list[str]], place: int) -> str:
    return drawings()[place]


def _write_figures(folder: Path, doc: Document, *, with_png: bool) -> tuple[Path, ...]:
    folder.mkdir(exist_ok=True)
    files = {}
    for figure in doc.figures():
        path = folder / f"{figure.name}.svg"
        files[path] = figure.wide.encode()
        if with_png:
            files[path.with_suffix(".png")] = figure.png()
    with ThreadPoolExecutor() as pool:  # a disk takes long for a file, and many at once as long
        list(pool.map(write_atomic, files, files.values()))
    return tuple(path for path in files if path.suffix == ".svg")


def render_html(doc: Document, *, is_static: bool = False) -> str:
    """The whole page, with its style, script and figures; unless it is static, with the library
    that makes figures ones to look into."""
    environment = _templates(escapes=True)
    environment.tests["number"] = lambda value: isinstance(value, Number)
    environment.filters["inline"] = _inline_svg
    sources: list[str] = []
    environment.filters["cell"] = escape if is_static else partial(_without_source, sources)
    scripts = (
        ("report.js",) if is_static else ("report.js", "unpack.js", "sources.js", "figures.js")
    )
    figures = {one.name: one.live for one in doc.figures() if one.live is not None}
    return environment.get_template("report.html.j2").render(
        doc=doc,
        css=_source(environment, "report.css"),
        script="".join(_source(environment, name) for name in scripts),
        library="" if is_static else library(),
        figures=figures,
        sources=sources,
        packed=packed,
    )


def _without_source(sources: list[str], value: object) -> str:
    """A value of a table; the source of a number goes to the others, in the order of the page."""
    if not isinstance(value, Number):
        return escape(value)
    sources.append(value.source)
    return value.without_source()


def render_markdown(doc: Document) -> str:
    """The whole page, with pipe tables; its figures are files beside it."""
    environment = _templates(escapes=False)
    environment.filters["md"] = text
    environment.filters["md_table"] = pipe_table
    return environment.get_template("report.md.j2").render(doc=doc)


def render_typst(doc: Document) -> str:
    """The source of the PDF, with its figures."""
    environment = _templates(escapes=False)
    environment.filters["typ"] = typst.content
    environment.filters["typ_literal"] = typst.literal
    environment.filters["typ_share"] = typst.share_pct
    environment.filters["typ_table"] = typst.table_source
    environment.filters["typ_parts"] = typst.parts_of
    environment.filters["typ_sheet"] = typst.sheet_of
    return environment.get_template("report.typ.j2").render(doc=doc)


@cache
def _templates(*, escapes: bool) -> Environment:
    """Templates, which are compiled once a process."""
    return Environment(
        loader=PackageLoader("netstudy.report"), autoescape=escapes, keep_trailing_newline=True
    )


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None, "the environment was made with one"
    text, _, _ = environment.loader.get_source(environment, name)
    return text


def _inline_svg(svg: str, alt: str) -> Markup:
    """An SVG as part of a page: one image to a screen reader, described by `alt`."""
    head = Markup('<svg role="img" aria-label="{}"').format(alt)
    return Markup(svg.replace("<svg", head, 1))
