"""A test of iperf3 as its rows, the same for JSON and for text.

A row counts bytes in one direction (`way`) at one end of it: a client that sends counts as the
sender of the way `put`, its server as the receiver. Totals are rows of the whole test.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Way = Literal["put", "get"]
"""From the client to the server, or from the server to the client (-R)."""
End = Literal["sender", "receiver"]
Role = Literal["client", "server"]

WHOLE: Final = ""
"""The stream of a row that counts all streams of its way."""
DEFAULT_BUFFER_BYTES: Final = 212_992
"""Default of Linux for the buffers of a UDP socket (net.core.rmem_default, wmem_default)."""


@dataclass(frozen=True, slots=True)
class Row:
    """Counts of one stream, or of all, over an interval or the whole test. A count that the file
    does not have is None."""

    way: Way
    end: End
    stream: str
    start_s: float
    end_s: float
    bytes_moved: float | None = None
    bits_per_s: float | None = None
    retransmissions: float | None = None
    cwnd_bytes: float | None = None
    srtt_us: float | None = None
    jitter_ms: float | None = None
    datagrams: float | None = None
    """Sent ones in a sender's row, expected ones (received or lost) in a receiver's."""
    lost: float | None = None
    out_of_order: float | None = None
    omitted: bool = False
    bytes_half: float = 0.0
    """The printed bytes were rounded by at most this."""
    rate_half: float = 0.0
    time_half: float = 0.0

    @property
    def seconds(self) -> float:
        """Length of the interval."""
        return self.end_s - self.start_s


@dataclass
class Report:
    """One test, as one of its ends reports it."""

    role: Role
    """The end that reports."""
    version: str | None = None
    started_s: float | None = None
    protocol: str = "TCP"
    mode: Literal["forward", "reverse", "bidirectional"] = "forward"
    target: str | None = None
    omit_s: float = 0.0
    block_bytes: float | None = None
    buffers_bytes: float = 2 * DEFAULT_BUFFER_BYTES
    """Data that the sockets of one stream can hold, at both ends."""
    out_of_order: float | None = None
    """Datagrams that came after a later one, where the rows do not say it."""
    settings: dict[str, str] = field(default_factory=dict)
    intervals: list[Row] = field(default_factory=list)
    totals: list[Row] = field(default_factory=list)
    cpu_local_pct: float | None = None
    cpu_remote_pct: float | None = None
    error: str | None = None
    notes: list[str] = field(default_factory=list)
    other: Report | None = None
    """The report of the other end, where the file has it (--get-server-output)."""


def own_end(role: Role, way: Way) -> End:
    """The end of a way at which a client or server counts."""
    return "sender" if (role == "client") == (way == "put") else "receiver"


def is_end_of_a_server(error: str) -> bool:
    """True of the last words of a server that was stopped; after a test they are not one more."""
    return error.endswith("the server has terminated")


def pick(rows: Iterable[Row], way: Way, end: End) -> list[Row]:
    """The rows of one way that one end counted."""
    return [row for row in rows if row.way == way and row.end == end]


def of_all(rows: Sequence[Row]) -> list[Row]:
    """The rows that count all streams of a way; if it has one stream, the rows of this stream."""
    streams = {row.stream for row in rows}
    wanted = WHOLE if WHOLE in streams or len(streams) != 1 else next(iter(streams))
    return [row for row in rows if row.stream == wanted]


def of_streams(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each stream, in the order of the file."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.stream != WHOLE:
            found.setdefault(row.stream, []).append(row)
    return found
