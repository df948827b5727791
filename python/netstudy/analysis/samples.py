"""The samples of one run as arrays, and computations that several workloads share."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from netstudy.wire import InstrumentKind, Run, RunRecord, Series, UntilTime

T = TypeVar("T")
Floats = NDArray[np.float64]
Terms = tuple[Floats, Floats]
"""Numerators and denominators of a ratio of sums, one entry for each sample."""

NS_PER_US = 1e3
NS_PER_MS = 1e6
NS_PER_S = 1e9
BITS_PER_MEGABIT = 1e6
BYTES_PER_GB = 1e9

DROP_COUNTER = "frames_dropped"


SeriesReader = Callable[[str], Sequence[Series]]
"""Reads the series of the run with this id."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """A series as arrays."""

    node: str
    port: str | None
    connection: int | None
    at_ns: Floats
    columns: Mapping[str, Floats]
    """Counter or gauge -> its values; NaN where it could not be read."""

    @classmethod
    def of(cls, series: Series) -> Sampled:
        """The arrays of a record's series."""
        columns = {name: _floats(values) for name, values in series.values.items()}
        at = np.asarray(series.at_ns, dtype=np.float64)
        return cls(series.node, series.port, series.connection, at, columns)


def _floats(values: Sequence[int | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


class NotAlikeError(Exception):
    """The runs of a block have tables of different lengths, so that they make no matrix."""


class Columns(Protocol):
    """The tables of samples of one run as arrays, or of several runs as matrices with a row for
    each run. A formula that treats each row alike serves both."""

    def column(self, table: str, name: str) -> Floats | None:
        """A column of a table; None if there is no such table, or if it is empty."""

    @property
    def bytes_received(self) -> float | Floats | None:
        """Application bytes that all clients received in the measuring phase."""


@dataclass(frozen=True, eq=False)
class RunSample:
    """A valid run: gives access to its record, and to the columns of its tables as arrays."""

    planned: Run
    record: RunRecord
    read_series: SeriesReader | None = field(default=None, repr=False)
    """Reads the samples of a run; None: the record contains them."""
    bases: Mapping[str, float] = field(default_factory=dict)
    """Relative metric -> its base value (100 %) in the test case of the cell."""
    _columns: dict[tuple[str, str], Floats | None] = field(default_factory=dict, repr=False)
    _sampled: dict[InstrumentKind, tuple[Sampled, ...]] = field(default_factory=dict, repr=False)
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def kept(self, key: Hashable, find: Callable[[], T]) -> T:
        """The value that `find` computes from the run, cached under `key`."""
        if key not in self._kept:
            self._kept[key] = find()
        found: T = self._kept[key]
        return found

    def clear(self) -> None:
        """Drops whatever was computed from the run and cached with it."""
        self._columns.clear()
        self._sampled.clear()
        self._kept.clear()

    @property
    def run(self) -> str:
        """The run's id."""
        return self.record.run

    @property
    def replicate(self) -> int:
        """The number of the run in its cell, from 1."""
        return self.record.replicate

    def column(self, table: str, name: str) -> Floats | None:
        """A column of a table of samples; None if there is no such table, or if it is empty."""
        key = (table, name)
        if key not in self._columns:
            rows = getattr(self.record.samples, table)
            values = None if rows is None else getattr(rows, name)
            self._columns[key] = np.asarray(values, dtype=np.float64) if values else None
        return self._columns[key]

    @property
    def bytes_received(self) -> float | None:
        """See Columns."""
        return self.record.bytes_received

    def sampled(self, instrument: InstrumentKind) -> tuple[Sampled, ...]:
        """The series of one instrument; all instruments together would need too much memory."""
        if instrument not in self._sampled:
            read = self.record.series if self.read_series is None else self.read_series(self.run)
            chosen = (series for series in read if series.instrument == instrument)
            self._sampled[instrument] = tuple(map(Sampled.of, chosen))
        return self._sampled[instrument]

    @property
    def measure_s(self) -> float | None:
        """Length of the measuring phase. Clients with clocks of their own each count over the
        planned length, but begin at slightly different times; the record's phase is the shorter
        time that all of them share."""
        phase = self.record.measure
        if phase is None:
            return None
        until = self.planned.until("measure") if self.record.clocks else None
        length_ns = phase.end_ns - phase.start_ns
        return (until.ns if isinstance(until, UntilTime) else length_ns) / NS_PER_S


def dropped_at_ports(record: RunRecord) -> int | None:
    """Frames that the switches dropped in the measuring phase, from their port counters.

    None if a port has no drop counter, or if there is no port: a missing count is not zero.
    """
    switches = {name for name, node in record.nodes.items() if node.kind == "switch"}
    grown = [
        record.growth({name: read for name, read in readings.items() if name == DROP_COUNTER})
        for node, ports in record.ports.items()
        if node in switches
        for readings in ports.values()
    ]
    if not grown or not all(DROP_COUNTER in port for port in grown):
        return None
    return sum(port[DROP_COUNTER] for port in grown)


def by_second(values: Floats, starts_ns: Floats) -> tuple[Floats, Floats]:
    """For each second: its start, in s, and the sum of the values in the rows of this second."""
    begin, place = np.unique(starts_ns, return_inverse=True)
    total = np.zeros(begin.size)
    np.add.at(total, place, values)
    return begin / NS_PER_S, total


def jain_index(shares: Floats) -> float | None:
    """Jain's index of how equal n shares are: 1 if all are equal, 1/n if one of them has
    everything; None if all are 0.

    Jain, Chiu and Hawe, A quantitative measure of fairness, DEC-TR-301, 1984.
    """
    squares = float(shares @ shares) * shares.size
    return float(shares.sum()) ** 2 / squares if squares > 0 else None


def one(numerator: float, denominator: float = 1.0) -> Terms:
    """Terms with a single entry, for a run of which only totals are known."""
    return np.array([numerator]), np.array([denominator])


def each(values: Floats) -> Terms:
    """Terms of a mean over samples, one entry for each sample."""
    return values, np.ones(values.shape)
