"""Files of iperf3: `-J`, `--json-stream` and the text for people; versions 3.1 to 3.21."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from netstudy.formats.iperf3.json_reports import json_reports
from netstudy.formats.iperf3.laws import checks
from netstudy.formats.iperf3.report import (
    WHOLE,
    End,
    Report,
    Row,
    Way,
    of_all,
    of_streams,
    own_end,
    pick,
)
from netstudy.formats.iperf3.text_reports import looks_like_text, text_reports
from netstudy.formats.measured import Floats, FormatError, Measurement, Quantity, Series
from netstudy.formats.plain_text import text_of

_WAYS: Final[tuple[Way, Way]] = ("put", "get")
_OTHER_END: Final[dict[End, End]] = {"sender": "receiver", "receiver": "sender"}
_WARNINGS: Final = re.compile(r"(?P<warnings>(?:\s*warning: [^\n]*\n)*)\s*(?P<first>\S)")
"""Lines of standard error before a document, where both went to one file."""
_IS_JSON: Final = re.compile(rb'\{\s*"event":\s*"error",\s*"data":\s*"|"version":\s*"iperf 3')


_QUANTITIES: Final = (
    Quantity(
        "goodput_mbps",
        "goodput",
        "Mbit/s",
        "higher",
        1,
        "bytes that the receiver counted ÷ its time, without the omitted seconds; with --bidir of "
        "both ways",
    ),
    Quantity(
        "goodput_put_mbps",
        "goodput to the server",
        "Mbit/s",
        "higher",
        1,
        "as goodput_mbps, of one of the two ways of --bidir",
    ),
    Quantity(
        "goodput_get_mbps",
        "goodput to the client",
        "Mbit/s",
        "higher",
        1,
        "as goodput_mbps, of one of the two ways of --bidir",
    ),
    Quantity(
        "iperf_sent_mbps",
        "rate at which the sender wrote",
        "Mbit/s",
        "higher",
        1,
        "bytes that the sender wrote to its sockets ÷ its time; unlike goodput, with bytes that "
        "are lost or do not arrive before the end; it is the series of a test whose receiver "
        "reports no intervals",
    ),
    Quantity(
        "retransmissions_per_run",
        "TCP retransmissions a run",
        "segments",
        "lower",
        1,
        "segments that the kernel of the sender sent again (tcpi_total_retrans)",
    ),
    Quantity(
        "retransmissions",
        "TCP retransmissions",
        "segments",
        "lower",
        1,
        "segments sent again in an interval; only in series",
    ),
    Quantity(
        "srtt_us",
        "smoothed round-trip time",
        "µs",
        "lower",
        0,
        "the sender's smoothed round-trip time (tcpi_rtt) at the end of each interval; the mean is "
        "over all intervals and streams, weighted by the interval; unlike iperf3's own mean_rtt "
        "it is without the omitted seconds",
    ),
    Quantity(
        "cwnd_bytes",
        "congestion window",
        "bytes",
        "neither",
        0,
        "the sender's congestion window at the end of each interval; the mean is as for srtt_us",
    ),
    Quantity(
        "udp_loss_pct",
        "loss of datagrams",
        "%",
        "lower",
        3,
        "datagrams missing in the receiver's sequence ÷ those up to the last one that it received",
    ),
    Quantity(
        "udp_jitter_last_ms",
        "last jitter of datagrams",
        "ms",
        "lower",
        4,
        "the receiver's smoothed jitter (RFC 1889) as it was at the end, the mean over streams; it "
        "is the last value of a moving average, not a mean over the test",
    ),
    Quantity(
        "udp_out_of_order",
        "datagrams out of order",
        "datagrams",
        "lower",
        0,
        "datagrams that came after a later one",
    ),
    Quantity(
        "iperf_cpu_local_pct",
        "CPU time of the iperf3 process here",
        "%",
        "lower",
        1,
        "CPU time of the reporting process ÷ the time of the test; unlike cpu_pct it is of one "
        "process, without interrupts, and 100 % is one CPU",
    ),
    Quantity(
        "iperf_cpu_remote_pct",
        "CPU time of the iperf3 process at the other end",
        "%",
        "lower",
        1,
        "as iperf_cpu_local_pct, of the process at the other end",
    ),
)

_LEFT_OUT: Final = (
    "Omitted seconds (-O) are not part of the measuring phase.",
    "The round-trip times' minimum, maximum and mean at the end of a test include omitted seconds; "
    "the samples of the intervals are read instead.",
    "A server's zeros for the counts of its client are left out: the client does not send them.",
    "Before 3.11 the JSON of UDP has no bytes of the receiver, so that goodput is missing unless "
    "the reporting end is the receiver.",
)


class Iperf3:
    """The format of iperf3."""

    name = "iperf3"
    title = "iperf3 -J, --json-stream and its text"
    quantities = _QUANTITIES
    left_out = _LEFT_OUT

    def recognises(self, head: bytes) -> bool:
        """See Format."""
        start = _WARNINGS.match(head.decode(errors="replace"))
        if start is not None and start["first"] == "{":
            return _IS_JSON.search(head) is not None
        return looks_like_text(head.decode(errors="replace"))

    def read(self, data: bytes) -> tuple[Measurement, ...]:
        """See Format."""
        text = text_of(data)
        start = _WARNINGS.match(text)
        if start is not None and start["first"] == "{":
            # Spaces in their place, so that messages name lines of the file.
            reports = json_reports(_blank(start["warnings"]) + text[start.end("warnings") :])
            for report in reports[:1]:
                lines = start["warnings"].splitlines()
                report.notes += [f"iperf3 printed: {line}" for line in lines if line.strip()]
        else:
            reports = text_reports(text)
        if not reports:
            raise FormatError("the file has no test of iperf3")
        return tuple(_measurement(report) for report in reports)


FORMAT: Final = Iperf3()


def _blank(text: str) -> str:
    return "\n" * text.count("\n")


def _measurement(report: Report) -> Measurement:
    if report.error is not None:
        return Measurement(
            tool="iperf3",
            version=report.version,
            started_s=report.started_s,
            settings=_settings(report),
            error=report.error,
        )
    whole = _with_the_other_end(report)
    omitted = _omitted_s(whole)
    values = dict(_values(whole))
    return Measurement(
        tool="iperf3",
        version=report.version,
        started_s=report.started_s,
        window_s=_window(whole, omitted),
        settings=_settings(whole),
        values=values,
        series=tuple(_series(whole, omitted)),
        checks=tuple(checks(report)),
        notes=tuple(_notes(whole, omitted, values)),
    )


def _with_the_other_end(report: Report) -> Report:
    """The report with the rows that only the other end has: intervals of the other end."""
    other = report.other
    if other is None or other.error is not None:
        return report
    intervals = [
        replace(row, stream=row.stream and f"server {row.stream}") for row in other.intervals
    ]
    return replace(report, intervals=report.intervals + intervals, notes=report.notes + other.notes)


def _settings(report: Report) -> dict[str, str]:
    found = {"protocol": report.protocol, "direction": report.mode, **report.settings}
    if "streams" not in found and report.intervals:
        first = report.intervals[0]
        rows = pick(report.intervals, first.way, first.end)
        found["streams"] = str(len(of_streams(rows)))
    if report.target is not None:
        found["target"] = report.target
    if report.omit_s:
        found["omitted_s"] = f"{report.omit_s:g}"
    if report.role == "server":
        found["reported_by"] = "server"
    return found


def _measured(report: Report, way: Way, end: End) -> list[Row]:
    return [row for row in pick(report.intervals, way, end) if not row.omitted]


def _total(report: Report, way: Way, end: End) -> Row | None:
    rows = of_all(pick(report.totals, way, end))
    return rows[0] if rows else None


def _values(report: Report) -> Iterator[tuple[str, float]]:
    goodputs = _goodputs(report)
    ways = _ways(report)
    if goodputs and len(goodputs) == len(ways):
        yield "goodput_mbps", sum(goodputs.values())
    if len(ways) == 2:
        for way, goodput in goodputs.items():
            yield f"goodput_{way}_mbps", goodput
    senders = [row for way in ways if (row := _total(report, way, "sender")) is not None]
    if senders and len(senders) == len(ways):
        yield from _sent(senders)
    yield from _of_tcp(report)
    yield from _of_udp(report, ways)
    if report.cpu_local_pct is not None:
        yield "iperf_cpu_local_pct", report.cpu_local_pct
    if report.cpu_remote_pct is not None:
        yield "iperf_cpu_remote_pct", report.cpu_remote_pct


def _ways(report: Report) -> list[Way]:
    return [way for way in _WAYS if any(row.way == way for row in report.totals)]


def _goodputs(report: Report) -> dict[Way, float]:
    found: dict[Way, float] = {}
    for way in _ways(report):
        total = _total(report, way, "receiver")
        if total is not None and total.bits_per_s is not None:
            found[way] = total.bits_per_s / 1e6
        elif own_end(report.role, way) == "receiver":
            rows = of_all(_measured(report, way, "receiver"))
            seconds = sum(row.seconds for row in rows)
            moved = [row.bytes_moved for row in rows if row.bytes_moved is not None]
            if seconds > 0 and len(moved) == len(rows):
                found[way] = 8 * sum(moved) / seconds / 1e6
    return found


def _sent(senders: Sequence[Row]) -> Iterator[tuple[str, float]]:
    rates = [row.bits_per_s for row in senders if row.bits_per_s is not None]
    if len(rates) == len(senders):
        yield "iperf_sent_mbps", sum(rates) / 1e6
    again = [row.retransmissions for row in senders if row.retransmissions is not None]
    if len(again) == len(senders):
        yield "retransmissions_per_run", sum(again)


def _of_tcp(report: Report) -> Iterator[tuple[str, float]]:
    rows = [
        row
        for way in _WAYS
        for each in of_streams(_measured(report, way, "sender")).values()
        for row in each
    ]
    for name, of in (("srtt_us_mean", "srtt_us"), ("cwnd_bytes_mean", "cwnd_bytes")):
        samples = [(getattr(row, of), row.seconds) for row in rows if getattr(row, of) is not None]
        weight = sum(seconds for _, seconds in samples)
        if weight > 0:
            yield name, sum(value * seconds for value, seconds in samples) / weight


def _of_udp(report: Report, ways: Sequence[Way]) -> Iterator[tuple[str, float]]:
    rows = [row for way in ways if (row := _total(report, way, "receiver")) is not None]
    lost = sum(row.lost for row in rows if row.lost is not None)
    datagrams = sum(row.datagrams for row in rows if row.lost is not None and row.datagrams)
    if datagrams > 0:
        yield "udp_loss_pct", 100 * lost / datagrams
    if len(rows) == 1 and rows[0].jitter_ms is not None:
        yield "udp_jitter_last_ms", rows[0].jitter_ms
    out_of_order = _out_of_order(report)
    if out_of_order is not None:
        yield "udp_out_of_order", out_of_order


def _out_of_order(report: Report) -> float | None:
    if report.out_of_order is not None:
        return report.out_of_order
    rows = [row for row in report.totals if row.end == "receiver" and row.stream != WHOLE]
    counts = [row.out_of_order for row in rows if row.out_of_order is not None]
    return sum(counts) if counts and len(counts) == len(rows) else None


def _omitted_s(report: Report) -> float:
    """Seconds that were omitted before the measuring phase, by the reporting end's intervals."""
    for way in _WAYS:
        rows = of_all(pick(report.intervals, way, own_end(report.role, way)))
        if rows:
            return sum(row.seconds for row in rows if row.omitted)
    return report.omit_s


def _window(report: Report, omitted: float) -> tuple[float, float] | None:
    lengths = [row.seconds for row in report.totals]
    if report.started_s is None or not lengths:
        return None
    start = report.started_s + omitted
    return start, start + max(lengths)


def _series(report: Report, omitted: float) -> Iterator[Series]:
    both = len(_ways(report)) == 2
    for way in _WAYS:
        own = own_end(report.role, way)
        for end in (own, _OTHER_END[own]):
            rows = _measured(report, way, end)
            streams = of_streams(rows)
            of_whole = rows if len(streams) < 2 else []
            of_whole = next(iter(streams.values())) if len(streams) == 1 else of_whole
            of_whole = of_whole or [row for row in rows if row.stream == WHOLE]
            prefix = way if both else ""
            if of_whole:
                yield _one_series(prefix, of_whole, omitted)
            if len(streams) > 1:
                for stream, each in streams.items():
                    yield _one_series(f"{prefix} {stream}".strip(), each, omitted)


def _one_series(part: str, rows: Sequence[Row], omitted: float) -> Series:
    if any(after.start_s < before.start_s for before, after in pairwise(rows)):
        raise FormatError(f"the intervals of {part or 'the test'} do not follow one another")
    # The clock of iperf3 begins again at 0 after the omitted seconds.
    shift = omitted if rows[0].start_s < omitted / 2 else 0.0
    columns = {
        "goodput_mbps" if rows[0].end == "receiver" else "iperf_sent_mbps": [
            None if row.bits_per_s is None else row.bits_per_s / 1e6 for row in rows
        ],
        "retransmissions": [row.retransmissions for row in rows],
        "srtt_us": [row.srtt_us for row in rows],
        "cwnd_bytes": [row.cwnd_bytes for row in rows],
        "udp_jitter_last_ms": [row.jitter_ms for row in rows],
        "udp_loss_pct": [
            100 * row.lost / row.datagrams if row.lost is not None and row.datagrams else None
            for row in rows
        ],
    }
    return Series(
        part=part,
        starts_s=np.array([row.start_s + shift for row in rows]),
        ends_s=np.array([row.end_s + shift for row in rows]),
        values={
            name: _floats(values)
            for name, values in columns.items()
            if any(value is not None for value in values)
        },
    )


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _notes(report: Report, omitted: float, values: dict[str, float]) -> Iterator[str]:
    yield from report.notes
    if omitted:
        yield f"The first {omitted:.3g} s of the test are left out: they were omitted (-O)."
    if "goodput_mbps" not in values and report.role == "client":
        yield "The goodput is missing: the file has no count of the bytes that were received."
    if len(_ways(report)) == 2 and report.protocol == "UDP":
        yield "The jitter at the end is left out: the two ways have one each, in the series."
