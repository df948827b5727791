"""The values of a run that was measured elsewhere: from its own file, and from files of hosts for
the time of its measuring phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from netstudy.formats import formats
from netstudy.formats.growth import Growth, growths, growths_within
from netstudy.formats.measured import Better, Histogram, Measurement, Quantity, Series
from netstudy.formats.window import cut_readings
from netstudy.study.measured_files import FoundRun, HostFile
from netstudy.wire import (
    Check,
    MeasuredFile,
    MeasuredMetric,
    MeasuredRun,
    MeasuredSamples,
    MeasuredSeries,
)

DIRECTIONS: Final[Mapping[Better, Literal["lower", "higher", "neutral"]]] = {
    "lower": "lower",
    "higher": "higher",
    "neither": "neutral",
}
"""Direction as files and studies write it -> direction of a metric."""


_WORDS: Final = {
    "mean": "mean",
    "min": "smallest",
    "p50": "median",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
    "max": "largest",
}
"""Statistic at the end of a value's name -> the word in its label."""
_NO_TIME: Final = "the file of the run does not say when, so that this one cannot be cut to it."
_BUSY: Final = "busy_ms"
_HELD_UP: Final[Mapping[str, Quantity]] = {
    f"{name}_limited_ms": Quantity(
        f"{end}_limited_pct",
        f"time in which the {what} was the limit",
        "%",
        "lower",
        1,
        f"{name}_limited ÷ busy, over all connections",
    )
    for name, end, what in (
        ("rwnd", "receiver", "receive window"),
        ("sndbuf", "sender", "send buffer"),
    )
}
"""Counter of connections -> the share of their busy time."""
_IS_ON_PATH: Final = 0.1
"""Interfaces with less than this share of a run's payload are not on its path."""
_PAYLOAD_SLACK: Final = 0.05
"""A tool's mean has the slow start, and the readings are of the middle of the run: payload and
interfaces may differ by as much as a run's rate varies, without headers, which only add."""


@dataclass(frozen=True)
class Contents:
    """Everything that the files of a run give."""

    run: MeasuredRun
    metrics: tuple[MeasuredMetric, ...]
    """The metrics that the run has, in the order of its files."""
    checks: tuple[Check, ...]
    error: str | None
    """Why the run failed."""


def contents_of(found: FoundRun) -> Contents:
    """The values, series and samples of a run."""
    measurement = found.measurement
    at_hosts = [_AtHost(host, files, measurement) for host, files in found.hosts.items()]
    files = [found.file, *(one.file for at in found.hosts.values() for one in at)]
    of_run = _known(found.file.format, measurement)
    run = MeasuredRun(
        values={**measurement.values, **{k: v for at in at_hosts for k, v in at.values.items()}},
        files=tuple(files),
        tools=_tools(found),
        started_s=measurement.started_s,
        window_s=measurement.window_s,
        block=found.block,
        settings=dict(measurement.settings),
        series=(*_series(measurement.series), *(one for at in at_hosts for one in at.series)),
        samples=tuple(_samples(measurement)),
        notes=(*measurement.notes, *(note for at in at_hosts for note in at.notes)),
    )
    goodput_mbps = measurement.values.get("goodput_mbps")
    checks = (
        *measurement.checks,
        *(one for at in at_hosts for one in (*at.checks, *at.payload_checks(goodput_mbps))),
    )
    metrics = (*of_run, *(one for at in at_hosts for one in at.metrics))
    return Contents(run, metrics, checks, measurement.error)


def _tools(found: FoundRun) -> dict[str, str]:
    measurement = found.measurement
    tools = {found.file.path: _tool(measurement.tool, measurement.version)}
    for files in found.hosts.values():
        for one in files:
            tools[one.file.path] = _tool(one.readings.tool, one.readings.version)
    return tools


def _tool(name: str, version: str | None) -> str:
    return name if version is None else f"{name} {version}"


def quantities_of(form: str) -> Mapping[str, Quantity]:
    """The quantities of the format with this name; empty if it is not known."""
    return {one.name: one for each in formats() if each.name == form for one in each.quantities}


def _known(form: str, measurement: Measurement) -> Iterator[MeasuredMetric]:
    """The metrics of a measurement, in the order of its format."""
    sampled: dict[str, Literal["each", "histogram"]] = {
        **dict.fromkeys(measurement.samples, "each"),
        **{one.quantity: "histogram" for one in measurement.histograms},
    }
    known = quantities_of(form)
    by_quantity: dict[str, list[str]] = {name: [] for name in known}
    for name in measurement.values:
        by_quantity.setdefault(_quantity_name(name, known), []).append(name)
    for name, statistics in by_quantity.items():
        quantity = _listed(known, name, form)
        if name in sampled:
            yield _metric(quantity, form, samples=sampled[name])
        yield from (
            _metric(_statistic(quantity, each), form)
            for each in statistics
            if name not in sampled or each != name
        )


def _quantity_name(name: str, known: Mapping[str, Quantity]) -> str:
    """The quantity of a value, whose name may end in a statistic."""
    base, _, ending = name.rpartition("_")
    return base if name not in known and ending in _WORDS else name


def _statistic(quantity: Quantity, name: str) -> Quantity:
    """The quantity under the name of one of its statistics."""
    if name == quantity.name:
        return quantity
    ending = name.rpartition("_")[2]
    return replace(quantity, name=name, label=f"{quantity.label} ({_WORDS[ending]})")


def _listed(known: Mapping[str, Quantity], name: str, form: str) -> Quantity:
    """The quantity of this name; formats list only some of the counters of kernels and drivers."""
    label, meaning = name.replace("_", " "), f"counter of {form}, by its name there"
    return known.get(name) or Quantity(name, label, "", "neither", 0, meaning)


def _metric(
    quantity: Quantity,
    form: str,
    place: str = "",
    *,
    samples: Literal["each", "histogram"] | None = None,
) -> MeasuredMetric:
    """`place` is the host, with the interface or another part if there is one."""
    at = f" of {place}" if place else ""
    return MeasuredMetric(
        name=f"{place}.{quantity.name}" if place else quantity.name,
        label=f"{quantity.label}{at}",
        unit=quantity.unit,
        direction=DIRECTIONS[quantity.better],
        decimals=quantity.decimals,
        formula=quantity.meaning,
        instrument=form,
        samples=samples,
    )


def _series(found: Iterable[Series]) -> Iterator[MeasuredSeries]:
    """The series of the whole measurement; series of single streams have no use."""
    for one in found:
        if not one.part:
            for name, values in one.values.items():
                yield _of_series(name, one.starts_s, one.ends_s, values)


def _of_series(
    name: str, starts: Iterable[float], ends: Iterable[float], values: Iterable[float]
) -> MeasuredSeries:
    return MeasuredSeries(
        metric=name,
        starts_s=tuple(map(float, starts)),
        ends_s=tuple(map(float, ends)),
        values=tuple(float(one) if np.isfinite(one) else None for one in values),
    )


def _inside_series(name: str, inside: Series, column: str) -> MeasuredSeries:
    return _of_series(name, inside.starts_s, inside.ends_s, inside.values[column])


def _samples(measurement: Measurement) -> Iterator[MeasuredSamples]:
    for name, values in measurement.samples.items():
        yield MeasuredSamples(metric=name, values=tuple(map(float, values)))
    for one in measurement.histograms:
        yield _histogram(one)


def _histogram(one: Histogram) -> MeasuredSamples:
    return MeasuredSamples(
        metric=one.quantity,
        values=tuple(map(float, one.highest)),
        counts=tuple(map(int, one.counts)),
    )


class _AtHost:
    """The values for a run from the files of one host."""

    def __init__(self, host: str, files: tuple[HostFile, ...], measurement: Measurement) -> None:
        self.host = host
        self.values: dict[str, float] = {}
        self.series: list[MeasuredSeries] = []
        self.metrics: list[MeasuredMetric] = []
        self.notes: list[str] = []
        self.checks = [check for one in files for check in one.readings.checks]
        for one in files:
            self.notes += [f"{one.file.path}: {note}" for note in one.readings.notes]
        window_s = _inside(measurement)
        self._cut_series(files, window_s)
        self._grow_counters(files, window_s)

    def _place(self, part: str) -> str:
        return f"{self.host}@{part}" if part else self.host

    def _cut_series(self, files: Iterable[HostFile], window_s: tuple[float, float] | None) -> None:
        for one in files:
            if not one.readings.series:
                continue
            if window_s is None:
                self.notes.append(f"{one.file.path}: {_NO_TIME}")
                continue
            known = quantities_of(one.file.format)
            cuts = cut_readings(one.readings, window_s)
            if one.readings.of_connections and len(cuts) > 1:
                self.notes.append(
                    f"{one.file.path}: {len(cuts)} connections, whose states and rates are left "
                    "out; their counters are added up."
                )
                continue
            for cut in cuts:
                self.notes += [f"{one.file.path}: {note}" for note in cut.notes]
                place = self._place("" if one.readings.of_connections else cut.part)
                for name, value in cut.values.items():
                    self._add(_listed(known, name, one.file.format), one.file, place, value)
                    self.series.append(_inside_series(f"{place}.{name}", cut.series, name))

    def _grow_counters(
        self, files: Iterable[HostFile], window_s: tuple[float, float] | None
    ) -> None:
        """Counters with times are taken around the run; others are read before and after it, twice
        in a file or in two files."""
        readings: dict[str, list[HostFile]] = {}
        for one in files:
            if one.readings.counters:
                readings.setdefault(one.file.format, []).append(one)
        for form, found in readings.items():
            last, known = found[-1].file, quantities_of(form)
            every = [counters for one in found for counters in one.readings.counters]
            are_connections = any(one.readings.of_connections for one in found)
            if window_s is not None and all(one.at_s is not None for one in every):
                growing = growths_within(every, window_s, new_from_zero=are_connections)
            else:
                growing = growths(every, every, new_from_zero=are_connections)
            self.notes += [f"{last.path}: {note}" for one in growing for note in one.notes]
            if are_connections:
                self._add_up(growing, known, last)
                continue
            for grown in growing:
                for name, value in grown.values.items():
                    self._add(
                        _listed(known, name, form),
                        last,
                        self._place(grown.part),
                        value,
                    )

    def _add_up(
        self, growing: Iterable[Growth], known: Mapping[str, Quantity], file: MeasuredFile
    ) -> None:
        """The counters of all connections together, and how long they were held up by a window."""
        total: Counter[str] = Counter()
        for grown in growing:
            total.update(grown.values)
        for name, value in total.items():
            self._add(_listed(known, name, file.format), file, self.host, value)
        for name, quantity in _HELD_UP.items():
            if name in total and total[_BUSY]:
                self._add(quantity, file, self.host, 100 * total[name] / total[_BUSY])

    def _add(self, quantity: Quantity, file: MeasuredFile, place: str, value: float) -> None:
        metric = _metric(quantity, file.format, place)
        self.values[metric.name] = float(value)
        self.metrics.append(metric)

    def payload_checks(self, goodput_mbps: float | None) -> Iterator[Check]:
        """Holds the payload of the run against the interfaces of the host, in the fuller direction.
        A host whose interfaces carried almost nothing is no end of the run's path."""
        sums = [
            sum(value for name, value in self.values.items() if _is_of_interface(name, rate))
            for rate in ("send_mbps", "receive_mbps")
        ]
        if goodput_mbps is None or max(sums) < _IS_ON_PATH * goodput_mbps:
            return
        yield Check(
            law="the interfaces of a host carry the payload of the run",
            holds=max(sums) >= (1 - _PAYLOAD_SLACK) * goodput_mbps,
            detail=f"{self.host}: {max(sums):.4g} Mbit/s, and {goodput_mbps:.4g} Mbit/s of payload",
        )


def _is_of_interface(name: str, rate: str) -> bool:
    place, _, base = name.rpartition(".")
    return base == rate and "@" in place


def _inside(measurement: Measurement) -> tuple[float, float] | None:
    """The part of the measuring phase that is certain, whenever in its second it began."""
    if measurement.window_s is None:
        return None
    start_s, end_s = measurement.window_s
    inner = start_s + measurement.late_s, end_s
    return inner if inner[0] < inner[1] else measurement.window_s
