"""Readings of one end of a connection over time: growth of counters, and samples of round trips."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netstudy.testbed.real.accounts.bounds import Bounds
from netstudy.testbed.real.wire import ReadingsRecord

_NO_SAMPLE_US = 2**32 - 1
"""The kernel's least round trip before its first sample (`tcp_init_sock`, net/ipv4/tcp.c)."""


class RoundTrip(NamedTuple):
    """A sample of a connection's round trip, in nanoseconds."""

    smoothed: float
    """The kernel's smoothed round trip (`tcpi_rtt`)."""
    deviation: float
    """Its smoothed mean deviation (`tcpi_rttvar`)."""


@dataclass(frozen=True)
class Course:
    """All readings of one end of a connection, in order of time."""

    at_ns: Sequence[int]
    columns: Mapping[str, Sequence[int]]
    """Name, as in ReadingsRecord and ConnectionCounters.tcp -> a value for each reading."""

    @classmethod
    def of(cls, records: Sequence[ReadingsRecord]) -> Course:
        """The readings of several records of the same connection."""
        at_ns = [at for record in records for at in record.at_ns]
        order = sorted(range(len(at_ns)), key=at_ns.__getitem__)
        each = [_columns(record) for record in records]
        names = set.intersection(*map(set, each)) if each else set()
        joined = {name: [value for one in each for value in one[name]] for name in names}
        columns = {name: [values[place] for place in order] for name, values in joined.items()}
        return cls([at_ns[place] for place in order], columns)

    def growth(self, name: str, start_ns: int, end_ns: int) -> Bounds | None:
        """Bounds of the growth of a counter in a span: its growth between the readings inside, and
        between the readings around the span. None: it is not known."""
        values = self.columns.get(name)
        if not values:
            return None
        before, first = bisect_right(self.at_ns, start_ns), bisect_left(self.at_ns, start_ns)
        after, last = bisect_left(self.at_ns, end_ns), bisect_right(self.at_ns, end_ns)
        # Counters are 0 when a connection opens or an agent starts. After the last reading, nothing
        # happens any more: it is taken at the end of the run.
        outer = values[min(after, len(values) - 1)] - (values[before - 1] if before else 0)
        inner = values[last - 1] - values[first] if last > first else 0
        return Bounds(max(inner, 0), max(outer, inner, 0))

    def round_trips(self, start_ns: int, end_ns: int) -> list[RoundTrip]:
        """Samples from readings in a span while data were outstanding, and from the first one after
        it: the kernel smooths over the acknowledgments before a reading."""
        if "srtt_us" not in self.columns:
            return []
        smoothed, deviation = self.columns["srtt_us"], self.columns["rttvar_us"]
        outstanding = self.columns["unacked_segments"]
        first, after = bisect_left(self.at_ns, start_ns), bisect_left(self.at_ns, end_ns)
        chosen = [place for place in range(first, after) if outstanding[place]]
        places = (*chosen, *range(after, min(after + 1, len(self.at_ns))))
        return [RoundTrip(1e3 * smoothed[place], 1e3 * deviation[place]) for place in places]

    def last_under_way_ns(self, start_ns: int, end_ns: int) -> int:
        """The last reading in a span at which segments were under way for sure; the start, if there
        is none, or if readings do not tell. A single segment may have arrived already, and its
        acknowledgment be delayed."""
        outstanding = self.columns.get("unacked_segments")
        if outstanding is None:
            return start_ns
        first, after = bisect_left(self.at_ns, start_ns), bisect_right(self.at_ns, end_ns)
        places = (place for place in reversed(range(first, after)) if outstanding[place] > 1)
        last = next(places, None)
        return start_ns if last is None else self.at_ns[last]

    def idle_ns(self, at_ns: int) -> int | None:
        """When the thread that took the next reading, at this time or later, last had nothing to
        do; None: it is not known."""
        place = bisect_left(self.at_ns, at_ns)
        idle = self.columns.get("idle_ns")
        return idle[place] if idle and place < len(idle) else None

    def largest(self, name: str, start_ns: int, end_ns: int) -> int:
        """The largest value in a span and at the readings around it; 0: there are no readings."""
        first = max(bisect_right(self.at_ns, start_ns) - 1, 0)
        return max(
            self.columns.get(name, ())[first : bisect_left(self.at_ns, end_ns) + 1], default=0
        )

    def latest(self, name: str, at_ns: int) -> int | None:
        """The value at the last reading until then; None: it is not known."""
        place = bisect_right(self.at_ns, at_ns)
        values = self.columns.get(name)
        return values[place - 1] if values and place else None

    @property
    def least_round_trip_ns(self) -> float | None:
        """The least round trip of any reading; None: there is none."""
        found = [us for us in self.columns.get("min_rtt_us", ()) if us < _NO_SAMPLE_US]
        return 1e3 * min(found) if found else None


def _columns(record: ReadingsRecord) -> dict[str, tuple[int, ...]]:
    own = {"cpu_ns": record.cpu_ns, "waited_ns": record.waited_ns, "idle_ns": record.idle_ns}
    return {**record.values, **{name: column for name, column in own.items() if column is not None}}
