"""Quantities as text: "10 Gbit/s", "4 MB", "200 ms", "2 %". Values are exact, and only listed units
are known.

Inside the program a rate is an integer of bit/s, a size an integer of bytes, a duration an integer
of nanoseconds. A text that is not a whole number of these is refused, and so is every unit that is
not in the list, since a guess could be wrong: `mbit/s` could be millibits. Rates are decimal (1
Mbit/s = 10^6 bit/s); sizes are decimal (kB, MB) or binary (KiB, MiB) as written.

The module also has the sizes of headers, for all code that counts packets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal

IP_TCP_HEADER_BYTES = 40
"""IPv4 (RFC 791, 3.1) and TCP (RFC 9293, 3.1), without options."""
TIMESTAMPS_BYTES = 12
"""TCP's timestamps, padded to whole words (RFC 7323, appendix A)."""
ETHERNET_HEADER_BYTES = 14
CHECK_SEQUENCE_BYTES = 4
"""Bytes of an Ethernet frame's check sequence, which the kernel's interfaces do not count (IEEE
802.3, 3.1.1)."""
FRAMING_BYTES = ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES + 20
"""Bytes on the wire in addition to a packet: header and check sequence, preamble and delimiter (8),
and the gap between frames (12) (IEEE 802.3, 3.1.1 and 4.4.2)."""
UNCOUNTED_BYTES = FRAMING_BYTES - ETHERNET_HEADER_BYTES
"""The number of the FRAMING_BYTES that the kernel's interfaces do not count."""

_MICRO_SIGN = "\u00b5"
_GREEK_MU = "\u03bc"  # looks the same as the micro sign; texts may have either
_MICRO_SECOND = f"{_MICRO_SIGN}s"  # accepted as input; the output is "us"

_MOST = 2**63 - 1
"""The largest value that fits the engine's integers; a larger quantity is a typing mistake."""
_SHOWN = 40
"""The most characters of a wrong text that a message repeats."""

_QUANTITY = re.compile(r"(?P<number>[+-]?\d{1,30}(?:\.\d{1,400})?)\s*(?P<unit>[^\d\s.+-].*)?")


class UnitError(ValueError):
    """The text is not a quantity of the required kind; the message says what would be right."""


@dataclass(frozen=True, eq=False)
class Dimension:
    """A kind of quantity: the units, each with its value in the base unit, and common
    misspellings."""

    name: str
    units: Mapping[str, int]
    """Spelling -> value in the base unit, smallest first."""
    example: str
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Common misspelling in lower case -> the unit that was most likely meant."""
    zero: bool = True
    """Whether 0 is allowed."""

    @property
    def listed(self) -> str:
        """The units in a sentence: "bit/s, kbit/s or Mbit/s"."""
        *head, last = (unit for unit in self.units if unit != _MICRO_SECOND)
        return f"{', '.join(head)} or {last}" if head else last


RATE = Dimension(
    "rate",
    {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12},
    "10 Gbit/s",
    aliases={
        spelling.format(prefix): f"{unit}bit/s"
        for prefix, unit in (("", ""), ("k", "k"), ("m", "M"), ("g", "G"), ("t", "T"))
        for spelling in ("{}bit/s", "{}bits/s", "{}bps", "{}b/s", "{}bit", "{}bits", "{}bit/sec")
    }
    | {"k": "kbit/s", "m": "Mbit/s", "g": "Gbit/s", "t": "Tbit/s"},
    zero=False,
)

SIZE = Dimension(
    "size",
    {
        "B": 1,
        "kB": 10**3,
        "KiB": 2**10,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
    },
    "4 MB",
    aliases={
        spelling.format(prefix): f"{unit}B"
        for prefix, unit in (("", ""), ("k", "k"), ("m", "M"), ("g", "G"), ("t", "T"))
        for spelling in ("{}b", "{}byte", "{}bytes")
    }
    | {f"{prefix}ib": f"{prefix.upper()}iB" for prefix in "kmg"}
    | {"k": "kB", "m": "MB", "g": "GB", "t": "TB", "o": "B", "octets": "B"},
)

DURATION = Dimension(
    "duration",
    {
        "ns": 1,
        "us": 10**3,
        _MICRO_SECOND: 10**3,
        "ms": 10**6,
        "s": 10**9,
        "min": 60 * 10**9,
        "h": 3600 * 10**9,
    },
    "200 ms",
    aliases={
        "usec": "us",
        "u": "us",
        "msec": "ms",
        "millis": "ms",
        "sec": "s",
        "secs": "s",
        "second": "s",
        "seconds": "s",
        "m": "min",
        "mins": "min",
        "minute": "min",
        "minutes": "min",
        "hr": "h",
        "hour": "h",
        "hours": "h",
    },
)

PERCENT = Dimension("percentage", {"%": 1}, "2 %", aliases={"percent": "%", "pct": "%"})

FINE_PERCENT = Dimension("percentage", {"%": 10**4}, "2.5 %", aliases=PERCENT.aliases)
"""A percentage counted in millionths, for values below one percent."""

PACKET_RATE = Dimension(
    "packet rate",
    {"packets/s": 1},
    "80000 packets/s",
    aliases={"pps": "packets/s", "packet/s": "packets/s", "p/s": "packets/s"},
    zero=False,
)

BYTE_COST = Dimension(
    "cost a byte",
    {"ps/B": 1, "ns/B": 10**3, "us/B": 10**6},
    "5 ns/B",
    aliases={
        spelling: f"{unit}/B"
        for unit in ("ps", "ns", "us")
        for spelling in (f"{unit}/byte", f"{unit} per byte", f"{unit}/b", f"{unit}/bytes")
    },
)

_DIMENSIONS = (RATE, SIZE, DURATION, PERCENT, PACKET_RATE, BYTE_COST)


def header_bytes(*, timestamps: bool) -> int:
    """Header bytes of a packet with TCP data."""
    return IP_TCP_HEADER_BYTES + (TIMESTAMPS_BYTES if timestamps else 0)


def payload_bytes(mtu_bytes: int, *, timestamps: bool) -> int:
    """Payload bytes of a full segment."""
    return mtu_bytes - header_bytes(timestamps=timestamps)


def segments_of(size_bytes: int, payload: int) -> int:
    """Number of segments of a message; the last one may be shorter."""
    return -(-size_bytes // payload)


def bytes_in(rate_bps: int, time_ns: int) -> int:
    """Whole bytes that a link carries in the given time."""
    return rate_bps * time_ns // 8_000_000_000


def parse_rate(text: object) -> int:
    """Read a rate such as "10 Gbit/s" into bit/s. Raises UnitError, also for a rate of 0."""
    return _whole(text, RATE, "bit/s")


def parse_size(text: object) -> int:
    """Read a size such as "4 MB" or "20 KiB" into bytes. Raises UnitError."""
    return _whole(text, SIZE, "bytes")


def parse_duration(text: object) -> int:
    """Read a duration such as "200 ms" into nanoseconds. Raises UnitError."""
    return _whole(text, DURATION, "nanoseconds")


def parse_packet_rate(text: object) -> int:
    """Read a rate such as "80000 packets/s" into packets a second. Raises UnitError."""
    return _whole(text, PACKET_RATE, "packets a second")


def parse_byte_cost(text: object) -> int:
    """Read a cost such as "5 ns/B" into picoseconds a byte. Raises UnitError."""
    return _whole(text, BYTE_COST, "picoseconds a byte")


def parse_percent(text: object) -> float:
    """Read a percentage such as "2 %" into 2.0. Raises UnitError."""
    return float(_read(text, PERCENT))


def parse_processor_share(text: object) -> float:
    """Read a share of a CPU such as "12.5 %" into 12.5. Raises UnitError if it is not a multiple of
    the kernel's resolution, which is 1 µs in a period of 100 ms."""
    value = _read(text, PERCENT)
    if (1_000 * value).denominator != 1:
        raise UnitError(f'"{text}" is no whole number of thousandths of a percent')
    return float(value)


def parse_whole_percent(text: object) -> int:
    """Read a percentage without a fraction such as "20 %" into 20. Raises UnitError."""
    return _whole(text, PERCENT, "percent")


def parse_ppm(text: object) -> int:
    """Read a percentage in millionths: "2.5 %" is 25,000. Raises UnitError."""
    return _whole(text, FINE_PERCENT, "millionths")


def quantity(text: str) -> tuple[str, Fraction] | None:
    """A number with or without a unit as (kind, value in the base unit): "1MB" and "1 MB" are the
    same; the kind of a bare number is empty. None: not a quantity, or an unknown unit."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        return None
    number, unit = Fraction(match["number"]), match["unit"]
    if unit is None:
        return "", number
    spelt = unit.strip().replace(_GREEK_MU, _MICRO_SIGN)
    worths = ((one.name, one.units[spelt]) for one in _DIMENSIONS if spelt in one.units)
    return next(((name, number * worth) for name, worth in worths), None)


def format_in(dimension: Dimension, value: int) -> str:
    """Write a number of base units in the unit that makes the text shortest, exactly."""
    return _shortest(value, dimension)


def format_rate(rate_bps: int) -> str:
    """Write a rate in the unit that makes it shortest, exactly: 10_000_000_000 -> "10 Gbit/s"."""
    return _shortest(rate_bps, RATE)


def format_size(size_bytes: int) -> str:
    """Write a size in the unit that makes it shortest, exactly: 20_480 -> "20 KiB"."""
    return _shortest(size_bytes, SIZE)


def rough_size(size_bytes: int) -> str:
    """A rounded size for people, with three digits at most: 1.2 MB, 528 GB."""
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(max(len(str(size_bytes)) - 1, 0) // 3, len(units) - 1)
    value = size_bytes / 1000**power
    decimals = 1 if power and value < 99.95 else 0
    return f"{value:,.{decimals}f} {units[power]}"


def rough_duration(duration_ns: float) -> str:
    """A duration for people, to three digits: 3_358_719 -> "3.36 ms"."""
    units = ("ns", "µs", "ms", "s")
    power = min(max(len(str(round(duration_ns))) - 1, 0) // 3, len(units) - 1)
    return f"{duration_ns / 1000**power:.3g} {units[power]}"


def format_duration(duration_ns: int) -> str:
    """Write a duration in the unit that makes it shortest, exactly: 200_000_000 -> "200 ms"."""
    return _shortest(duration_ns, DURATION)


def _whole(text: object, dimension: Dimension, base: str) -> int:
    value = _read(text, dimension)
    if value.denominator != 1:
        raise UnitError(f'"{text}" is not a whole number of {base}')
    return value.numerator


def parse_scale(text: object) -> Fraction:
    """Read the factor for rates: "1/10" or 0.1, above 0 and at most 1. Raises UnitError."""
    written = str(text).replace(" ", "")
    try:
        scale = Fraction(written)
    except (ValueError, ZeroDivisionError):
        raise UnitError(f'a scale is a fraction such as 1/10, not "{text}"') from None
    if isinstance(text, bool) or not 0 < scale <= 1:
        raise UnitError(f"a scale is above 0 and at most 1, not {text}")
    return scale


def _read(text: object, dimension: Dimension) -> Fraction:
    number, unit = _split(text, dimension)
    if unit not in dimension.units:
        raise UnitError(_wrong_unit(str(text).strip(), number, unit, dimension))
    if number.startswith("-"):
        raise UnitError(f'"{text}": a {dimension.name} cannot be negative')
    value = Fraction(number) * dimension.units[unit]
    if value > _MOST:
        raise UnitError(f'"{text}" is more than netstudy can count')
    if value == 0 and not dimension.zero:
        raise UnitError(f'"{text}": a {dimension.name} must be above 0')
    return value


def _split(text: object, dimension: Dimension) -> tuple[str, str]:
    if isinstance(text, bool) or not isinstance(text, int | float | Decimal | str):
        raise UnitError(
            f"a {dimension.name} is a number with a unit, such as {_example(dimension)}"
        )
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None:
        shown = f"{text}"[:_SHOWN] + ("…" if len(f"{text}") > _SHOWN else "")
        raise UnitError(
            f'"{shown}" is not a {dimension.name}; write a number and a unit, '
            f"such as {_example(dimension)}"
        )
    if match["unit"] is None:
        raise UnitError(
            f"{text} has no unit; a {dimension.name} is in {dimension.listed}, "
            f"such as {_example(dimension)}"
        )
    return match["number"], match["unit"].strip().replace(_GREEK_MU, _MICRO_SIGN)


def _wrong_unit(text: str, number: str, unit: str, dimension: Dimension) -> str:
    question = _bytes_per_second(text, number, unit, dimension) or _kilo(
        text, number, unit, dimension
    )
    if question:
        return question
    for other in _DIMENSIONS:
        if unit in other.units and other is not dimension:
            hint = _hint(number, dimension.aliases.get(unit.lower()))
            said = f'"{text}" is a {other.name}, not a {dimension.name}'
            return said + (hint or _list_of(dimension))
    meant = dimension.aliases.get(unit.lower()) or _same_letters(unit, dimension)
    return f'"{text}": unknown unit "{unit}"{_hint(number, meant) or _list_of(dimension)}'


def _hint(number: str, unit: str | None) -> str:
    return f'; did you mean "{number} {unit}"?' if unit else ""


def _list_of(dimension: Dimension) -> str:
    return f"; a {dimension.name} is in {dimension.listed}"


def _same_letters(unit: str, dimension: Dimension) -> str | None:
    return next((known for known in dimension.units if known.lower() == unit.lower()), None)


def _bytes_per_second(text: str, number: str, unit: str, dimension: Dimension) -> str | None:
    """`10 GB/s` is eight times `10 Gbit/s`: suggests both readings."""
    match = re.fullmatch(r"([kKMGT]?)B(?:/s|ps)", unit)
    if dimension is not RATE or match is None or number.startswith("-"):
        return None
    prefix = match[1].replace("K", "k")
    bits = _plain(Decimal(number) * 8)
    return (
        f'"{text}" counts bytes, and a rate is in bit/s; '
        f'did you mean "{bits} {prefix}bit/s" (the same) or "{number} {prefix}bit/s"?'
    )


def _kilo(text: str, number: str, unit: str, dimension: Dimension) -> str | None:
    """`KB` means 1000 bytes to some and 1024 to others: suggests both."""
    if dimension is not SIZE or unit not in {"KB", "K"}:
        return None
    return (
        f'"{text}": unknown unit "{unit}"; '
        f'did you mean "{number} kB" (1000 bytes) or "{number} KiB" (1024 bytes)?'
    )


def _example(dimension: Dimension) -> str:
    return f'"{dimension.example}"'


def _shortest(value: int, dimension: Dimension) -> str:
    if value < 0:
        raise UnitError(f"a {dimension.name} cannot be negative, got {value}")
    texts = [
        f"{_plain(Decimal(value) / worth)} {unit}"
        for unit, worth in reversed(list(dimension.units.items()))
        if unit != _MICRO_SECOND and _is_exact(value, worth)
    ]
    if not texts:  # the base unit is smaller than any unit: millionths, written in percent
        unit, worth = next(iter(dimension.units.items()))
        return f"{_plain(Decimal(value) / worth)} {unit}"
    return min(texts, key=len)


def _is_exact(value: int, worth: int) -> bool:
    """Whether value/worth is at least 1 (or worth is the base unit) and a finite, short decimal."""
    if worth == 1:
        return True
    return value >= worth and value * 10**12 % worth == 0 and value < 10**18


def _plain(number: Decimal, separator: Literal["", ","] = "") -> str:
    text = format(number, f"{separator}f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_number(value: float, separator: Literal["", ","] = "") -> str:
    """A number with all digits and without an exponent: 1000000, 0.0001234567. `separator` is put
    between thousands."""
    return _plain(Decimal(repr(float(value))), separator)


def format_count(number: int, noun: str) -> str:
    """A number of things with its noun: 1 run, 1,200 runs."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
