"""Dates and times of day in files, as seconds since 1970 in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from netstudy.formats.measured import FormatError

_ISO: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s*(Z|UTC|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_MAIL: Final = re.compile(
    r"[A-Z][a-z]{2}, (\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC)", re.ASCII
)
_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"


def iso_s(text: str, where: str, zone: ZoneInfo | None = None) -> float:
    """Seconds since 1970 of `2026-11-28T08:24:20.5Z`, also with a space or an offset.

    `zone` is that of a time without one. Raises FormatError, with `where`, if the text is not such
    a time, or has no zone and `zone` is None.
    """
    match = _ISO.fullmatch(text)
    if match is None:
        raise FormatError(f'{where}: "{text}" is not a time such as 2026-11-28T08:24:20Z')
    *day_and_time, fraction, offset = match.groups()
    year, month, day, hour, minute, second = map(int, day_and_time)
    if offset is None and zone is None:
        raise FormatError(
            f'{where}: "{text}" is a local time, and the file does not say of which zone'
        )
    try:
        moment = datetime(year, month, day, hour, minute, second)
        if offset is None:
            since = moment.replace(tzinfo=zone).timestamp()
        else:
            since = moment.replace(tzinfo=UTC).timestamp() - _offset(offset).total_seconds()
    except (ValueError, OverflowError) as error:
        raise FormatError(f'{where}: "{text}" is no time: {error}') from None
    return since + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)


def mail_s(text: str, where: str) -> float:
    """Seconds since 1970 of `Sat, 28 Nov 2026 08:24:20 GMT` (RFC 9110, 5.6.7). Raises FormatError,
    with `where`, if the text is not such a time."""
    match = _MAIL.fullmatch(text)
    month, rest = divmod(_MONTHS.find(match[2]) if match else -1, 3)
    if match is None or month < 0 or rest:
        raise FormatError(f'{where}: "{text}" is not a time such as Sat, 28 Nov 2026 08:24:20 GMT')
    return iso_s(
        f"{match[3]}-{month + 1:02}-{int(match[1]):02}T{match[4]}:{match[5]}:{match[6]}Z", where
    )


def _offset(text: str) -> timedelta:
    if text in ("Z", "UTC"):
        return timedelta(0)
    hours, minutes = int(text[1:3]), int(text[-2:])
    span = timedelta(hours=hours, minutes=minutes)
    return span if text[0] == "+" else -span
