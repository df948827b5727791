"""The laws that a test of iperf3 is held against.

The counts of JSON are exact; counts in text are rounded to the digits printed. Beyond these, iperf3
has slack of its own, which the constants below bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.formats import laws
from netstudy.formats.iperf3.report import End, Report, Row, Way, of_all, of_streams, own_end, pick
from netstudy.wire import Check

_LAST_INTERVAL: Final = 0.1
"""The part of a reporting interval that may be missing at the end: iperf3 prints no last interval
that is shorter, if nothing was counted in it; and versions with threads (since 3.16) count on for a
moment after it."""
_ON_THE_WAY_S: Final = 0.1
"""Datagrams of this time may be on the way or in queues when a test ends, and when it begins to
count after omitted seconds, which each end does by its own timer."""
_RATE: Final = 1e-5
"""Relative slack of a rate in JSON: start and end have microseconds, the rate was computed from
nanoseconds, or from the end of the longest stream."""
_INTERVALS: Final = "the intervals add up to the total"
_COUNTS: Final = {"retransmissions": "retransmissions", "lost datagrams": "lost"}
"""Counts that are whole in every file: words -> field of a row."""
_ENDS: Final[tuple[End, End]] = ("sender", "receiver")
_NAMES: Final = {"put": "to the server", "get": "to the client"}


@dataclass(frozen=True)
class _Side:
    """All rows of one end of one way."""

    report: Report
    way: Way
    end: End

    @property
    def words(self) -> str:
        return f"the {self.end} of the way {_NAMES[self.way]}" if self.both else f"the {self.end}"

    @property
    def both(self) -> bool:
        return self.report.mode == "bidirectional"

    @property
    def intervals(self) -> list[Row]:
        rows = pick(self.report.intervals, self.way, self.end)
        return [row for row in rows if not row.omitted]

    @property
    def totals(self) -> list[Row]:
        return pick(self.report.totals, self.way, self.end)

    @property
    def total(self) -> Row | None:
        rows = of_all(self.totals)
        return rows[0] if rows else None


def checks(report: Report) -> Iterator[Check]:
    """The laws that the rows of a report have the figures for."""
    ways: tuple[Way, Way] = ("put", "get")
    for way in ways:
        for end in _ENDS:
            yield from _of_side(_Side(report, way, end))
        sender, receiver = (_Side(report, way, end) for end in _ENDS)
        yield from _between(report, sender, receiver)
        if report.other is not None and report.other.error is None:
            yield from _of_both_reports(report, report.other, way)


def _of_side(side: _Side) -> Iterator[Check]:
    total = side.total
    if total is None:
        return
    yield from _streams_add_up(side, total)
    yield from _intervals_add_up(side, total)
    yield from _rate(side, total)
    yield from _received(side, total)


def _streams_add_up(side: _Side, total: Row) -> Iterator[Check]:
    streams = [rows[0] for rows in of_streams(side.totals).values()]
    if len(streams) < 2 or total in streams:
        return
    moved = _known([row.bytes_moved for row in streams])
    if moved is not None and total.bytes_moved is not None:
        yield laws.add_up(
            "the streams add up to their sum",
            moved,
            f"streams' bytes at {side.words}",
            ("the file's sum is", total.bytes_moved),
            sum(row.bytes_half for row in streams) + total.bytes_half,
        )
    for name, of in _COUNTS.items():
        counts = _known([getattr(row, of) for row in streams])
        if counts is not None and getattr(total, of) is not None:
            yield laws.add_up(
                "the streams add up to their sum",
                counts,
                f"streams' {name} at {side.words}",
                ("the file's sum is", getattr(total, of)),
                0.0,
            )


def _intervals_add_up(side: _Side, total: Row) -> Iterator[Check]:
    intervals = of_all(side.intervals)
    if side.end != own_end(side.report.role, side.way) or not intervals:
        return
    moved = _known([row.bytes_moved for row in intervals])
    if moved is not None and total.bytes_moved is not None and total.seconds > 0:
        missing_s = _LAST_INTERVAL * max(row.seconds for row in intervals)
        yield laws.add_up(
            _INTERVALS,
            moved,
            f"intervals' bytes at {side.words}",
            ("the file's total is", total.bytes_moved),
            sum(row.bytes_half for row in intervals)
            + total.bytes_half
            + missing_s * total.bytes_moved / total.seconds,
        )
    for name, of in _COUNTS.items():
        counts = _known([getattr(row, of) for row in intervals])
        if counts is not None and getattr(total, of) is not None:
            yield laws.add_up(
                _INTERVALS,
                counts,
                f"intervals' {name} at {side.words}",
                ("the file's total is", getattr(total, of)),
                math.ceil(_LAST_INTERVAL * max(counts)),
            )


def _rate(side: _Side, total: Row) -> Iterator[Check]:
    if total.bytes_moved is None or total.bits_per_s is None or total.seconds <= 0:
        return
    rate = 8 * total.bytes_moved / total.seconds
    rounding = 8 * total.bytes_half / total.seconds + rate * 2 * total.time_half / total.seconds
    yield laws.rate_is_bytes_by_time(
        side.words,
        total.bytes_moved,
        total.seconds,
        total.bits_per_s,
        tolerance=rounding + total.rate_half + _RATE * rate,
    )


def _received(side: _Side, total: Row) -> Iterator[Check]:
    """A receiver's own counts: the datagrams up to the last one are received or lost."""
    block = side.report.block_bytes
    is_own = side.end == "receiver" == own_end(side.report.role, side.way)
    if not is_own or not block or total.lost is None or total.bytes_moved is None:
        return
    if total.datagrams:
        # A datagram out of order may be a second copy, which is no part of the sequence.
        yield laws.agree(
            "datagrams − lost ones = received ones",
            ("datagrams that were not lost:", total.datagrams - total.lost),
            ("bytes received ÷ bytes of a datagram:", total.bytes_moved / block),
            (total.out_of_order or side.report.out_of_order or 0.0) + total.bytes_half / block,
        )


def _between(report: Report, sender: _Side, receiver: _Side) -> Iterator[Check]:
    sent, received = sender.total, receiver.total
    if received is not None and received.datagrams and received.lost is not None:
        yield laws.is_a_share("the loss", 100 * received.lost / received.datagrams)
    if sent is None or received is None:
        return
    if sent.bytes_moved is None or received.bytes_moved is None:
        return
    omits = bool(report.omit_s) or _omits(sender, receiver)
    if received.datagrams and received.lost is not None:
        yield laws.received_is_sent_less_lost(
            sent.bytes_moved,
            received.lost / received.datagrams,
            received.bytes_moved,
            unit="bytes",
            tolerance=_slack_of_datagrams(
                report, sent, received, len(of_streams(sender.totals)), omits
            ),
        )
    elif report.protocol == "TCP" and not omits:
        # With -O each end leaves out its own first seconds, and the receiver may count more.
        beyond = received.bytes_moved - sent.bytes_moved
        yield Check(
            law="no more is received than was sent",
            holds=beyond <= sent.bytes_half + received.bytes_half,
            detail=f"{laws.figure(sent.bytes_moved)} bytes were sent, "
            f"{laws.figure(received.bytes_moved)} received",
        )


def _omits(*sides: _Side) -> bool:
    return any(
        row.omitted for side in sides for row in pick(side.report.intervals, side.way, side.end)
    )


def _slack_of_datagrams(
    report: Report, sent: Row, received: Row, streams: int, omits: bool
) -> float:
    moments = 2 if omits else 1
    on_the_way = (sent.bits_per_s or 0.0) / 8 * _ON_THE_WAY_S * moments
    in_buffers = report.buffers_bytes * max(1, streams)
    # A datagram out of order may be a second copy of another, which is received without being sent.
    block = report.block_bytes or (sent.bytes_moved or 0.0) / (sent.datagrams or 1.0)
    copies = (received.out_of_order or report.out_of_order or 0.0) * block
    return on_the_way + in_buffers + copies + sent.bytes_half + received.bytes_half


def _of_both_reports(report: Report, other: Report, way: Way) -> Iterator[Check]:
    end = own_end(other.role, way)
    mine, theirs = _Side(report, way, end).total, _Side(other, way, end).total
    if mine is None or theirs is None:
        return
    if mine.bytes_moved is not None and theirs.bytes_moved is not None:
        yield laws.agree(
            "both ends report the same bytes",
            (f"of the {end} the client reports", mine.bytes_moved),
            ("the server reports", theirs.bytes_moved),
            mine.bytes_half + theirs.bytes_half,
        )
    if mine.lost is not None and theirs.lost is not None:
        yield laws.agree(
            "both ends report the same losses",
            ("lost datagrams that the client reports:", mine.lost),
            ("the server reports", theirs.lost),
            0.0,
        )


def _known(values: Sequence[float | None]) -> list[float] | None:
    """The values; None if one of them is missing."""
    found = [value for value in values if value is not None]
    return found if len(found) == len(values) else None
