"""`ss -tin`: the kernel's view of each TCP connection, also repeated over time.

`while date +%s.%N; ss -tin; sleep 1; done` gives readings with times. A connection is known by its
two addresses and ports only: it is a part named `LOCAL > PEER`. `busy`, `rwnd_limited` and
`sndbuf_limited` are the times in which the connection had data to send, and in which the peer's
window or its own send buffer was the limit; they are the best evidence of a bottleneck that a file
can have.

ss prints a count or a time only if it is above 0. An absent one counts as 0 if the file shows that
kernel and ss have it, since another socket or another reading prints it. Whoever prints `busy` has
both limits, whoever prints `bytes_sent` has retransmitted bytes, and all have `retrans`. A file
without any `busy`, from a kernel before 4.10, has no limits: they are missing, not 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

import numpy as np

from netstudy.formats import numbers
from netstudy.formats.instants import first_line, instant_s
from netstudy.formats.measured import (
    Better,
    Counters,
    Floats,
    FormatError,
    HostReadings,
    Quantity,
    Series,
)
from netstudy.formats.plain_text import text_of, whole_lines
from netstudy.formats.readings import COUNTER_MAX, Readings

_TITLE: Final = re.compile(r"(?:Netid\s+)?(?:State\s+)?Recv-Q\s+Send-Q\s+Local Address.*")
_STATES: Final = (
    "ESTAB|SYN-SENT|SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|CLOSE-WAIT|LAST-ACK|LISTEN|CLOSING|"
    "UNCONN|NEW-SYN-RECV|UNKNOWN|BOUND-INACTIVE|CLOSED"
)
_RECORD: Final = re.compile(
    rf"(?:(?P<netid>[a-z]\w*)\s+)?(?:(?P<state>{_STATES})\s+)?\d+\s+\d+\s+(?P<local>\S+:\S+)\s+"
    r"(?P<peer>\S+:\S+)(?P<rest>.*)"
)
_USERS: Final = re.compile(r"users:\(\(.*?\)\)")
_TIME_AFTER: Final = re.compile(r"Time: (?P<seconds>\d{9,10}\.\d{1,9})\s*", re.ASCII)
_DASHES: Final = "---"
_MS: Final = re.compile(r"(\d{1,20})ms(?:\(.*\))?", re.ASCII)
_TOTAL: Final = re.compile(r"\d+/(\d{1,20})", re.ASCII)

_WHOLE: Final = {
    "bytes_sent": "bytes_sent",
    "bytes_retrans": "bytes_retransmitted",
    "bytes_acked": "bytes_acked",
    "bytes_received": "bytes_received",
    "segs_out": "segments_sent",
    "segs_in": "segments_received",
    "data_segs_out": "data_segments_sent",
    "data_segs_in": "data_segments_received",
    "delivered": "delivered_segments",
    "delivered_ce": "delivered_ce_segments",
}
"""Field that is a count -> counter."""
_TIMES: Final = {
    "busy": "busy_ms",
    "rwnd_limited": "rwnd_limited_ms",
    "sndbuf_limited": "sndbuf_limited_ms",
}
_RETRANSMITTED: Final = "retransmitted_segments"
_KEYS: Final = frozenset((*_WHOLE, *_TIMES, "retrans", "rtt", "minrtt", "cwnd"))
"""The fields that are read."""
_IMPLIED: Final = {
    "busy_ms": ("rwnd_limited_ms", "sndbuf_limited_ms"),
    "bytes_sent": ("bytes_retransmitted",),
}
"""Counter -> counters that a kernel with this one has, too."""
_RATES: Final = {"bytes_acked": "acked_mbps", "bytes_received": "received_mbps"}
"""Counter of bytes -> its rate between two readings."""


def _counter(name: str, label: str, better: Better, meaning: str, unit: str = "") -> Quantity:
    return Quantity(name, label, unit, better, 0, meaning)


QUANTITIES: Final = (
    _counter("bytes_sent", "bytes sent", "neither", "data that were sent, again included", "B"),
    _counter("bytes_retransmitted", "bytes retransmitted", "lower", "data sent again", "B"),
    _counter(
        "bytes_acked", "bytes acknowledged", "neither", "data that the peer acknowledged", "B"
    ),
    _counter("bytes_received", "bytes received", "neither", "data received in order", "B"),
    _counter("segments_sent", "segments sent", "neither", "segs_out"),
    _counter("segments_received", "segments received", "neither", "segs_in"),
    _counter("data_segments_sent", "data segments sent", "neither", "data_segs_out"),
    _counter("data_segments_received", "data segments received", "neither", "data_segs_in"),
    _counter("delivered_segments", "delivered segments", "neither", "delivered"),
    _counter("delivered_ce_segments", "segments with a CE mark", "lower", "delivered_ce"),
    _counter(
        _RETRANSMITTED,
        "retransmitted segments",
        "lower",
        "the second number of retrans: segments that this connection sent again; "
        "segments_retransmitted is of all connections of a host",
    ),
    _counter("busy_ms", "time busy", "neither", "time with data to send or in flight", "ms"),
    _counter(
        "rwnd_limited_ms",
        "time limited by the receive window",
        "lower",
        "busy time in which the peer's receive window was the limit",
        "ms",
    ),
    _counter(
        "sndbuf_limited_ms",
        "time limited by the send buffer",
        "lower",
        "busy time in which the socket's send buffer was the limit",
        "ms",
    ),
    Quantity("srtt_us", "smoothed RTT", "µs", "lower", 0, "the kernel's smoothed RTT (rtt)"),
    Quantity("min_rtt_us", "minimum RTT", "µs", "lower", 0, "the kernel's minimum RTT (minrtt)"),
    Quantity("cwnd_segments", "cwnd", "", "neither", 0, "congestion window in segments of MSS"),
    Quantity(
        "acked_mbps",
        "acknowledged",
        "Mbit/s",
        "higher",
        2,
        "growth of bytes_acked between two readings ÷ time",
    ),
    Quantity(
        "received_mbps",
        "received by the connection",
        "Mbit/s",
        "higher",
        2,
        "growth of bytes_received between two readings ÷ time",
    ),
)


@dataclass(frozen=True)
class Ss:
    """`ss -tin`; see the module."""

    name: str = "ss"
    title: str = "ss -tin, also with -m, -e, -p, -O, -H, repeated with times, and as Flent calls it"
    quantities: tuple[Quantity, ...] = QUANTITIES
    left_out: tuple[str, ...] = (
        "RTT and cwnd of a file with a single reading or without times: they are states of one "
        "instant, so that no interval has them.",
        "Rates that ss prints (send, pacing_rate, delivery_rate): they estimate an instant.",
        "Sockets without TCP information: listening ones, TIME-WAIT, UDP and others.",
    )

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with the title of ss or with a socket."""
        line = first_line(head).strip()
        return any(pattern.fullmatch(line) for pattern in (_TITLE, _RECORD))

    def read(self, data: bytes) -> HostReadings:
        """Counters of each connection and reading, and series of RTT and cwnd if there are times.
        Raises FormatError if a line or a value is not of ss, or the file has no TCP information."""
        reader = _Reader()
        notes: list[str] = []
        for number, line in _times_first(whole_lines(text_of(data), notes), notes):
            reader.line(line, number)
        reader.flush()
        return _content(reader, notes)


FORMAT: Final = Ss()


@dataclass
class _Sample:
    """The states of a connection at one instant."""

    at_s: float
    values: Mapping[str, float]


@dataclass
class _Reader:
    readings: Readings = field(default_factory=Readings)
    samples: dict[str, list[_Sample]] = field(default_factory=dict)
    sockets: int = 0
    at_s: float | None = None
    part: str | None = None
    """The connection whose information is being read; None: it is left out."""
    text: list[str] = field(default_factory=list)
    where: str = ""

    def line(self, line: str, number: int) -> None:
        """Take the next line."""
        text = line.strip()
        at_s = instant_s(line, f"line {number}")
        if at_s is not None:
            self.flush()
            self.readings.instant(at_s)
            self.at_s = at_s
        elif _TITLE.fullmatch(text):
            self.flush()
        elif match := _RECORD.fullmatch(text):
            self.flush()
            self.sockets += 1
            tcp = match["netid"] in (None, "tcp") and match["state"] not in ("LISTEN", "UNCONN")
            self.part = f"{match['local']} > {match['peer']}" if tcp else None
            self.text, self.where = [match["rest"]], f"line {number}"
        elif text and line[:1].isspace():
            self.text.append(line)
        elif text:
            raise FormatError(
                f"line {number}: a socket or its information is expected, as ss -tin prints it"
            )

    def flush(self) -> None:
        """The information of the last socket is complete."""
        part, self.part = self.part, None
        text = _USERS.sub("", " ".join(self.text))
        self.text = []
        if part is None:
            return
        fields = _fields(text, self.where)
        if not fields:
            return
        values = _counters(fields, self.where)
        if self.readings.has_part(part):
            # The connection comes again without a time before it.
            self.readings.anew()
        self.readings.of_part(part)
        for name, value in values.items():
            self.readings.put(name, value, part)
        if self.at_s is not None:
            states = _states(fields, self.where)
            self.samples.setdefault(part, []).append(_Sample(self.at_s, states))


def _times_first(lines: Sequence[str], notes: list[str]) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, and the time of each reading before it. Flent's ss_iterate.sh
    prints it after the reading, with a line of dashes between readings."""
    if not any(map(_TIME_AFTER.fullmatch, lines)):
        yield from enumerate(lines, 1)
        return
    reading: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if match := _TIME_AFTER.fullmatch(line):
            yield number, match["seconds"]
            yield from reading
            reading = []
        elif line.strip() != _DASHES:
            reading.append((number, line))
    if any(line.strip() for _, line in reading):
        notes.append(f"Left out from line {reading[0][0]} on: the last reading has no time.")


def _fields(text: str, where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in text.split():
        key, _, value = word.partition(":")
        if key not in _KEYS or not value:
            continue
        if key in found:
            raise FormatError(f"{where}: {key} is there twice in one socket")
        found[key] = value
    return found


def _counters(fields: Mapping[str, str], where: str) -> dict[str, int]:
    found = {
        name: numbers.whole(fields[key], f"{where}, {key}")
        for key, name in _WHOLE.items()
        if key in fields
    }
    for key, name in _TIMES.items():
        if key in fields:
            found[name] = _part(_MS, fields[key], f"{where}, {key}")
    if "retrans" in fields:
        found[_RETRANSMITTED] = _part(_TOTAL, fields["retrans"], f"{where}, retrans")
    for name, value in found.items():
        if value > COUNTER_MAX:
            raise FormatError(f"{where}: {value} is not a value of {name}")
    return found


def _part(pattern: re.Pattern[str], text: str, where: str) -> int:
    match = pattern.fullmatch(text)
    if match is None:
        raise FormatError(f'{where}: "{text}" is not known here')
    return int(match[1])


def _states(fields: Mapping[str, str], where: str) -> dict[str, float]:
    found: dict[str, float] = {}
    if "rtt" in fields:
        rtt_ms = fields["rtt"].partition("/")[0]
        found["srtt_us"] = 1000 * numbers.decimal(rtt_ms, f"{where}, rtt")
    if "minrtt" in fields:
        found["min_rtt_us"] = 1000 * numbers.decimal(fields["minrtt"], f"{where}, minrtt")
    if "cwnd" in fields:
        found["cwnd_segments"] = float(numbers.whole(fields["cwnd"], f"{where}, cwnd"))
    return found


def _with_zeros(readings: Sequence[Counters]) -> tuple[Counters, ...]:
    """The readings, with 0 for each counter that ss would have printed if it were more."""
    known = dict.fromkeys(name for each in readings for name in each.values)
    for name in (*known,):
        known |= dict.fromkeys(_IMPLIED.get(name, ()))
    zeros = {**dict.fromkeys(known, 0), _RETRANSMITTED: 0}
    return tuple(replace(each, values={**zeros, **each.values}) for each in readings)


def _content(reader: _Reader, notes: list[str]) -> HostReadings:
    counters = _with_zeros(reader.readings.counters())
    if reader.sockets and not counters:
        raise FormatError(
            "no socket has TCP information; make the file with ss -tin (-i prints it, -t takes TCP)"
        )
    by_part: dict[str, list[Counters]] = {}
    for each in counters:
        by_part.setdefault(each.part, []).append(each)
    found = (
        _series(part, samples, by_part.get(part, [])) for part, samples in reader.samples.items()
    )
    series = tuple(each for each in found if each is not None)
    if not counters:
        notes.append("There was no connection.")
    elif not series:
        notes.append(
            "RTT and cwnd are left out: they need two readings with times, as in "
            "while date +%s.%N; ss -tin; sleep 1; done."
        )
    return HostReadings("ss", series=series, counters=counters, notes=tuple(notes))


def _series(part: str, samples: list[_Sample], counters: list[Counters]) -> Series | None:
    """The states at the end of each interval between two readings, and the rates of bytes in it;
    None: there is no interval."""
    rows = sorted(samples, key=lambda sample: sample.at_s)
    pairs = [(before, after) for before, after in pairwise(rows) if after.at_s > before.at_s]
    if not pairs:
        return None
    values: dict[str, Floats] = {}
    for name in dict.fromkeys(name for sample in rows for name in sample.values):
        values[name] = np.array(
            [after.values.get(name, np.nan) for _, after in pairs], dtype=np.float64
        )
    by_time = {each.at_s: each.values for each in counters}
    for name, rate in _RATES.items():
        found = [
            _rate(by_time.get(before.at_s, {}), by_time.get(after.at_s, {}), name, before, after)
            for before, after in pairs
        ]
        if not all(np.isnan(found)):
            values[rate] = np.array(found, dtype=np.float64)
    return Series(
        part,
        np.array([before.at_s for before, _ in pairs], dtype=np.float64),
        np.array([after.at_s for _, after in pairs], dtype=np.float64),
        values,
    )


def _rate(
    old: Mapping[str, int], new: Mapping[str, int], name: str, before: _Sample, after: _Sample
) -> float:
    if name not in old or name not in new or new[name] < old[name]:
        return float("nan")
    return 8e-6 * (new[name] - old[name]) / (after.at_s - before.at_s)
