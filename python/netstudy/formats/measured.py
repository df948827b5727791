"""The content of a file of measurements, in the units and by the clock of the real world.

A format turns the bytes of a file into a `Content`: measurements, each one run of a load generator,
or readings of a host that was observed meanwhile. A value that a file does not have is missing, it
is never 0. Rates are in decimal units (1 Mbit/s is 10^6 bit/s); times are in seconds since 1970 in
UTC, as floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from netstudy.wire import Check

Floats = NDArray[np.float64]
Better = Literal["lower", "higher", "neither"]


class FormatError(ValueError):
    """A file that cannot be read, or not be decided. The message says why, where in the file, and
    how to get a file that can be read."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that a format measures."""

    name: str
    """Its metric in a study, without a statistic: `goodput_mbps`. It is a name of the vocabulary
    only where the meaning is the same."""
    label: str
    """Its name in the middle of a sentence."""
    unit: str
    """Unit of the values; empty for a plain count."""
    better: Better
    decimals: int
    """Decimals that tables print."""
    meaning: str
    """How the tool finds the value, and how it differs from a metric with a similar name."""


@dataclass(frozen=True, eq=False)
class Series:
    """Values of consecutive intervals of one part of a measurement or of a host."""

    part: str
    """The stream, interface, CPU or connection that the values are of; empty: the whole."""
    starts_s: Floats
    ends_s: Floats
    """Start and end of each interval, ascending. In a measurement, since its start; in readings of
    a host, since 1970 in UTC."""
    values: Mapping[str, Floats]
    """Quantity -> a value for each interval; NaN where the file has none."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Samples of one quantity, counted in buckets."""

    quantity: str
    lowest: Floats
    """Lowest value of each bucket that is not empty, ascending, in the quantity's unit."""
    highest: Floats
    """Highest value of each of these buckets."""
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Measurement:
    """One run of a load generator or a probe."""

    tool: str
    """The program, as it calls itself: `iperf3`."""
    version: str | None = None
    started_s: float | None = None
    """When the measurement began; None: the file does not say."""
    window_s: tuple[float, float] | None = None
    """Start and end of the measuring phase, without omitted seconds, since 1970; None: the file
    does not say."""
    late_s: float = 0.0
    """The most by which the measuring phase may have begun and ended later than `window_s` says:
    1 s for a start in whole seconds."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that the file names: `protocol`, `streams`, `direction`, `target`."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Quantity -> value over the measuring phase."""
    series: tuple[Series, ...] = ()
    samples: Mapping[str, Floats] = field(default_factory=dict)
    """Quantity -> the single samples of the measuring phase, where the file has them."""
    histograms: tuple[Histogram, ...] = ()
    checks: tuple[Check, ...] = ()
    """The laws that the file was held against; a broken one makes the run invalid."""
    notes: tuple[str, ...] = ()
    """Parts of the file that were left out, and why; each a sentence."""
    error: str | None = None
    """Why the measurement failed, in the tool's words; then there are no values."""


@dataclass(frozen=True, eq=False)
class Counters:
    """Cumulative counters of one part of a host, at one instant."""

    part: str
    """The interface, queue or connection; empty: the whole host."""
    at_s: float | None
    """When they were read, since 1970; None: the file does not say."""
    values: Mapping[str, int]
    """Counter -> value. The format's `quantities` list the names."""
    zeros_left_out: bool = False
    """True if a counter that is missing is 0, as in the output of `nstat -j`."""


@dataclass(frozen=True, eq=False)
class HostReadings:
    """Readings of one host while something was measured."""

    tool: str
    version: str | None = None
    host: str | None = None
    """The name that the host gives itself."""
    series: tuple[Series, ...] = ()
    """Values of intervals, by the host's clock."""
    counters: tuple[Counters, ...] = ()
    """Readings of cumulative counters in the order of the file. A reading before and one after a
    measurement give the growth; both may be in files of their own."""
    of_connections: bool = False
    """True if the parts are connections: their counters begin at 0, and add up to the host's."""
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()


Content = tuple[Measurement, ...] | HostReadings
"""Several measurements: the file has several tests, one after the other."""


@runtime_checkable
class Format(Protocol):
    """A format of files. A format of a user's own is such an object under the entry point
    `netstudy.formats`."""

    @property
    def name(self) -> str:
        """Its name in a study and in records: `iperf3`."""

    @property
    def title(self) -> str:
        """The files that it reads, for people: `iperf3 -J and --json-stream`."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Everything that `read` may find."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parts of the files that `read` leaves out; each a sentence with the reason."""

    def recognises(self, head: bytes) -> bool:
        """True if a file that begins with these bytes (up to 64 KiB, decompressed) is of this
        format, as far as its beginning tells. Never by name. At most one format may answer True."""

    def read(self, data: bytes) -> Content:
        """The content of a whole file. Pure. Raises FormatError, and nothing else, for any
        bytes."""
