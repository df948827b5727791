"""`sadf -d`: the records of sysstat's data files as tables with `;`.

Each activity is a table of its own with a header: `# hostname;interval;timestamp;CPU;%user;…`.
Times are in UTC (`2026-11-28 08:24:53 UTC`), or seconds since 1970 (`-U`); local times (`-t`, `-T`)
have no zone and are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from netstudy.formats import numbers
from netstudy.formats.clock import iso_s
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

_HEADER: Final = "# hostname;interval;timestamp"
_ROW: Final = re.compile(rb"[^;\n]+;-?\d+;\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^;\n]*;")
_FIXED: Final = 3
"""Columns before the activity: host, interval, time."""
_RESTART: Final = "LINUX-RESTART"
_COMMENT: Final = "COM "


@dataclass(frozen=True)
class _Table:
    activity: Activity
    columns: list[str]
    """Plain names of the columns after host, interval and time."""


@dataclass(frozen=True)
class SadfTable:
    """`sadf -d`; see the module."""

    name: str = "sadf-table"
    title: str = "sadf -d, also with -U (sysstat 10 to 12.7)"
    quantities: tuple[Quantity, ...] = QUANTITIES
    left_out: tuple[str, ...] = LEFT_OUT

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with a table of sadf."""
        start = head.lstrip()
        return start.startswith(_HEADER.encode()) or _ROW.match(start) is not None

    def read(self, data: bytes) -> HostReadings:
        """The series of the host. Raises FormatError if the file was cut off, is of several hosts,
        or has decimal commas or local times."""
        text = text_of(data)
        records = Records()
        table: _Table | None = None
        headed = False
        for number, line in enumerate(whole_lines(text, records.notes), 1):
            if line.startswith("#"):
                table, headed = _table(line, f"line {number}"), True
            elif line.strip():
                if not headed and not _is_event(line):
                    raise FormatError(
                        f"line {number}: the header that names the columns ({_HEADER}…) is "
                        "missing; make the file with sadf -d FILE"
                    )
                _read_row(records, table, line, f"line {number}")
        return records.readings()


FORMAT: Final = SadfTable()


def _table(line: str, where: str) -> _Table | None:
    """The table under a header; None: it is left out."""
    if not line.startswith(_HEADER):
        raise FormatError(f"{where}: this is not a header of sadf -d")
    if "[...]" in line:
        raise FormatError(
            f"{where}: sadf -dh puts all tables of a record into one row, whose columns cannot be "
            "assigned; make the file with sadf -d FILE or sadf -j FILE"
        )
    columns = [plain_name(column) for column in line.split(";")[_FIXED:]]
    activity = activity_of(columns)
    return None if activity is None else _Table(activity, columns)


def _is_event(line: str) -> bool:
    fields = line.split(";")
    return len(fields) > _FIXED and fields[_FIXED].startswith((_RESTART, _COMMENT))


def _read_row(records: Records, table: _Table | None, line: str, where: str) -> None:
    host, *rest = line.split(";")
    if len(rest) < _FIXED:
        raise FormatError(f"{where}: the row is cut off")
    records.of_host(host, where)
    length, stamp, *fields = rest
    if fields[0].startswith(_RESTART):
        records.restart(_time_s(stamp, where))
        return
    if table is None or fields[0].startswith(_COMMENT):
        return
    activity = table.activity
    values, notes = numbers_of(table.columns, fields, activity.needs, where)
    records.notes += notes
    item = "" if activity.item is None else fields[table.columns.index(activity.item)]
    interval_s = numbers.whole(length, f"{where}, interval")
    records.row(activity, _time_s(stamp, where), interval_s, item, values)


@lru_cache(maxsize=1024)
def _utc_s(text: str) -> float:
    """The time of a row, without its place: many rows have the same time."""
    return float(text) if text.isdigit() else iso_s(text, "timestamp")


def _time_s(text: str, where: str) -> float:
    if re.fullmatch(r"[0-9]{1,12}", text) or text.endswith(" UTC"):
        try:
            return _utc_s(text)
        except FormatError as error:
            raise FormatError(f"{where}, {error}") from None
    raise FormatError(
        f"{where}: {text} is a local time, and the file does not say of which zone; make the file "
        "with sadf -d FILE (UTC) or sadf -dU FILE (seconds since 1970), without -t and -T"
    )
