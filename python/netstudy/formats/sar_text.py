"""The text of `sar`, where it is decidable.

sar prints for people: in the language, the clock and the date format of whoever calls it, and never
with a time zone. A date such as 05/01/19 (May or January?), a clock of 12 hours without AM and PM,
decimal commas and a clock in another script are refused, with a command whose output is decidable.
Times are read as UTC, with a note, since the zone is not in the file: `sadf -j FILE` has it.

sar prints one table after the other, each from the beginning of the data file to the next restart,
or, while it measures, all tables of one interval together. Therefore each table has its own clock,
which goes past midnight when the time falls by more than half a day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final

from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of, whole_lines
from netstudy.formats.sysstat import (
    LEFT_OUT,
    QUANTITIES,
    Activity,
    Records,
    activity_of,
    numbers_of,
    plain_name,
)

_TITLE: Final = re.compile(
    r"Linux (?P<release>\S+) \((?P<host>[^()]*)\)\s+(?P<date>\S.*?)\s+_\S+_\s+\(\d+ CPU\)\s*"
)
_TITLE_BYTES: Final = re.compile(rb"\s*Linux \S+ \([^()\n]*\)[ \t]+\S.*\(\d+ CPU\)\s*\n")
_OTHERS: Final = (b"avg-cpu", b" PID ", b"Device", b"Device:")
"""Words in the first table of iostat and pidstat, whose titles are the same."""
_CLOCK: Final = re.compile(r"(\d\d):(\d\d):(\d\d)", re.ASCII)
_ISO: Final = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)", re.ASCII)
_SLASHES: Final = re.compile(r"(\d\d)/(\d\d)/(\d{4}|\d\d)", re.ASCII)
_DOTS: Final = re.compile(r"(\d\d)\.(\d\d)\.(\d{4}|\d\d)", re.ASCII)
_FIRST_COLUMNS: Final = frozenset({"tps", "proc", "atmptf", "active", "idgm"})
"""Columns that begin tables without items and are not read (sar -b, -w, -n ETCP,TCP,UDP)."""
_DAY_S: Final = 86_400
_DECIDABLE: Final = "S_TIME_FORMAT=ISO LC_ALL=C sar … or sadf -j FILE"
_ZONE_NOTE: Final = (
    "sar does not print its time zone: its times are read as UTC. If the host's clock showed "
    "another zone, make the file with sadf -j FILE."
)


@dataclass
class _Clock:
    """Time of day, which goes on past midnight, of one table between two restarts."""

    day_s: float
    """Start of the day, since 1970."""
    now_s: float

    def at(self, time_s: int, where: str) -> float:
        """The next time of day, which is not before the last one."""
        found = self.day_s + time_s
        if found < self.now_s - _DAY_S / 2:
            self.day_s += _DAY_S
            found += _DAY_S
        elif found < self.now_s:
            raise FormatError(
                f"{where}: the clock goes back by {self.now_s - found:.0f} s: it was set, or shows "
                f"12 hours without AM and PM; make the file with {_DECIDABLE}"
            )
        self.now_s = found
        return found


@dataclass(frozen=True)
class SarText:
    """The text of sar; see the module."""

    name: str = "sar-text"
    title: str = "sar as text, with a decidable date and a clock of 24 hours or AM and PM"
    quantities: tuple[Quantity, ...] = QUANTITIES
    left_out: tuple[str, ...] = LEFT_OUT

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with sysstat's title and is not of iostat or pidstat."""
        match = _TITLE_BYTES.match(head)
        if match is None:
            return False
        first_table = head[match.end() :].lstrip().partition(b"\n")[0]
        return not any(word in first_table for word in _OTHERS)

    def read(self, data: bytes) -> HostReadings:
        """The series of the host. Raises FormatError if the file is not decidable, or a row is cut
        off."""
        reader = _Reader()
        for number, line in enumerate(whole_lines(text_of(data), reader.records.notes), 1):
            reader.line(line, f"line {number}")
        return reader.records.readings()


FORMAT: Final = SarText()


@dataclass
class _Reader:
    """Reads line by line: a title, and tables that each begin after an empty line."""

    records: Records = field(default_factory=Records)
    start: _Clock | None = None
    """The clock at the beginning of the file or at the last restart."""
    clocks: dict[tuple[str, ...], _Clock] = field(default_factory=dict)
    """The clock of each table since then, by its columns."""
    activity: Activity | None = None
    columns: tuple[str, ...] = ()
    after_gap: bool = True

    def line(self, text: str, where: str) -> None:
        """Take the next line."""
        if not text.strip():
            self.after_gap = True
            return
        if text.startswith("Linux "):
            self._title(text, where)
        elif "LINUX RESTART" in text:
            self._restart(text, where)
        elif not _is_summary(text):
            self._row(text, where)
        self.after_gap = False

    def _title(self, text: str, where: str) -> None:
        match = _TITLE.fullmatch(text)
        if match is None:
            raise FormatError(
                f"{where}: sar's title is not complete: release, host, date and CPUs are expected"
            )
        day = _date(match["date"], where)
        day_s = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
        self.records.of_host(match["host"], where)
        if _ZONE_NOTE not in self.records.notes:
            self.records.notes.append(_ZONE_NOTE)
        self.start, self.clocks = _Clock(day_s, day_s), {}

    def _restart(self, text: str, where: str) -> None:
        start = self._started(where)
        last = max((start, *self.clocks.values()), key=lambda clock: clock.now_s)
        time_s, _ = _time_of_day(text, where)
        self.start, self.clocks = _Clock(last.day_s, last.now_s), {}
        self.records.restart(self.start.at(time_s, where))

    def _row(self, text: str, where: str) -> None:
        start = self._started(where)
        time_s, words = _time_of_day(text, where)
        if words[:1] == ["COM"]:
            return
        if self.after_gap:
            self.columns = tuple(plain_name(word) for word in words)
            self.activity = activity_of(list(self.columns))
            if self.activity is not None:
                _check_first(self.activity, self.columns[0], where)
        clock = self.clocks.setdefault(self.columns, _Clock(start.day_s, start.now_s))
        before_s = clock.now_s
        end_s = clock.at(time_s, where)
        if self.after_gap or self.activity is None:
            return
        self._values(self.activity, end_s, before_s, words, where)

    def _values(
        self, activity: Activity, end_s: float, before_s: float, words: list[str], where: str
    ) -> None:
        values, notes = numbers_of(self.columns, words, activity.needs, where)
        self.records.notes += notes
        item = "" if activity.item is None else words[self.columns.index(activity.item)]
        # Rows of one interval have the same time; only the first of them sees the clock move.
        length_s = end_s - before_s if end_s > before_s else None
        self.records.row(activity, end_s, length_s, item, values)

    def _started(self, where: str) -> _Clock:
        if self.start is None:
            raise FormatError(f"{where}: sar's title with the date is missing")
        return self.start


def _check_first(activity: Activity, column: str, where: str) -> None:
    """Refuse a table whose first column is a part of the clock, such as `a. m.` or its translation.
    sar prints the item first, and a known column first in a table without items."""
    if column != activity.item and column not in (*activity.needs, *_FIRST_COLUMNS):
        raise FormatError(
            f'{where}: "{column}" is not known as a part of the clock or as a column; make the '
            f"file with {_DECIDABLE}"
        )


def _is_summary(text: str) -> bool:
    """True for rows of averages, whose first word depends on the language: `Average:`."""
    first, *rest = text.split()
    return not _CLOCK.match(first) and (first.endswith((":", "：")) or rest[:1] == [":"])


def _time_of_day(text: str, where: str) -> tuple[int, list[str]]:
    """Seconds since midnight, and the words after the time."""
    first, *rest = text.split()
    match = _CLOCK.fullmatch(first)
    if match is None:
        raise FormatError(
            f'{where}: "{first}" is not a time such as 13:20:09; make the file with {_DECIDABLE}'
        )
    hour, minute, second = map(int, match.groups())
    half = rest[0].replace(".", "").upper() if rest else ""
    if half in ("AM", "PM"):
        if not 1 <= hour <= 12:
            raise FormatError(f"{where}: {first} {rest[0]} is no time")
        hour = hour % 12 + (12 if half == "PM" else 0)
        rest = rest[1:]
    if hour > 23 or minute > 59 or second > 60:
        raise FormatError(f"{where}: {first} is no time")
    return 3600 * hour + 60 * minute + second, rest


def _date(text: str, where: str) -> date:
    """The date of a title. Raises FormatError if it may be read in two ways."""
    if match := _ISO.fullmatch(text):
        year, month, day = map(int, match.groups())
    elif match := _DOTS.fullmatch(text):
        day, month, year = map(int, match.groups())
    elif match := _SLASHES.fullmatch(text):
        first, second, year = map(int, match.groups())
        if first != second and first <= 12 and second <= 12:
            raise FormatError(
                f"{where}: {text} is day/month or month/day, which the file does not say; make it "
                f"with {_DECIDABLE}"
            )
        day, month = (first, second) if first > 12 else (second, first)
    else:
        raise FormatError(
            f'{where}: "{text}" is not a date that is known here; make the file with {_DECIDABLE}'
        )
    try:
        return date(year if year > 99 else 2000 + year, month, day)
    except ValueError:
        raise FormatError(f"{where}: {text} is no date") from None
