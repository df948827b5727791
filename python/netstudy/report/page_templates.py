"""The templates of pages, and the files that pages contain as they are."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader


@cache
def templates(*, escapes: bool) -> Environment:
    """Templates, compiled once per process."""
    return Environment(
        loader=PackageLoader("netstudy.report"), autoescape=escapes, keep_trailing_newline=True
    )


def source(environment: Environment, name: str) -> str:
    """The text of a file next to the templates, such as a style sheet."""
    assert environment.loader is not None, "the environment was made with one"
    text, _, _ = environment.loader.get_source(environment, name)
    return text
