"""Traces of Mahimahi: when packets may leave a link."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Final

from netstudy.formats.measured import FormatError

_PACKET_BITS: Final = 1500 * 8
_MS_NS: Final = 1_000_000
_LONGEST_MS: Final = 3_600_000
"""An hour."""


def rate_steps(file: Path) -> tuple[tuple[int, int], ...]:
    """The rates of a trace in turn: for how many ns each lasts, and bit/s.

    Each line is a time in ms at which a packet of 1500 bytes may leave, in order; the last one is
    the length of the trace (Netravali et al., USENIX ATC 2015, 4.1). The packets of a millisecond
    are its rate. Raises FormatError with the line, and OSError.
    """
    times_ms = [
        _time_ms(number, line)
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), start=1)
    ]
    if not times_ms or times_ms[-1] == 0:
        raise FormatError("has no time after 0 ms")
    for number, (time_ms, before_ms) in enumerate(zip(times_ms[1:], times_ms, strict=False), 2):
        if time_ms < before_ms:
            raise FormatError(f"line {number}: {time_ms} ms is before {before_ms} ms")
    # Packets that may leave at a time have been carried in the millisecond before it.
    packets = Counter(max(time_ms, 1) for time_ms in times_ms)
    rates = (packets[ms] * _PACKET_BITS * 1000 for ms in range(1, times_ms[-1] + 1))
    return tuple((len([*same]) * _MS_NS, rate) for rate, same in groupby(rates))


def _time_ms(number: int, line: str) -> int:
    text = line.strip()
    if not text.isascii() or not text.isdigit():
        raise FormatError(f"line {number}: {text[:20]!r} is not a time in ms")
    if int(text) > _LONGEST_MS:
        raise FormatError(f"line {number}: a trace may last {_LONGEST_MS} ms at most")
    return int(text)
