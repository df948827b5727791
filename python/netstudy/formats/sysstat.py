"""The quantities of sysstat's reports, for all formats in which sar and sadf print them.

The same activities come as JSON, as a table with `;` and as text, with nearly the same names of
columns: `%ifutil`, `ifutil-percent`; `rxkB/s`, `rxkB`. sysstat's kB are 1024 bytes (sar(1)); rates
here are decimal. The time between a restart of the host and the last record before it belongs to
no interval, and an interval that a record lacks has no value.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np

from netstudy.formats import numbers
from netstudy.formats.measured import Better, Floats, FormatError, HostReadings, Quantity, Series

Row = Mapping[str, float]
"""Plain name of a column -> value."""

_KIB_MBIT: Final = 1024 * 8 / 1e6
_KIB_MB: Final = 1024 / 1e6
_SECTOR_MB: Final = 512 / 1e6
"""sysstat's blocks and sectors have 512 bytes (sar(1), -b and -d)."""
_SHARES: Final = frozenset(
    {"usr", "user", "nice", "sys", "system", "iowait", "steal"}
    | {"irq", "soft", "guest", "gnice", "idle"}
)
"""Columns that share out the time of a CPU. `%user` includes `%guest`, `%usr` does not; a report
has one of the two."""
_IDLE: Final = "idle"
_SHARES_SLACK: Final = 1.0
"""How far the shares of a CPU may be from 100 % in total. Each is rounded to 0.01; where a CPU came
or went in the interval, sysstat's mean over all CPUs adds up to 99.9 in its own test data."""
_MOST: Final = {"%": 101.0, "Mbit/s": 1e7, "MB/s": 2e5, "1/s": 1e9}
"""Unit -> a value that no host exceeds. Where a counter went back, sysstat prints a rate near 2^64
or 2^32 by the interval (sysstat#259); a share may be 0.5 above 100 by rounding."""
_STEP_S: Final = 1.0
"""sysstat prints whole seconds, so that two of its times may be off by one together."""


@dataclass(frozen=True)
class Measure:
    """A quantity from columns of one row: their sum, times a factor."""

    quantity: Quantity
    columns: tuple[str, ...]
    """Plain names; without one of them the quantity is missing."""
    factor: float = 1.0


@dataclass(frozen=True)
class Activity:
    """An activity of sysstat: a table of its reports."""

    path: tuple[str, ...]
    """Where it is in a record of JSON."""
    sign: str
    """Plain name of a column that no other activity has."""
    measures: tuple[Measure, ...] = ()
    """If several give the same quantity, the first one that has its columns counts."""
    item: str | None = None
    """Plain name of the column with the CPU, interface or disk; None: it is of the whole host."""

    @cached_property
    def needs(self) -> frozenset[str]:
        """Plain names of the columns with numbers that are read."""
        shares = _SHARES if self.sign == _IDLE else ()
        return frozenset(
            (self.sign, *shares, *(name for each in self.measures for name in each.columns))
        )


def _quantity(name: str, label: str, unit: str, better: Better, meaning: str) -> Quantity:
    return Quantity(name, label, unit, better, 2, meaning)


def _rate(name: str, label: str, better: Better, *columns: str) -> tuple[Measure, ...]:
    """A count per second that is in one of the columns, which versions name differently."""
    meaning = " or ".join(f"{column}/s" for column in columns)
    quantity = _quantity(name, label, "1/s", better, meaning)
    return tuple(Measure(quantity, (column,)) for column in columns)


_CPU: Final = _quantity(
    "cpu_pct", "CPU", "%", "lower", "CPU time that was not idle, not waiting for I/O, not stolen"
)
_BUSIEST: Final = _quantity(
    "busiest_cpu_pct",
    "busiest CPU",
    "%",
    "lower",
    "busy share of the busiest CPU of the interval, among the CPUs in the file; over a window, of "
    "the CPU that was busy for longest",
)
_OF_CPUS: Final = {
    "iowait": _quantity("iowait_pct", "I/O wait", "%", "lower", "CPU time idle during disk I/O"),
    "steal": _quantity(
        "steal_pct", "steal", "%", "lower", "CPU time that the hypervisor gave to other machines"
    ),
    "soft": _quantity(
        "softirq_pct", "soft interrupts", "%", "lower", "CPU time in soft interrupts"
    ),
}
_RECEIVED: Final = _quantity(
    "receive_mbps",
    "received",
    "Mbit/s",
    "neither",
    "rxkB/s × 1024 × 8: bits that the interface received, headers included",
)
_SENT: Final = _quantity(
    "send_mbps",
    "sent",
    "Mbit/s",
    "neither",
    "txkB/s × 1024 × 8: bits that the interface sent, headers included",
)
_DISK: Final = _quantity(
    "disk_mb_per_s",
    "disk traffic",
    "MB/s",
    "neither",
    "bytes read and written, in 10^6 bytes a second; of a disk, or of all disks (sar -b)",
)
_DISK_BUSY: Final = _quantity(
    "disk_busy_pct", "disk busy", "%", "lower", "%util: share of the time with a request under way"
)
_SWAP: Final = _quantity(
    "swap_pages_per_s", "swapping", "1/s", "lower", "pages swapped in and out: pswpin/s + pswpout/s"
)

ACTIVITIES: Final = (
    Activity(("cpu-load",), _IDLE, item="cpu"),
    Activity(("cpu-load-all",), _IDLE, item="cpu"),
    Activity(
        ("network", "net-dev"),
        "rxkb",
        (
            Measure(_RECEIVED, ("rxkb",), _KIB_MBIT),
            Measure(_SENT, ("txkb",), _KIB_MBIT),
            *_rate("receive_packets_per_s", "packets received", "neither", "rxpck"),
            *_rate("send_packets_per_s", "packets sent", "neither", "txpck"),
        ),
        "iface",
    ),
    Activity(
        ("network", "net-edev"),
        "rxdrop",
        (
            *_rate("rxdrop_per_s", "packets dropped when received", "lower", "rxdrop"),
            *_rate("txdrop_per_s", "packets dropped when sent", "lower", "txdrop"),
            *_rate("rxerr_per_s", "bad packets received", "lower", "rxerr"),
            *_rate("txerr_per_s", "errors when sending", "lower", "txerr"),
            *_rate("rxfifo_per_s", "receive overruns", "lower", "rxfifo"),
        ),
        "iface",
    ),
    Activity(
        ("network", "softnet"),
        "squeezd",
        (
            *_rate("softnet_packets_per_s", "packets of softnet", "neither", "total"),
            *_rate("softnet_dropped_per_s", "packets that softnet dropped", "lower", "dropd"),
            *_rate("softnet_squeezed_per_s", "squeezes of softnet", "lower", "squeezd"),
        ),
        "cpu",
    ),
    Activity(
        ("network", "net-tcp"),
        "oseg",
        (
            *_rate("tcp_segments_received_per_s", "TCP segments received", "neither", "iseg"),
            *_rate("tcp_segments_sent_per_s", "TCP segments sent", "neither", "oseg"),
        ),
    ),
    Activity(
        ("network", "net-etcp"),
        "isegerr",
        _rate("segments_retransmitted_per_s", "retransmissions", "lower", "retrans", "retrseg"),
    ),
    Activity(
        ("network", "net-udp"),
        "idgmerr",
        _rate("udp_receive_errors_per_s", "UDP receive errors", "lower", "idgmerr"),
    ),
    Activity(
        ("process-and-context-switch",),
        "cswch",
        _rate("context_switches_per_s", "context switches", "neither", "cswch"),
    ),
    Activity(("swap-pages",), "pswpin", (Measure(_SWAP, ("pswpin", "pswpout")),)),
    Activity(("io",), "bread", (Measure(_DISK, ("bread", "bwrtn"), _SECTOR_MB),)),
    Activity(
        ("disk",),
        "util",
        (
            Measure(_DISK, ("rkb", "wkb"), _KIB_MB),
            Measure(_DISK, ("rd_sec", "wr_sec"), _SECTOR_MB),
            Measure(_DISK_BUSY, ("util",)),
        ),
        "dev",
    ),
)
"""The activities that are read. All others are left out."""

QUANTITIES: Final = (
    _CPU,
    _BUSIEST,
    *_OF_CPUS.values(),
    *dict.fromkeys(measure.quantity for activity in ACTIVITIES for measure in activity.measures),
)
LEFT_OUT: Final = (
    "Utilisation of interfaces (%ifutil): sysstat prints 0 where it does not know the line rate.",
    "Averages over the whole file: they are means of the same records.",
    "Memory, paging, interrupts, load averages, pressure, sensors and protocols other than TCP: no "
    "metric of a study is made of them.",
)
_LIMITS: Final = {found.name: _MOST[found.unit] for found in QUANTITIES}


@cache
def plain_name(column: str) -> str:
    """The name of a column without its unit: `ifutil` of `%ifutil` and `ifutil-percent`, `rxkb` of
    `rxkB/s`."""
    return column.removeprefix("%").removesuffix("/s").removesuffix("-percent").lower()


def numbers_of(
    columns: Sequence[str], words: Sequence[str], needs: frozenset[str], where: str
) -> tuple[dict[str, float], list[str]]:
    """The numbers of a row of text with these plain names, and notes about values that are none.

    Raises FormatError, with `where`, if the row does not have a word for each column, or a word is
    something else.
    """
    if len(words) != len(columns):
        raise FormatError(f"{where}: the row has {len(words)} values for {len(columns)} columns")
    found, notes = {}, []
    for name, word in zip(columns, words, strict=True):
        if name not in needs:
            continue
        if numbers.is_finite(word):
            found[name] = numbers.decimal(word, f"{where}, {name}")
        else:
            notes.append(f"{where}: {name} is left out, its value is {word}.")
    return found, notes


def activity_of(columns: list[str]) -> Activity | None:
    """The activity with these plain names of columns; None: it is not read."""
    return next(
        (
            found
            for found in ACTIVITIES
            if found.sign in columns and (found.item is None or found.item in columns)
        ),
        None,
    )


class Records:
    """Collects the rows of a file, in any order, and gives the readings of its host."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        """Sentences about values that were left out; the first notes of the host."""
        self._host: str | None = None
        self._values: dict[str, dict[str, dict[float, float]]] = {}
        self._lengths_s: dict[float, float | None] = {}
        self._restarts_s: set[float] = set()
        self._odd: Counter[str] = Counter()

    def of_host(self, name: str, where: str) -> None:
        """The host of the rows that follow. Raises FormatError if there were rows of another."""
        if self._host is not None and self._host != name:
            raise FormatError(
                f"{where}: the file has readings of {self._host} and of {name}; make one file for "
                "each host"
            )
        self._host = name

    def restart(self, at_s: float) -> None:
        """The host was restarted at this time."""
        self._restarts_s.add(at_s)

    def row(
        self, activity: Activity, end_s: float, length_s: float | None, item: str, row: Row
    ) -> None:
        """One row of an activity: of the interval that ends then, and of a CPU, interface or disk.

        `length_s` is None if the file does not say how long the interval was: it begins at the
        record before. A second row of the same interval and part counts for nothing.
        """
        self._lengths_s.setdefault(end_s, length_s)
        if activity.item == "cpu":
            item = "" if item in ("all", "-1") else f"cpu{item}"
        found = self._cpu(row) if activity.sign == _IDLE else _measured(activity, row)
        part = self._values.setdefault(item, {})
        for name, value in found.items():
            if not 0 <= value <= _LIMITS[name]:
                self._odd[f"{name} outside of its range"] += 1
            elif end_s in part.setdefault(name, {}):
                self._odd["a second value of the same interval"] += 1
            else:
                part[name][end_s] = value

    def _cpu(self, row: Row) -> dict[str, float]:
        shares = {name: value for name, value in row.items() if name in _SHARES}
        if abs(sum(shares.values()) - 100) > _SHARES_SLACK or min(shares.values()) < 0:
            self._odd["CPU shares that do not add up to 100 %"] += 1
            return {}
        found = {
            quantity.name: shares[name] for name, quantity in _OF_CPUS.items() if name in shares
        }
        waiting = shares.get("iowait", 0.0) + shares.get("steal", 0.0)
        return {_CPU.name: max(0.0, 100 - shares[_IDLE] - waiting), **found}

    def readings(self, version: str | None = None) -> HostReadings:
        """The readings of all rows."""
        self._find_busiest()
        ends_s = sorted(self._lengths_s)
        starts_s, kept, notes = self._starts(ends_s)
        series = tuple(
            _series(part, quantities, ends_s, starts_s, kept)
            for part, quantities in self._values.items()
            if any(quantities.values())
        )
        odd = [f"Left out: {what} ({count} times)." for what, count in self._odd.items()]
        if not series:
            notes.append("The file has no activity that is read.")
        restarts = len(self._restarts_s)
        if restarts:
            notes.append(
                f"The host was restarted ({restarts} times): there are no values from the last "
                "record before each restart."
            )
        return HostReadings(
            "sysstat", version, self._host, series, notes=(*self.notes, *odd, *notes)
        )

    def _find_busiest(self) -> None:
        single: dict[float, list[float]] = {}
        for part, quantities in self._values.items():
            if re.fullmatch(r"cpu\d+", part):
                for end_s, value in quantities.get(_CPU.name, {}).items():
                    single.setdefault(end_s, []).append(value)
        if single:
            whole = self._values.setdefault("", {})
            whole[_BUSIEST.name] = {end_s: max(values) for end_s, values in single.items()}

    def _starts(self, ends_s: list[float]) -> tuple[list[float], list[bool], list[str]]:
        """The start of each interval, which of them have a length, and notes about the rest."""
        starts_s, kept = [], []
        overlaps = lost = 0
        restarts_s = sorted(self._restarts_s)
        before_s = -math.inf
        for end_s in ends_s:
            length_s = self._lengths_s[end_s]
            restarts = restarts_s[
                bisect_right(restarts_s, before_s) : bisect_left(restarts_s, end_s)
            ]
            start_s = before_s if length_s is None or length_s <= 0 else end_s - length_s
            if restarts:
                start_s = max(start_s, restarts[-1])
            elif abs(start_s - before_s) <= _STEP_S:
                start_s = before_s
            elif start_s < before_s:
                overlaps += 1
                start_s = before_s
            kept.append(math.isfinite(start_s) and start_s < end_s)
            lost += not kept[-1]
            starts_s.append(start_s)
            before_s = end_s
        return starts_s, kept, _about(overlaps, lost)


def _measured(activity: Activity, row: Row) -> dict[str, float]:
    found: dict[str, float] = {}
    for measure in activity.measures:
        if all(name in row for name in measure.columns):
            value = measure.factor * sum(row[name] for name in measure.columns)
            found.setdefault(measure.quantity.name, value)
    return found


def _about(overlaps: int, lost: int) -> list[str]:
    notes = []
    if overlaps:
        notes.append(
            f"{overlaps} intervals are longer than the time since the record before, by the "
            "host's clock, which may have been set: each is taken from that record on."
        )
    if lost:
        notes.append(f"Left out: {lost} records whose interval has no known length.")
    return notes


def _series(
    part: str,
    quantities: Mapping[str, Mapping[float, float]],
    ends_s: list[float],
    starts_s: list[float],
    kept: list[bool],
) -> Series:
    """The intervals in which the part has a value."""
    rows = [
        index
        for index, end_s in enumerate(ends_s)
        if kept[index] and any(end_s in values for values in quantities.values())
    ]
    values: dict[str, Floats] = {
        name: np.array([found.get(ends_s[index], math.nan) for index in rows], dtype=np.float64)
        for name, found in quantities.items()
        if found
    }
    return Series(
        part,
        np.array([starts_s[index] for index in rows], dtype=np.float64),
        np.array([ends_s[index] for index in rows], dtype=np.float64),
        values,
    )
