"""Times between readings in one file, as loops in a shell write them.

`while date +%s.%N; ss -tin; sleep 1; done` gives a file in which a line with the time precedes each
reading. Such a line is a number of seconds since 1970 (`date +%s`, `date +%s.%N`), a time with its
offset (`date -Is`, `date -u +%FT%TZ`), or the usual output of `date` in UTC; also after a `#`. A
local time is refused, since its zone is a name that several zones share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from netstudy.formats.clock import iso_s, mail_s
from netstudy.formats.measured import FormatError

_EPOCH: Final = re.compile(r"#?\s*(\d{9,10}(?:[.,]\d{1,9})?)", re.ASCII)
_ISO: Final = re.compile(
    r"#?\s*(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\s*(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?)",
    re.ASCII,
)
_DATE: Final = re.compile(
    r"#?\s*(?P<weekday>[A-Z][a-z]{2}) (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) "
    r"(?P<hour>\d\d):(?P<rest>\d\d:\d\d)(?: (?P<half>[AP]M))? (?P<zone>\S+) (?P<year>\d{4})",
    re.ASCII,
)
_UTC: Final = ("UTC", "GMT")
_FIRST: Final = re.compile(r"[#0-9]|[A-Z][a-z]{2} ")
"""The beginning of a line with a time; most lines are of another kind."""


def instant_s(line: str, where: str = "") -> float | None:
    """The time that is all of a line, in seconds since 1970; None: it is another line.

    Raises FormatError, with `where`, if the line is a time whose zone is not known, or no time that
    exists.
    """
    text = line.strip()
    if not _FIRST.match(text):
        return None
    if match := _EPOCH.fullmatch(text):
        return float(match[1].replace(",", "."))
    if match := _ISO.fullmatch(text):
        if match["zone"] is None:
            raise _local(text, where)
        return iso_s(match[1], where)
    if match := _DATE.fullmatch(text):
        if match["zone"] not in _UTC:
            raise _local(text, where)
        hour = int(match["hour"])
        if match["half"]:
            hour = hour % 12 + (12 if match["half"] == "PM" else 0)
        day = f"{match['weekday']}, {match['day']} {match['month']} {match['year']}"
        return mail_s(f"{day} {hour:02}:{match['rest']} GMT", where)
    return None


def _local(text: str, where: str) -> FormatError:
    return FormatError(
        f"{where}: the zone of {text} is not certain; print the times by date +%s.%N"
    )


def beginning(head: bytes) -> str:
    """The beginning of a file from its first line on that is neither empty nor a time."""
    lines = head.decode(errors="replace").splitlines(keepends=True)
    for index, line in enumerate(lines):
        text = line.strip()
        if text and not any(pattern.fullmatch(text) for pattern in (_EPOCH, _ISO, _DATE)):
            return "".join(lines[index:])
    return ""


def first_line(head: bytes) -> str:
    """The first line of a file that is neither empty nor a time."""
    return beginning(head).partition("\n")[0]


def sections(text: str) -> Iterator[tuple[float | None, str]]:
    """The texts between lines with times, with the time before each (None: there is none). Texts
    without content are left out. Raises FormatError as `instant_s`."""
    at_s: float | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        found = instant_s(line, f"line {number}")
        if found is None:
            lines.append(line)
            continue
        if any(map(str.strip, lines)):
            yield at_s, "".join(lines)
        at_s, lines = found, []
    if any(map(str.strip, lines)):
        yield at_s, "".join(lines)
