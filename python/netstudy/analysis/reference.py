"""Published measurements beside the study's own: read, matched to cells, held against their law.

A value is matched to the cells that were measured at the same levels; a factor that the published
table does not name may have any level. Published goodput and completion time are one observation
(goodput x completion time = bytes), so a row in which they disagree beyond rounding is flagged.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.analysis.agreement import (
    Agreement,
    Beside,
    OrderAgreement,
    RatioAgreement,
    agreement,
    order_agreement,
    ratio_agreement,
)
from netstudy.analysis.bootstrap import resampled
from netstudy.analysis.ideal import ideal_of
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import BY_NAME, COMPLETION, GOODPUT, METRICS, Metric
from netstudy.analysis.testbed import Here
from netstudy.errors import StudyError
from netstudy.study.levels import level_text
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.study.outcome import Reference

NO_VALUE = {"", "-", "–"}


@dataclass(frozen=True)
class Published:
    """One published value: what was measured, at which levels, to which rounding."""

    metric: Metric
    levels: Mapping[str, str]
    value: float
    rounding: float
    """One unit of the last digit that is given: a source may have rounded or cut."""

    def is_of(self, treatment: Treatment) -> bool:
        """Whether it was measured at the levels of a treatment."""
        return all(
            factor in treatment and level_text(treatment[factor]) == level
            for factor, level in self.levels.items()
        )


@dataclass(frozen=True)
class BrokenLaw:
    """A published row whose goodput x completion time is not its bytes."""

    x: Level | None
    level: Level | None
    ratio: float
    """Goodput x completion time over the bytes of an iteration."""


@dataclass(frozen=True)
class PanelReference:
    """The published values of one panel beside its cells."""

    agreements: tuple[Agreement, ...]
    ratios: tuple[RatioAgreement, ...]
    orders: tuple[OrderAgreement, ...]
    broken: tuple[BrokenLaw, ...]
    checked: int
    """Rows whose goodput and completion time were held against each other."""
    here: Here
    """What the study's own values are called beside the published ones."""

    def of(self, metric: Metric) -> tuple[Agreement, ...]:
        """The agreements in one metric, one a level."""
        return tuple(one for one in self.agreements if one.metric == metric)


def read_reference(reference: Reference, folder: Path) -> tuple[Published, ...]:
    """The values of a reference file beside its study. Raises StudyError for what is no number.

    That the file and its columns are there was checked when the study was read.
    """
    with (folder / reference.file).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, restval=""))
    try:
        return tuple(value for row in rows for value in _values(row, reference))
    except ValueError as error:
        raise StudyError(f"the reference data {reference.file}: {error}") from error


def _values(row: Mapping[str, str], reference: Reference) -> Iterator[Published]:
    levels = {factor: row[column].strip() for factor, column in reference.factors.items()}
    for column, meaning in reference.columns.items():
        metric = metric_named(meaning.metric)
        text = row[column].strip()
        if metric is None or text in NO_VALUE:
            continue
        fixed = {**reference.at, **meaning.at}
        named = {factor: level_text(level) for factor, level in fixed.items()}
        decimals = len(text.partition(".")[2])
        yield Published(metric, {**levels, **named}, float(text), 10.0**-decimals)


def metric_named(name: str) -> Metric | None:
    """The metric of that name; a name without a statistic means the mean."""
    return BY_NAME.get(name) or BY_NAME.get(f"{name}_mean")


def beside(
    panel: Panel,
    published: Sequence[Published],
    base: Level | None,
    noise_pct: float | None,
    here: Here = "simulated",
) -> PanelReference:
    """Holds the cells of a panel against what was published."""
    agreements = [
        found
        for metric in METRICS
        for level in panel.series_levels
        if (found := _agreement(panel, level, metric, published)).rows
    ]
    by_key = {(found.metric.name, found.level): found for found in agreements}
    pairs = [
        (found, by_key[found.metric.name, base])
        for found in agreements
        if found.level != base and (found.metric.name, base) in by_key
    ]
    ratios = (ratio_agreement(*pair) for pair in pairs)
    orders = (order_agreement(*pair, noise_pct) for pair in pairs)
    laws = list(_laws(panel, published))
    return PanelReference(
        agreements=tuple(agreements),
        ratios=tuple(one for one in ratios if one is not None),
        orders=tuple(one for one in orders if one is not None),
        broken=tuple(law for law, holds in laws if not holds),
        checked=len(laws),
        here=here,
    )


def _agreement(
    panel: Panel, level: Level | None, metric: Metric, published: Sequence[Published]
) -> Agreement:
    rows = []
    for x in panel.x_levels:
        cell = panel.cell(x, level)
        value = None if cell is None else _find(published, metric, cell.treatment)
        if cell is not None and value is not None:
            found = Beside(x, value.value, cell.estimate(metric), resampled(cell, metric))
            rows.append(found)
    return agreement(metric, level, rows)


def _find(published: Iterable[Published], metric: Metric, treatment: Treatment) -> Published | None:
    found = (value for value in published if value.metric == metric and value.is_of(treatment))
    return next(found, None)


def _laws(panel: Panel, published: Sequence[Published]) -> Iterator[tuple[BrokenLaw, bool]]:
    """Each published row with both values, and whether their product is its bytes."""
    for (x, level), cell in panel.cells.items():
        goodput = _find(published, GOODPUT, cell.treatment)
        completion = _find(published, COMPLETION, cell.treatment)
        if goodput is None or completion is None or not goodput.value or not completion.value:
            continue
        megabits = ideal_of(cell.planned[0]).payload_bytes * 8 / 1e6
        ratio = goodput.value * completion.value / 1e3 / megabits
        slack = goodput.rounding / goodput.value + completion.rounding / completion.value
        yield BrokenLaw(x, level, ratio), abs(ratio - 1) <= slack * (1 + slack)
