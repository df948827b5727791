"""Text of wrk and of wrk2, load generators for HTTP.

Each number has its own unit: a column may have `53.31us` above `36.00s`. Times are in units of
1,000 and 60, sizes in units of 1,024 (`MB` is 2^20 bytes). wrk2 prints in addition the whole
histogram of latencies, in milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from netstudy.formats import laws
from netstudy.formats.measured import FormatError, Histogram, Measurement, Quantity
from netstudy.formats.numbers import decimal, half_a_digit, is_finite, scaled, whole
from netstudy.formats.plain_text import text_of
from netstudy.wire import Check

_MS: Final = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}
_BYTES: Final = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_STATISTICS: Final = {
    "50": "p50",
    "75": "p75",
    "90": "p90",
    "99": "p99",
    "99.9": "p999",
    "99.99": "p9999",
    "99.999": "p99999",
    "100": "max",
}
"""Percentile -> statistic in the name of a value."""

_CLOSED: Final = "closed_loop_latency_ms"
_CORRECTED: Final = "corrected_latency_ms"
_UNCORRECTED: Final = "uncorrected_latency_ms"

_RUNNING: Final = re.compile(r"Running (?P<time>\S+) test @ (?P<target>\S+)")
_THREADS: Final = re.compile(r"\s+(?P<threads>\d+) threads and (?P<connections>\d+) connections")
_LATENCY: Final = re.compile(r"\s+Latency +(?P<mean>\S+) +(?P<deviation>\S+) +(?P<max>\S+) +\S+%")
_DISTRIBUTION: Final = re.compile(r"\s+Latency Distribution(?: \(HdrHistogram - (?P<kind>\w+).*)?$")
_PERCENTILE: Final = re.compile(r"\s*(?P<percent>\d+(?:\.\d+)?)%\s+(?P<value>\S+)$")
_SPECTRUM: Final = re.compile(
    r"\s*(?P<value>\d+\.\d+)\s+(?P<share>[01]\.\d+)\s+(?P<count>\d+)\s+(?:\d+\.\d+|inf)$"
)
_TOTAL: Final = re.compile(r"#\[Max +=.*Total count += +(?P<count>\d+)\]")
_REQUESTS: Final = re.compile(r"\s+(?P<count>\d+) requests in (?P<time>\S+), (?P<size>\S+)B read")
_ERRORS: Final = re.compile(
    r"\s+Socket errors: connect (?P<connect>\d+), read (?P<read>\d+), write (?P<write>\d+), "
    r"timeout (?P<timeout>\d+)"
)
_STATUS: Final = re.compile(r"\s+Non-2xx or 3xx responses: (?P<count>\d+)")
_RATE: Final = re.compile(r"Requests/sec:\s+(?P<rate>\S+)")
_TRANSFER: Final = re.compile(r"Transfer/sec:\s+(?P<size>\S+)B")
_NOT_CONNECTED: Final = re.compile(r"unable to (?:connect to|resolve) \S.*")
_NUMBER_AND_UNIT: Final = re.compile(r"([-+]?[0-9.,]+|[-+]?nan|[-+]?inf)([A-Za-z]*)")

_QUANTITIES: Final = (
    Quantity(
        "requests_per_s",
        "requests answered a second",
        "1/s",
        "higher",
        1,
        "responses ÷ the time of the test, also responses with an error's status; with wrk2 it is "
        "the offered rate unless the server cannot keep up",
    ),
    Quantity(
        _CLOSED,
        "latency of a closed loop",
        "ms",
        "lower",
        3,
        "wrk: time from the writing of a request to its response. A connection sends the next one "
        "only after it, so that a slow server is asked less often; wrk 4 adds estimated samples "
        "for requests that it did not send. It is not comparable with the latency of an open loop",
    ),
    Quantity(
        _CORRECTED,
        "latency from when a request was due",
        "ms",
        "lower",
        3,
        "wrk2: time from when a request should have been sent, at the constant rate asked for, to "
        "its response; after the calibration of the first 10 s",
    ),
    Quantity(
        _UNCORRECTED,
        "latency from when a request was sent",
        "ms",
        "lower",
        3,
        "wrk2 -U: time from when a request was sent; without the time that it waited because "
        "earlier responses were late",
    ),
    Quantity(
        "wrk_read_mbps",
        "rate of the bytes read",
        "Mbit/s",
        "higher",
        1,
        "bytes of responses with their headers ÷ the time of the test; unlike goodput_mbps not "
        "only the bodies",
    ),
    Quantity(
        "socket_errors",
        "socket errors",
        "",
        "lower",
        0,
        "errors of connect, read and write, and timeouts; wrk prints none where there were none",
    ),
    Quantity(
        "error_responses",
        "responses with an error's status",
        "",
        "lower",
        0,
        "responses whose status is not 2xx or 3xx; they count as requests, with their latency",
    ),
)

_LEFT_OUT: Final = (
    "The table of threads' Req/Sec is a sample of rates, and requests_per_s has the whole.",
    "The standard deviation of latencies is left out; the histogram of wrk2 has it.",
    "Output of a script after the results (function done) is left out.",
    "A test of wrk2 of less than 10 s without -L prints the same text as wrk, so that it is read "
    "as one of wrk.",
)


class Wrk:
    """The format of wrk and wrk2."""

    name = "wrk"
    title = "text of wrk and wrk2"
    quantities = _QUANTITIES
    left_out = _LEFT_OUT

    def recognises(self, head: bytes) -> bool:
        """See Format."""
        lines = head.decode(errors="replace").splitlines()
        return any(_RUNNING.match(line) for line in lines) or _never_connected(lines) is not None

    def read(self, data: bytes) -> tuple[Measurement, ...]:
        """See Format."""
        lines = text_of(data).splitlines()
        error = _never_connected(lines)
        if error is not None:
            return (Measurement(tool="wrk", error=error),)
        tests: list[_Test] = []
        for index, line in enumerate(lines):
            where = f"line {index + 1}"
            if match := _RUNNING.match(line):
                tests.append(_Test(target=match["target"]))
            elif tests:
                tests[-1].take(line, where)
        if not tests:
            raise FormatError("the file has no test of wrk: no line begins with Running")
        return tuple(test.measurement() for test in tests)


FORMAT: Final = Wrk()


def _never_connected(lines: Sequence[str]) -> str | None:
    """The error of a file that has nothing else."""
    filled = [line.strip() for line in lines if line.strip()]
    return filled[0] if len(filled) == 1 and _NOT_CONNECTED.fullmatch(filled[0]) else None


@dataclass
class _Read:
    """A number with the most by which it was rounded, in the unit of its quantity."""

    value: float
    half: float


@dataclass
class _Distribution:
    """One distribution of latencies."""

    quantity: str
    percentiles: dict[str, _Read] = field(default_factory=dict)
    """Percentile as it is printed, without zeros at its end -> milliseconds."""
    spectrum: list[tuple[float, float, int]] = field(default_factory=list)
    """Milliseconds, share of the samples that are not longer, their number; ascending."""
    total: int | None = None
    """The number of samples, as the histogram's foot says."""


@dataclass
class _Test:
    target: str
    settings: dict[str, str] = field(default_factory=dict)
    is_wrk2: bool = False
    mean_ms: _Read | None = None
    max_ms: _Read | None = None
    distributions: list[_Distribution] = field(default_factory=list)
    requests: int | None = None
    seconds: _Read | None = None
    bytes_read: _Read | None = None
    errors: int = 0
    error_responses: int = 0
    per_s: _Read | None = None
    bytes_per_s: _Read | None = None
    notes: list[str] = field(default_factory=list)

    def take(self, line: str, where: str) -> None:
        """Read one line of the test."""
        if match := _PERCENTILE.match(line):
            self._percentile(match, where)
        elif match := _SPECTRUM.match(line):
            self._spectrum(match, where)
        elif match := _DISTRIBUTION.match(line):
            self._distribution(match["kind"])
        elif match := _LATENCY.match(line):
            self.mean_ms = self._time(match["mean"], "the mean latency", where)
            self.max_ms = self._time(match["max"], "the largest latency", where)
        elif match := _TOTAL.match(line):
            if self.distributions:
                self.distributions[-1].total = int(match["count"])
        elif "Thread calibration:" in line:
            self.is_wrk2 = True
        else:
            self._summary(line, where)

    def _distribution(self, kind: str | None) -> None:
        self.is_wrk2 = self.is_wrk2 or kind is not None
        quantity = {None: _CLOSED, "Uncorrected": _UNCORRECTED}.get(kind, _CORRECTED)
        self.distributions.append(_Distribution(quantity))

    def _percentile(self, match: re.Match[str], where: str) -> None:
        if not self.distributions or self.distributions[-1].spectrum:
            raise FormatError(f"{where}: a percentile of no distribution")
        percent = match["percent"]
        percent = percent.rstrip("0").rstrip(".") if "." in percent else percent
        found = self._time(match["value"], f"the percentile {percent}", where)
        if found is not None:
            self.distributions[-1].percentiles[percent] = found

    def _spectrum(self, match: re.Match[str], where: str) -> None:
        if not self.distributions:
            raise FormatError(f"{where}: a row of no distribution")
        row = (
            decimal(match["value"], where),
            decimal(match["share"], where),
            whole(match["count"], where),
        )
        rows = self.distributions[-1].spectrum
        if rows and any(now < before for now, before in zip(row, rows[-1], strict=True)):
            raise FormatError(
                f"{where}: the rows of the percentile spectrum are not in their order"
            )
        rows.append(row)

    def _summary(self, line: str, where: str) -> None:
        if match := _THREADS.match(line):
            self.settings |= {key: match[key] for key in ("threads", "connections")}
        elif match := _REQUESTS.match(line):
            self.requests = whole(match["count"], where)
            time = self._time(match["time"], "the time of the test", where)
            self.seconds = None if time is None else _Read(time.value / 1e3, time.half / 1e3)
            self.bytes_read = self._size(match["size"], "the size", where)
        elif match := _ERRORS.match(line):
            self.errors = sum(whole(each, where) for each in match.groups())
        elif match := _STATUS.match(line):
            self.error_responses = whole(match["count"], where)
        elif match := _RATE.match(line):
            if self._is_finite(match["rate"], "the rate", where):
                self.per_s = _Read(decimal(match["rate"], where), half_a_digit(match["rate"]))
        elif match := _TRANSFER.match(line):
            self.bytes_per_s = self._size(match["size"], "the rate of bytes", where)

    def _time(self, text: str, what: str, where: str) -> _Read | None:
        return self._in_unit(text, _MS, what, where)

    def _size(self, text: str, what: str, where: str) -> _Read | None:
        return self._in_unit(text, _BYTES, what, where)

    def _in_unit(self, text: str, units: dict[str, float], what: str, where: str) -> _Read | None:
        match = _NUMBER_AND_UNIT.fullmatch(text)
        if match is None:
            raise FormatError(f'{where}: "{text}" is not a number with its unit')
        digits, unit = match.groups()
        if not self._is_finite(digits, what, where):
            return None
        value = scaled(digits, unit, units, where)
        return _Read(value, half_a_digit(digits) * units[unit])

    def _is_finite(self, digits: str, what: str, where: str) -> bool:
        if is_finite(digits):
            return True
        self.notes.append(f"{where}: {what} is left out: it is {digits}, which is not a number.")
        return False

    def measurement(self) -> Measurement:
        """The test as a measurement."""
        tool = "wrk2" if self.is_wrk2 else "wrk"
        settings = {"target": self.target, **self.settings}
        if self.requests is None or self.per_s is None:
            error = "the file ends before the test does: its requests a second are missing"
            return Measurement(tool=tool, settings=settings, error=error)
        if not self.requests:
            self.notes.append("The latencies are left out: no request was answered.")
        return Measurement(
            tool=tool,
            settings=settings,
            values=dict(self._values()),
            histograms=tuple(_histogram(each) for each in self.distributions if each.spectrum),
            checks=tuple(self._checks()),
            notes=tuple(self.notes),
        )

    def _values(self) -> Iterator[tuple[str, float]]:
        assert self.per_s is not None, "there is no measurement without it"
        yield "requests_per_s", self.per_s.value
        if self.bytes_per_s is not None:
            yield "wrk_read_mbps", 8 * self.bytes_per_s.value / 1e6
        yield "socket_errors", float(self.errors)
        yield "error_responses", float(self.error_responses)
        if self.requests:
            yield from self._latencies()

    def _latencies(self) -> Iterator[tuple[str, float]]:
        first = _CORRECTED if self.is_wrk2 else _CLOSED
        for name, read in (("mean", self.mean_ms), ("max", self.max_ms)):
            if read is not None:
                yield f"{first}_{name}", read.value
        for each in self.distributions:
            for percent, read in each.percentiles.items():
                if percent in _STATISTICS:
                    yield f"{each.quantity}_{_STATISTICS[percent]}", read.value

    def _checks(self) -> Iterator[Check]:
        if self.seconds is not None and self.requests is not None and self.per_s is not None:
            yield _by_time("requests", self.requests, 0.0, self.seconds, self.per_s)
        if self.seconds is not None and self.bytes_read and self.bytes_per_s:
            read = self.bytes_read
            yield _by_time("bytes", read.value, read.half, self.seconds, self.bytes_per_s)
        if self.requests:
            yield laws.is_a_share(
                "the share of error responses", 100 * self.error_responses / self.requests
            )
        for each in self.distributions:
            yield from _of_distribution(each)
        if self.mean_ms and self.max_ms:
            points = [("mean", self.mean_ms.value), ("max", self.max_ms.value)]
            half = self.mean_ms.half + self.max_ms.half
            yield laws.ascending("the mean is not above the maximum", points, tolerance=half)


def _by_time(what: str, count: float, half: float, seconds: _Read, per_s: _Read) -> Check:
    """Count ÷ time = rate, within the digits printed."""
    law = f"{what} ÷ time = rate"
    if seconds.value <= 0:
        return Check(law=law, holds=False, detail="the time of the test is 0")
    should = count / seconds.value
    give = half / seconds.value + should * seconds.half / seconds.value + per_s.half
    return laws.agree(
        law,
        (f"{laws.figure(count)} {what} in {laws.figure(seconds.value)} s are, a second,", should),
        ("the file says", per_s.value),
        give,
    )


def _of_distribution(each: _Distribution) -> Iterator[Check]:
    reads = list(each.percentiles.values())
    points = [(f"p{percent}", read.value) for percent, read in each.percentiles.items()]
    half = max((read.half for read in reads), default=0.0)
    yield laws.ascending("percentiles are in order", points, tolerance=half)
    if each.total is not None and each.spectrum:
        yield laws.agree(
            "the histogram has all samples",
            ("the last row of the histogram counts", each.spectrum[-1][2]),
            ("its foot says", each.total),
            0.0,
        )
    yield from _agree_with_the_histogram(each)


def _agree_with_the_histogram(each: _Distribution) -> Iterator[Check]:
    """The percentiles that are also rows of the histogram are the same there. Its values have three
    digits of a millisecond, and are exact to a thousandth (hdr_init with 3 significant figures)."""
    rows = {f"{100 * share:g}": value for value, share, _ in each.spectrum}
    both = [(percent, read) for percent, read in each.percentiles.items() if percent in rows]
    if not both:
        return
    other = [
        f"p{percent} is {laws.figure(read.value)} ms, in the histogram {laws.figure(rows[percent])}"
        for percent, read in both
        if abs(read.value - rows[percent]) > read.half + 0.001 + 0.001 * rows[percent]
    ]
    yield Check(
        law="the percentiles agree with the histogram",
        holds=not other,
        detail="; ".join(other) or f"{len(both)} percentiles",
    )


def _histogram(each: _Distribution) -> Histogram:
    """Buckets between the rows of the spectrum, which is cumulative."""
    lowest, highest, counts = [], [], []
    before, counted = None, 0
    for value, _, count in each.spectrum:
        if count > counted:
            # The next value after the row before; values are whole microseconds.
            lowest.append(value if before is None else min(before + 0.001, value))
            highest.append(value)
            counts.append(count - counted)
            counted = count
        before = value
    return Histogram(
        each.quantity,
        np.array(lowest, dtype=np.float64),
        np.array(highest, dtype=np.float64),
        np.array(counts, dtype=np.int64),
    )
