"""The report as one HTML file that needs nothing else: style, script and figures stand in it."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from netstudy.report.document import Document
from netstudy.report.refs import Number


def render_html(doc: Document) -> str:
    """The whole page."""
    environment = Environment(
        loader=PackageLoader("netstudy.report"), autoescape=True, keep_trailing_newline=True
    )
    environment.tests["number"] = lambda value: isinstance(value, Number)
    environment.filters["inline"] = inline_svg
    template = environment.get_template("report.html.j2")
    return template.render(
        doc=doc,
        css=_source(environment, "report.css"),
        script=_source(environment, "report.js"),
    )


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None, "the environment was made with one"
    text, _, _ = environment.loader.get_source(environment, name)
    return text


def inline_svg(svg: str, alt: str) -> Markup:
    """An SVG as part of a page: one image to a screen reader, described by `alt`."""
    head = Markup('<svg role="img" aria-label="{}"').format(alt)
    return Markup(svg.replace("<svg", head, 1))
