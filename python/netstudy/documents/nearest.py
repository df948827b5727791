"""The known name nearest to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

_ALIKE = 0.6
"""Two names are similar if they share at least this fraction of their letters (difflib's
default)."""
_LONGEST = 200
"""Only this many letters of a name are compared, since the time grows with their square."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`, or None if none is similar enough."""
    scored = [(_likeness(name, candidate), candidate) for candidate in known]
    best, candidate = max(scored, default=(0.0, ""), key=lambda pair: pair[0])
    return candidate if best >= _ALIKE else None


def did_you_mean(name: str, known: Iterable[str], *, limit: int = 12) -> str:
    """The end of a message: `; did you mean "x"?`, else the list of known names."""
    names = list(known)
    if hint := suggestion(name, names):
        return hint
    listed = ", ".join(names[:limit])
    return f"; known: {listed}{' …' if len(names) > limit else ''}" if names else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` if a known name is similar, else empty."""
    found = nearest(name, known)
    return f'; did you mean "{found}"?' if found else ""


def _likeness(name: str, candidate: str) -> float:
    one, other = name[:_LONGEST].lower(), candidate[:_LONGEST].lower()
    if one.replace("_", " ").replace("-", " ") == other.replace("_", " ").replace("-", " "):
        return 1.0
    return SequenceMatcher(None, one, other).ratio()
