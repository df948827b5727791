"""Logs of HdrHistogram, encodings V0 to V2 (`.hlog`), also with tags.

Each line has an interval's histogram, compressed. V2 is decoded by the package hdrhistogram; V0 and
V1, which it does not know, are decoded here after the Java library's description of the fields.

A log does not say the unit of its values. The interval's maximum in its third column is divided by
a ratio that the writer chose: 1,000,000 by default, which the library documents as "msec : nsec".
The ratio is found by comparing the column with the histograms. With 1,000,000 the values are given
in milliseconds, with any other one as they were recorded, without a unit.
"""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from netstudy.formats import numbers
from netstudy.formats.measured import (
    Content,
    FormatError,
    Histogram,
    Measurement,
    Quantity,
    Series,
)
from netstudy.formats.plain_text import text_of
from netstudy.wire import Check

Integers = NDArray[np.int64]

_NUMBER: Final = r"\d+(?:\.\d*)?"
_ROW: Final = re.compile(
    rf"(?:Tag=(?P<tag>[^,\s]*),)?(?P<start>{_NUMBER}),(?P<length>{_NUMBER}),(?P<most>{_NUMBER}),"
    r"(?P<code>HIST[A-Za-z0-9+/=]+)\s*"
)
_COMMENT: Final = re.compile(rf"#\[(?P<what>StartTime|BaseTime): (?P<seconds>{_NUMBER}) .*")
_LEGEND: Final = '"StartTimestamp"'
_RECOGNISED: Final = re.compile(
    rb'^#\[Histogram log format version |^"StartTimestamp","(?:Interval_Length|EndTimestamp)",'
    rb"|^(?:Tag=[^,\s]*,)?\d[\d.]*,\d[\d.]*,\d[\d.]*,HIST[A-Za-z0-9+/]",
    re.MULTILINE,
)
_RATIOS: Final = (1_000_000, 1_000, 1, 1_000_000_000)
_MS_RATIO: Final = 1_000_000
_YEAR_S: Final = 365 * 24 * 3600.0
_MOST_BYTES: Final = 100_000_000
"""Decompressed histograms with five digits over all of 64 bits have 67 MB."""

# The lowest byte but its upper half, which has the size of a counter (AbstractHistogram.java).
_V0, _V1, _V2 = 0x1C849308, 0x1C849301, 0x1C849303
_PACKED: Final = {0x1C849309: _V0, 0x1C849302: _V1, 0x1C849304: _V2}
"""Cookie of the compressed histogram -> cookie inside."""
_WITHOUT_SIZE: Final = 0xFFFFFF0F

_QUANTITIES: Final = (
    Quantity(
        "recorded_ms",
        "recorded time",
        "ms",
        "lower",
        3,
        "The values of an HdrHistogram that were recorded in ns, as the ratio of 1,000,000 between "
        "them and Interval_Max says. The log does not say what was timed, nor if a late start of a "
        "request is in it.",
    ),
    Quantity(
        "recorded_value",
        "recorded value",
        "",
        "neither",
        0,
        "The values of an HdrHistogram as they were recorded; the log does not say their unit.",
    ),
)


@dataclass(frozen=True, eq=False)
class _Counts:
    """The buckets of a histogram that are not empty, ascending."""

    lowest: Integers
    highest: Integers
    counts: Integers


@dataclass(frozen=True, eq=False)
class _Interval:
    line: int
    tag: str
    start_s: float
    length_s: float
    most: str
    """The interval's maximum, divided by the log's ratio, as printed."""
    counts: _Counts


@dataclass(frozen=True)
class _Times:
    zero_s: float | None
    """Time since 1970 to which the lines' times are relative; None: the log does not say."""


class _HdrLog:
    name = "hdr-log"
    title = "HdrHistogram logs (.hlog), encodings V0 to V2"
    quantities = _QUANTITIES
    left_out = (
        "Histograms of doubles are refused, because their values are scaled by a ratio that "
        "differs from line to line.",
    )

    def recognises(self, head: bytes) -> bool:
        return _RECOGNISED.search(head) is not None

    def read(self, data: bytes) -> Content:
        lines = text_of(data).split("\n")
        notes: list[str] = []
        intervals = list(_intervals(lines, notes))
        if not intervals:
            raise FormatError("the log has no histogram")
        zero = _zero_s(lines, intervals)
        by_tag = sorted(intervals, key=lambda each: each.tag)
        ratio, check = _ratio(intervals)
        if ratio != _MS_RATIO:
            notes.append(
                "The log does not say the unit of its values; they are given as they were recorded."
            )
        return tuple(
            _measurement(tag, list(group), zero, ratio, check, notes)
            for tag, group in groupby(by_tag, key=lambda each: each.tag)
        )


FORMAT: Final = _HdrLog()


def _intervals(lines: Sequence[str], notes: list[str]) -> Iterator[_Interval]:
    unknown = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith(("#", _LEGEND)):
            continue
        match = _ROW.fullmatch(text)
        if match is None:
            if "HIST" in text or text.startswith(("Tag=", *"0123456789.")):
                raise FormatError(_not_a_row(number, text))
            unknown.append(number)
            continue
        yield _Interval(
            number,
            match["tag"] or "",
            numbers.decimal(match["start"], f"line {number}"),
            numbers.decimal(match["length"], f"line {number}"),
            match["most"],
            _decoded(match["code"], number),
        )
    if unknown:
        notes.append(
            f"Lines that are no histogram are left out: {len(unknown)}, the first is {unknown[0]}."
        )


def _not_a_row(number: int, text: str) -> str:
    if text.count(",") > 4 and "Tag=" not in text:
        return f"line {number}: has decimal commas; write the log with Locale.US, or LC_ALL=C"
    return f"line {number}: start, length, maximum and a histogram are expected; was it cut off?"


def _zero_s(lines: Sequence[str], intervals: Sequence[_Interval]) -> float | None:
    """Times of lines are relative to BaseTime. Without one they are relative to StartTime if they
    are more than a year before it, and absolute otherwise, as in the library's reader."""
    said: dict[str, float] = {}
    for line in lines:
        if match := _COMMENT.match(line):
            said.setdefault(match["what"], float(match["seconds"]))
    first = intervals[0].start_s
    start = said.get("StartTime")
    if "BaseTime" in said:
        zero = said["BaseTime"]
    elif start is not None and first < start - _YEAR_S:
        zero = start
    else:
        zero = 0.0
    # Seconds that are no instant after 1971 are relative to something that the log does not say.
    return zero if zero + first > _YEAR_S else None


# --- the unit ---


def _ratio(intervals: Sequence[_Interval]) -> tuple[int | None, Check]:
    """The ratio between recorded values and Interval_Max; None: the lines allow several."""
    filled = [each for each in intervals if each.counts.highest.any()]
    broken = {ratio: [each for each in filled if not _fits(each, ratio)] for ratio in _RATIOS}
    best = min(_RATIOS, key=lambda ratio: len(broken[ratio]))
    fitting = [ratio for ratio in _RATIOS if not broken[ratio]]
    detail = f"{len(filled)} histograms compared, ratio {best:,}"
    if broken[best]:
        wrong = broken[best][0]
        detail = (
            f"line {wrong.line}: Interval_Max is {wrong.most}, the histogram's largest bucket is "
            f"{int(wrong.counts.lowest[-1]):,} to {int(wrong.counts.highest[-1]):,} "
            f"(ratio {best:,})"
        )
    check = Check(
        law="Interval_Max is the largest value of the histogram",
        holds=not broken[best],
        detail=detail,
    )
    return (None if len(fitting) > 1 else best), check


def _fits(interval: _Interval, ratio: int) -> bool:
    said, half = float(interval.most), numbers.half_a_digit(interval.most)
    lowest, highest = int(interval.counts.lowest[-1]), int(interval.counts.highest[-1])
    if lowest - half * ratio <= said * ratio <= highest + half * ratio:
        return True
    # The Python library cuts the quotient off to a whole number.
    return said.is_integer() and lowest // ratio <= said <= highest // ratio


# --- measurements ---


def _measurement(
    tag: str,
    intervals: list[_Interval],
    zero_s: float | None,
    ratio: int | None,
    check: Check,
    notes: Sequence[str],
) -> Measurement:
    intervals.sort(key=lambda each: each.start_s)
    starts = np.array([each.start_s for each in intervals], float)
    ends = starts + np.array([each.length_s for each in intervals], float)
    quantity, scale = ("recorded_ms", 1e-6) if ratio == _MS_RATIO else ("recorded_value", 1.0)
    means = np.array([_mean(each.counts) * scale for each in intervals], float)
    first, last = float(starts[0]), float(ends.max())
    total = _merged([each.counts for each in intervals])
    window = None if zero_s is None else (zero_s + first, zero_s + last)
    return Measurement(
        tool="HdrHistogram",
        started_s=None if window is None else window[0],
        window_s=window,
        settings={"tag": tag} if tag else {},
        series=(Series(tag, starts - first, ends - first, {quantity: means}),),
        histograms=(
            Histogram(
                quantity,
                total.lowest.astype(np.float64) * scale,
                total.highest.astype(np.float64) * scale,
                total.counts,
            ),
        ),
        checks=(check,),
        notes=tuple(notes),
    )


def _mean(counts: _Counts) -> float:
    """Mean of a histogram, each value in the middle of its bucket as in the library; NaN if the
    histogram is empty."""
    if not len(counts.counts):
        return math.nan
    return float(np.average((counts.lowest + (counts.highest + 1)) / 2, weights=counts.counts))


def _merged(parts: Sequence[_Counts]) -> _Counts:
    lowest = np.concatenate([part.lowest for part in parts])
    highest = np.concatenate([part.highest for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    buckets, where = np.unique(np.stack([lowest, highest]), axis=1, return_inverse=True)
    total = np.zeros(buckets.shape[1], np.int64)
    np.add.at(total, where.reshape(-1), counts)
    return _Counts(buckets[0], buckets[1], total)


# --- histograms ---


def _decoded(code: str, line: int) -> _Counts:
    try:
        return _buckets(code)
    except FormatError as error:
        raise FormatError(f"line {line}: {error}") from None
    except Exception as error:  # of base64, zlib, struct and the package's own classes
        reason = f"{type(error).__name__} {error}".strip()
        raise FormatError(f"line {line}: the histogram is damaged ({reason})") from error


def _buckets(code: str) -> _Counts:
    packed = base64.b64decode(code, validate=True)
    cookie, length = struct.unpack_from(">II", packed)
    inner = _PACKED.get(cookie & _WITHOUT_SIZE)
    if inner is None:
        raise FormatError(f"the histogram's encoding 0x{cookie:08x} is none of V0, V1 and V2")
    if length != len(packed) - 8:
        raise FormatError(f"the histogram has {len(packed) - 8} bytes, {length} are announced")
    unpacked = _unpacked(packed[8:])
    found = struct.unpack_from(">I", unpacked)[0]
    if found & _WITHOUT_SIZE != inner:
        raise FormatError(f"the histogram begins with 0x{found:08x}")
    if inner == _V2:
        return _of_package(code, unpacked)
    return _of_fixed_counters(unpacked, inner, (found & 0xF0) >> 4)


def _unpacked(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    found = stream.decompress(data, _MOST_BYTES)
    if not stream.eof:
        raise FormatError("the histogram was cut off, or is too large")
    return found


def _of_package(code: str, unpacked: bytes) -> _Counts:
    """Decodes V2 by the package, after a check of the fields, on which it would fail."""
    from hdrh.histogram import HdrHistogram  # it is slow to import

    _, _, offset, digits, lowest, highest, ratio = struct.unpack_from(">IIIIQQd", unpacked)
    _require(offset, digits, lowest, highest, ratio)
    histogram = HdrHistogram.decode(code)
    return _of_counters(histogram, np.frombuffer(histogram.counts, np.uint64).astype(np.int64))


def _of_fixed_counters(unpacked: bytes, version: int, size: int) -> _Counts:
    """Decodes V0 and V1: counters of a fixed size."""
    from hdrh.histogram import HdrHistogram

    if version == _V0:
        _, digits, lowest, highest, total = struct.unpack_from(">IIQQQ", unpacked)
        body, offset, ratio = unpacked[struct.calcsize(">IIQQQ") :], 0, 1.0
    else:
        _, length, offset, digits, lowest, highest, ratio = struct.unpack_from(">IIIIQQd", unpacked)
        begin = struct.calcsize(">IIIIQQd")
        body, total = unpacked[begin : begin + length], None
    _require(offset, digits, lowest, highest, ratio)
    if size not in (2, 4, 8):
        raise FormatError(f"the histogram has counters of {size} bytes")
    counters = np.frombuffer(body[: len(body) // size * size], f">u{size}").astype(np.int64)
    histogram = HdrHistogram(lowest, highest, digits)
    if len(counters) > histogram.counts_len:
        raise FormatError("the histogram has more counters than buckets")
    found = _of_counters(histogram, counters)
    if total is not None and total != int(found.counts.sum()):
        raise FormatError(f"the histogram has {found.counts.sum()} values, {total} are announced")
    return found


def _require(offset: int, digits: int, lowest: int, highest: int, ratio: float) -> None:
    if offset or ratio != 1.0:
        raise FormatError("it is a histogram of doubles or a shifted one, which is not read")
    if not 1 <= digits <= 5 or not 1 <= lowest <= highest // 2 or highest >= 2**63:
        raise FormatError(
            f"a histogram from {lowest} to {highest} with {digits} digits does not exist"
        )


def _of_counters(histogram: Any, counters: Integers) -> _Counts:
    """The buckets of counters that are not 0."""
    if (counters < 0).any():
        raise FormatError("a counter is below 0")
    index = np.flatnonzero(counters)
    magnitude, half = histogram.sub_bucket_half_count_magnitude, histogram.sub_bucket_half_count
    bucket = (index >> magnitude) - 1
    within = (index & (half - 1)) + np.where(bucket < 0, 0, half)
    shift = np.maximum(bucket, 0) + histogram.unit_magnitude
    lowest = within << shift
    return _Counts(lowest, lowest + (np.int64(1) << shift) - 1, counters[index])
