"""Numbers in the words of a fault."""

from __future__ import annotations

from netstudy.errors import StudyError


def number(text: str) -> float:
    """A number from 0. Raises StudyError."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise StudyError(f"{text} is not a number from 0")
    return found


def whole(text: str) -> int:
    """A whole number from 0. Raises StudyError."""
    if not (text.isascii() and text.isdecimal()):
        raise StudyError(f"{text} is not a whole number")
    return int(text)
