"""Parts of a page that are written by a program, between two markers that stay as they are."""

from __future__ import annotations

from pathlib import Path

from netstudy.errors import StudyError
from netstudy.store import write_atomic


def replace_between(page: Path, begin: str, end: str, body: str) -> None:
    """Put text between the markers of a page; nothing outside them is touched.

    Raises StudyError when the page cannot be read or lacks a marker; then it is left alone.
    """
    before, after = _around(page, begin, end)
    write_atomic(page, f"{before}{begin}\n\n{body}\n\n{end}{after}".encode())


def _around(page: Path, begin: str, end: str) -> tuple[str, str]:
    """What stands before and after the markers."""
    try:
        content = page.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(f"cannot read {page}: {error.strerror}") from error
    before, first, rest = content.partition(begin)
    _, second, after = rest.partition(end)
    if not first or not second:
        raise StudyError(f"{page} has no markers; put these two lines into it:\n{begin}\n{end}")
    return before, after
