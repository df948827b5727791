"""The report as files: a self-contained HTML page, Markdown, figures, and a PDF if asked for."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from netstudy.characters import visible
from netstudy.documents.problems import listed
from netstudy.report import charts, typst
from netstudy.report.case_section import case_sections
from netstudy.report.charts.live import library, packed
from netstudy.report.conclusions import conclusion_figures
from netstudy.report.document import Document, document
from netstudy.report.figures import Figure
from netstudy.report.markdown import pipe_table, text
from netstudy.report.page_templates import source, templates
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.report.rendering import LOST, Draw, drawn_here
from netstudy.store import write_atomic

if TYPE_CHECKING:
    from netstudy.analysis.study_result import StudyResult
    from netstudy.store import Folder

_HTML, _MARKDOWN, _PDF, _FIGURES = "report.html", "report.md", "report.pdf", "figures"


@dataclass(frozen=True)
class ReportFiles:
    """The paths of the files of a report."""

    html: Path
    md: Path
    figures: tuple[Path, ...]
    pdf: Path | None = None
    """None: no PDF was requested."""
    lost: tuple[str, ...] = ()
    """Names of the figures on which the renderer failed."""

    @classmethod
    def named(cls, folder: Path) -> ReportFiles:
        """The files of a report without figures in a folder."""
        return cls(folder / _HTML, folder / _MARKDOWN, ())

    @classmethod
    def within(cls, folder: Path) -> ReportFiles:
        """The files of a report that is already in a folder."""
        figures = tuple(sorted((folder / _FIGURES).glob("*.svg")))
        return replace(cls.named(folder), figures=figures)


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
    """Write report.html, report.md and figures/*.svg into the results folder, or into the folder
    `into`.

    `on_phase` is called with the name of each phase. `draw` makes SVG from specifications.
    `is_static` leaves the drawing library out of the page, `with_png` writes each figure as PNG
    too, `with_pdf` also writes report.pdf. If the renderer fails on a figure, the report names it,
    and all others are drawn.

    The same results folder gives the same bytes, and each file is written completely or not at all.
    Raises OSError when a file cannot be written, MissingPackageError if the package for PDF is
    missing.
    """
    if with_pdf:
        typst.check()
    sizes = (charts.WIDE, charts.NARROW) if is_static else (charts.WIDE,)
    shown = tuple(conclusion_figures(result))
    _begin_drawing(shown, draw, sizes)
    cases = []
    for case in case_sections(result):  # meanwhile, earlier cases are drawn
        cases.append(case)
        _begin_drawing(case.figures(), draw, sizes)
    on_phase("drawing")
    doc = document(folder, result, tuple(cases), shown)
    lost = tuple(figure.name for figure in doc.figures() if figure.is_lost)
    if lost:
        doc = replace(doc, caveats=(*doc.caveats, _lost_sentence(lost)))
    markdown = render_markdown(doc)
    page = render_html(doc, is_static=is_static)
    to = into or folder.path
    html, md, pdf = to / _HTML, to / _MARKDOWN, to / _PDF
    on_phase("writing")
    figures = _write_figures(to, doc, draw if with_png else None)
    write_atomic(html, page.encode(), within=to)
    write_atomic(md, markdown.encode(), within=to)
    if with_pdf:
        on_phase("setting the PDF")
        write_atomic(pdf, typst.pdf(render_typst(doc)), within=to)
    return ReportFiles(html, md, figures, pdf if with_pdf else None, lost)


def _begin_drawing(figures: Iterable[Figure], draw: Draw, sizes: Iterable[charts.Size]) -> None:
    """Starts drawing the charts. A figure waits for its chart when it is first used."""
    every = tuple(figures)
    for size in sizes:
        wanted = [(one, of) for one in every if (of := one.specification(size))]
        drawings = cache(draw([specification for _, specification in wanted]))
        for place, (figure, _) in enumerate(wanted):
            figure.drawn_by(size, partial(_drawing, drawings, place))


def _drawing(drawings: Callable[[], list[str]], place: int) -> str:
    return drawings()[place]


def _lost_sentence(names: tuple[str, ...]) -> Sentence:
    if len(names) == 1:
        figure, it, its = "The figure {names} is", "it", "Its"
    else:
        figure, it, its = "The figures {names} are", "them", "Their"
    failed = f"{figure} not drawn, because the renderer failed on {it}."
    return say(f"{failed} {its} values are in the tables and cells.csv.", names=Name(listed(names)))


def _write_figures(to: Path, doc: Document, draw: Draw | None) -> tuple[Path, ...]:
    """Write each figure as SVG, and with `draw` also as PNG unless the renderer fails. Returns the
    paths of the SVG files."""
    folder = to / _FIGURES
    folder.mkdir(exist_ok=True)
    drawn = {folder / f"{figure.name}.svg": visible(figure.wide) for figure in doc.figures()}
    files = {path: drawing.encode() for path, drawing in drawn.items()}
    if draw is not None:
        images = zip(drawn, draw([*drawn.values()])(), strict=True)
        files |= {path.with_suffix(".png"): b64decode(one) for path, one in images if one != LOST}
    with ThreadPoolExecutor() as pool:  # parallel writes take as long as one
        list(pool.map(partial(write_atomic, within=to), files, files.values()))
    return tuple(drawn)


def render_html(doc: Document, *, is_static: bool = False) -> str:
    """The whole page with style, scripts and figures. Unless it is static, it contains the library
    for interactive figures."""
    environment = templates(escapes=True)
    environment.tests["number"] = lambda value: isinstance(value, Number)
    environment.filters["inline"] = _inline_svg
    sources: list[str] = []
    environment.filters["cell"] = escape if is_static else partial(_without_source, sources)
    scripts = (
        ("report.js",) if is_static else ("report.js", "unpack.js", "sources.js", "figures.js")
    )
    figures = {one.name: one.live for one in doc.figures() if one.live is not None}
    page = environment.get_template("report.html.j2").render(
        doc=doc,
        css=source(environment, "report.css"),
        script="".join(source(environment, name) for name in scripts),
        library="" if is_static else library(),
        figures=figures,
        sources=sources,
        packed=packed,
    )
    return visible(page)


def _without_source(sources: list[str], value: object) -> str:
    """The HTML of a value in a table, without its source. The sources of numbers are appended to
    `sources`, in the order of the page."""
    if not isinstance(value, Number):
        return escape(value)
    sources.append(value.source)
    return value.without_source()


def render_markdown(doc: Document) -> str:
    """The whole report as Markdown, with pipe tables; figures are separate files."""
    environment = templates(escapes=False)
    environment.filters["md"] = text
    environment.filters["md_table"] = pipe_table
    return visible(environment.get_template("report.md.j2").render(doc=doc))


def render_typst(doc: Document) -> str:
    """The typst source of the PDF, with the figures."""
    environment = templates(escapes=False)
    environment.filters["typ"] = typst.content
    environment.filters["typ_literal"] = typst.literal
    environment.filters["typ_share"] = typst.share_pct
    environment.filters["typ_table"] = typst.table_source
    environment.filters["typ_parts"] = typst.parts_of
    environment.filters["typ_sheet"] = typst.sheet_of
    return visible(environment.get_template("report.typ.j2").render(doc=doc))


def _inline_svg(svg: str, alt: str) -> Markup:
    """An SVG as part of a page: one image to a screen reader, described by `alt`."""
    head = Markup('<svg role="img" aria-label="{}"').format(alt)
    return Markup(svg.replace("<svg", head, 1))
