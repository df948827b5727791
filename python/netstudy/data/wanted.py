"""A selection from sampled series: a node, a counter, an interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netstudy.errors import StudyError
from netstudy.units import parse_duration

SERIES_TABLE = "series"


@dataclass(frozen=True)
class Wanted:
    """The part of the series to keep; None: no restriction."""

    node: str | None = None
    """The name of a node, or of a group of hosts."""
    counter: str | None = None
    span_ns: tuple[int, int] | None = None
    """Start and end of a span, since the start of the measuring phase; the end is exclusive."""
    every_ns: int | None = None
    """Keeps only the last sample of a series in every interval of this length."""

    @classmethod
    def of(
        cls, table: str, *, node: str | None, counter: str | None, interval: str | None
    ) -> Wanted:
        """Reads the options of a user: an interval is a span, `2s..5s`, or a length, `1s`.

        Raises StudyError, with the name of the option, if a value is invalid or if the table is not
        `series`.
        """
        given = {"node": node, "counter": counter, "interval": interval}
        for name, value in given.items():
            if value is not None and table != SERIES_TABLE:
                raise StudyError(
                    f"is only for samples of {SERIES_TABLE}, not of {table}", f"--{name}"
                )
        span, every = (None, None) if interval is None else _interval(interval)
        return cls(node, counter, span, every)

    def has_node(self, node: str) -> bool:
        """Whether a node is kept: by its own name, or by the name of its group."""
        group, _, number = node.partition(".")[0].rpartition("-")
        return self.node in (None, node) or (number.isdecimal() and self.node == group)

    def has_counter(self, counter: str) -> bool:
        """Whether a counter is kept."""
        return self.counter in (None, counter)

    def places(self, at_ns: Sequence[int], start_ns: int | None) -> Iterable[int]:
        """The indices of the samples to keep. `start_ns` is the start of the measuring phase; if it
        is None, no sample is in any span, and intervals begin at time 0 of the clock."""
        found: Iterable[int] = range(len(at_ns))
        if self.span_ns is not None:
            if start_ns is None:
                return ()
            low, high = self.span_ns
            found = [place for place in found if low <= at_ns[place] - start_ns < high]
        if self.every_ns is None:
            return found
        last = {(at_ns[place] - (start_ns or 0)) // self.every_ns: place for place in found}
        return last.values()


ALL = Wanted()


def _interval(text: str) -> tuple[tuple[int, int] | None, int | None]:
    low, dots, high = text.partition("..")
    try:
        first = _ns(low)
        if not dots:
            if first == 0:
                raise ValueError(f"{text} is not a length")
            return None, first
        last = _ns(high)
    except ValueError as error:
        raise StudyError(f"{error}; write a span, 2s..5s, or a length, 1s", "--interval") from None
    if first >= last:
        raise StudyError(f"{text} ends before it begins", "--interval")
    return (first, last), None


def _ns(text: str) -> int:
    return int(parse_duration(text.strip()))
