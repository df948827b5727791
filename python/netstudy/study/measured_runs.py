"""The values of a run that was measured elsewhere: what its own file gives, and what the files of
hosts give for the time of its measuring phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from netstudy.formats import formats
from netstudy.formats.growth import growths
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
    checks = (*measurement.checks, *(one for at in at_hosts for one in at.checks))
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
    sampled = {*measurement.samples, *(one.quantity for one in measurement.histograms)}
    for name, quantity in quantities_of(form).items():
        if name in sampled or name in measurement.values:
            yield _metric(quantity, form, samples=name in sampled)


def _metric(
    quantity: Quantity, form: str, place: str = "", *, samples: bool = False
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
    """The series of the whole measurement; those of single streams have no use."""
    for one in found:
        if not one.part:
            for name, values in one.values.items():
                yield _of_series(name, "", one.starts_s, one.ends_s, values)


def _of_series(
    name: str, part: str, starts: Iterable[float], ends: Iterable[float], values: Iterable[float]
) -> MeasuredSeries:
    return MeasuredSeries(
        metric=name,
        part=part,
        starts_s=tuple(map(float, starts)),
        ends_s=tuple(map(float, ends)),
        values=tuple(float(one) if np.isfinite(one) else None for one in values),
    )


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
    """What the files of one host give for a run."""

    def __init__(self, host: str, files: tuple[HostFile, ...], measurement: Measurement) -> None:
        self.host = host
        self.values: dict[str, float] = {}
        self.series: list[MeasuredSeries] = []
        self.metrics: list[MeasuredMetric] = []
        self.notes: list[str] = []
        self.checks = [check for one in files for check in one.readings.checks]
        for one in files:
            self.notes += [f"{one.file.path}: {note}" for note in one.readings.notes]
        self._cut_series(files, measurement)
        self._grow_counters(files)

    def _place(self, part: str) -> str:
        return f"{self.host}@{part}" if part else self.host

    def _cut_series(self, files: Iterable[HostFile], measurement: Measurement) -> None:
        for one in files:
            if not one.readings.series:
                continue
            if measurement.window_s is None:
                self.notes.append(
                    f"{one.file.path}: the run's own file does not say when it was measured, so "
                    "that the readings cannot be cut to it."
                )
                continue
            known = quantities_of(one.file.format)
            for cut in cut_readings(one.readings, measurement.window_s):
                self.notes += [f"{one.file.path}: {note}" for note in cut.notes]
                place = self._place(cut.part)
                for name, value in cut.values.items():
                    self._add(known[name], one.file, place, value)
                    inside = cut.series
                    self.series.append(
                        _of_series(
                            f"{place}.{name}", "", inside.starts_s, inside.ends_s,
                            inside.values[name],
                        )
                    )  # fmt: skip

    def _grow_counters(self, files: Iterable[HostFile]) -> None:
        """Counters are read before and after a run: twice in a file, or in two files."""
        readings: dict[str, list[HostFile]] = {}
        for one in files:
            if one.readings.counters:
                readings.setdefault(one.file.format, []).append(one)
        for form, found in readings.items():
            known = quantities_of(form)
            every = [counters for one in found for counters in one.readings.counters]
            if max(Counter(one.part for one in every).values()) < 2:
                self.notes.append(
                    f"{found[0].file.path}: counters since the host started; a second reading "
                    "after the run is needed."
                )
                continue
            for grown in growths(every, every):
                self.notes += [f"{found[-1].file.path}: {note}" for note in grown.notes]
                place = self._place(grown.part)
                for name, value in grown.values.items():
                    self._add(known[name], found[-1].file, place, value)

    def _add(self, quantity: Quantity, file: MeasuredFile, place: str, value: float) -> None:
        metric = _metric(quantity, file.format, place)
        self.values[metric.name] = float(value)
        self.metrics.append(metric)
