"""Rows that iperf 2 writes with `-y C`: an example of a format of your own for netstudy.

    20261128082859,127.0.0.1,47476,127.0.0.1,15301,1,0.0-2.0,13238332,52927578

A row has a local time, this end's address and port, the other end's, the number of the stream, an
interval, its bytes and its bit rate; with UDP also jitter, lost and all datagrams, the loss and the
datagrams out of order. There is no header. The total of a stream is a row like the others, which
only its interval shows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from netstudy.formats import laws
from netstudy.formats.measured import FormatError, Measurement, Quantity, Series
from netstudy.formats.plain_text import text_of
from netstudy.wire import Check

ROW = re.compile(
    r"\d{14},[^,]+,\d+,(?P<host>[^,]+),(?P<port>\d+),(?P<stream>-?\d+),"
    r"(?P<start>\d+\.\d+)-(?P<end>\d+\.\d+),(?P<bytes>\d+),(?P<rate>\d+)"
    r"(?:,(?P<jitter>\d+\.\d+),(?P<lost>\d+),(?P<datagrams>\d+),[^,]*,\d+)?"
)
ALL_STREAMS = "-1"
"""The stream of a row that counts all of them; iperf 2.1 writes none."""
HALF_S = 0.05
"""The printed times were rounded to tenths of a second."""
BLOCK_BYTES = 131_072
"""A total may have one block (-l) more than its intervals: the one that ends the test."""


@dataclass(frozen=True)
class Row:
    """One line."""

    stream: str
    start_s: float
    end_s: float
    bytes_moved: float
    bits_per_s: float
    lost: float | None
    datagrams: float | None
    target: str


class Iperf2:
    """The format, with everything that netstudy asks of it (`netstudy.formats.measured.Format`)."""

    name = "iperf2"
    title = "iperf 2 -y C"
    quantities = (
        Quantity(
            "iperf2_mbps",
            "rate of iperf 2",
            "Mbit/s",
            "higher",
            1,
            "bytes of all streams ÷ time, as counted by the end that wrote the file: sent ones if "
            "it was the client, and the file does not say it; so it is not goodput_mbps",
        ),
        Quantity(
            "iperf2_loss_pct",
            "loss of datagrams",
            "%",
            "lower",
            3,
            "datagrams lost ÷ all, in the rows of a server",
        ),
    )
    left_out = (
        "The times of rows are local times without a zone, so that a measurement has no start.",
        "The jitter is left out: it is the last value of a moving average.",
    )

    def recognises(self, head: bytes) -> bool:
        """True if the first line is a row."""
        first = head.split(b"\n", 1)[0].decode(errors="replace").strip()
        return ROW.fullmatch(first) is not None

    def read(self, data: bytes) -> tuple[Measurement, ...]:
        """The test of a file. Raises FormatError, and nothing else, for any bytes."""
        rows = [
            row(line, index + 1) for index, line in enumerate(text_of(data).splitlines()) if line
        ]
        if not rows:
            raise FormatError("the file has no rows")
        return (measurement(rows),)


FORMAT = Iperf2()


def row(line: str, number: int) -> Row:
    """A line as a row. Raises FormatError."""
    match = ROW.fullmatch(line.strip())
    if match is None:
        raise FormatError(f"line {number}: this is not a row of iperf -y C: {line[:60]}")
    lost, datagrams = match["lost"], match["datagrams"]
    found = Row(
        stream=match["stream"],
        start_s=float(match["start"]),
        end_s=float(match["end"]),
        bytes_moved=float(match["bytes"]),
        bits_per_s=float(match["rate"]),
        lost=None if lost is None else float(lost),
        datagrams=None if datagrams is None else float(datagrams),
        target=f"{match['host']}:{match['port']}",
    )
    if found.end_s <= found.start_s or found.bits_per_s > 1e15:
        raise FormatError(f"line {number}: its interval or its rate cannot be")
    return found


def measurement(rows: list[Row]) -> Measurement:
    """The test that a file's rows are of."""
    streams: dict[str, list[Row]] = {}
    for each in rows:
        streams.setdefault(each.stream, []).append(each)
    together = streams.pop(ALL_STREAMS, None)
    totals = [total(stream, each) for stream, each in streams.items()]
    values = {"iperf2_mbps": sum(each.bits_per_s for each in totals) / 1e6}
    datagrams = sum(each.datagrams or 0 for each in totals)
    if datagrams:
        values["iperf2_loss_pct"] = 100 * sum(each.lost or 0 for each in totals) / datagrams
    return Measurement(
        tool="iperf2",
        settings={"streams": str(len(totals)), "target": rows[0].target},
        values=values,
        series=tuple(series(stream, each) for stream, each in streams.items() if len(each) > 1),
        checks=tuple(checks(streams, totals, together)),
    )


def total(stream: str, rows: list[Row]) -> Row:
    """The last row of a stream, which covers all of its others."""
    last = rows[-1]
    if any(each.start_s < last.start_s or each.end_s > last.end_s + HALF_S for each in rows):
        raise FormatError(f"stream {stream}: its last row is not its total; the file was cut off")
    return last


def series(stream: str, rows: list[Row]) -> Series:
    """The intervals of a stream, without its total."""
    intervals = sorted(rows[:-1], key=lambda each: each.start_s)
    return Series(
        part=f"stream {stream}",
        starts_s=np.array([each.start_s for each in intervals]),
        ends_s=np.array([each.end_s for each in intervals]),
        values={"iperf2_mbps": np.array([each.bits_per_s / 1e6 for each in intervals])},
    )


def checks(
    streams: dict[str, list[Row]], totals: list[Row], together: list[Row] | None
) -> Iterator[Check]:
    """The laws that the rows can be held against."""
    for each in totals:
        seconds = each.end_s - each.start_s
        yield laws.rate_is_bytes_by_time(
            f"stream {each.stream}",
            each.bytes_moved,
            seconds,
            each.bits_per_s,
            tolerance=each.bits_per_s * 2 * HALF_S / seconds,
        )
        intervals = [other.bytes_moved for other in streams[each.stream][:-1]]
        if intervals:
            yield laws.add_up(
                "the intervals add up to the total",
                intervals,
                f"intervals' bytes of stream {each.stream}",
                ("the file's total is", each.bytes_moved),
                BLOCK_BYTES,
            )
        if each.datagrams and each.lost is not None:
            yield laws.is_a_share("the loss", 100 * each.lost / each.datagrams)
    if together:
        yield laws.add_up(
            "the streams add up to their sum",
            [each.bytes_moved for each in totals],
            "streams' bytes",
            ("the file's sum is", together[-1].bytes_moved),
            0.0,
        )
