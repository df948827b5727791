"""Times between readings in one file, as loops in a shell write them.

`while date +%s.%N; ss -tin; sleep 1; done` gives a file in which a line with the time precedes each
reading. Such a line is a number of seconds since 1970 (`date +%s`, `date +%s.%N`) or a time with
its zone (`date -Is`, `date -u +%FT%TZ`), also after a `#`. A time without a zone is a line like any
other, which the formats leave out by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from netstudy.formats.clock import iso_s
from netstudy.formats.measured import FormatError

_EPOCH: Final = re.compile(r"#?\s*(\d{9,10}(?:[.,]\d{1,9})?)", re.ASCII)
_ISO: Final = re.compile(
    r"#?\s*(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\s*(?:Z|UTC|[+-]\d\d:?\d\d))", re.ASCII
)

_FIRST: Final = frozenset("#0123456789")
"""The characters by which a line with a time may begin; most lines are of another kind."""


def instant_s(line: str) -> float | None:
    """The time that is all of a line, in seconds since 1970; None: it is another line."""
    text = line.strip()
    if not text or text[0] not in _FIRST:
        return None
    if match := _EPOCH.fullmatch(text):
        return float(match[1].replace(",", "."))
    if match := _ISO.fullmatch(text):
        try:
            return iso_s(match[1], "")
        except FormatError:
            return None
    return None


def first_line(head: bytes) -> str:
    """The first line of a file that is neither empty nor a time."""
    for line in head.decode(errors="replace").splitlines():
        if line.strip() and instant_s(line) is None:
            return line
    return ""


def sections(text: str) -> Iterator[tuple[float | None, int, str]]:
    """The texts between lines with times: the time before each (None: there is none), the number of
    its first line, and the text. Texts without content are left out."""
    at_s: float | None = None
    start = 1
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        found = instant_s(line)
        if found is None:
            lines.append(line)
            continue
        if any(map(str.strip, lines)):
            yield at_s, start, "".join(lines)
        at_s, start, lines = found, number + 1, []
    if any(map(str.strip, lines)):
        yield at_s, start, "".join(lines)
