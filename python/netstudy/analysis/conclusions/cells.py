"""The cells that a conclusion is drawn from, with queries that several kinds share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.effects import PairEffect, pair_effects
from netstudy.analysis.intervals import student_interval
from netstudy.analysis.line_rates import carrying_bps
from netstudy.analysis.loads import loads_of
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.ratio import welch_df
from netstudy.analysis.steps import Judged, judge_rows, settled
from netstudy.documents.fields import Ref
from netstudy.study.levels import is_numeric
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.study import Study
    from netstudy.study.model import Factor


@dataclass(frozen=True, eq=False)
class Growth:
    """How a throughput metric grows with a factor, at one setting of the other factors."""

    metric: Metric
    factor: str
    held: Treatment
    cells: tuple[CellRow, ...]
    """Along the factor."""
    judged: Judged
    line_bps: int | None = None
    """The rate of the one link that carries all of the throughput; None: unknown, or no such
    link."""
    delay: Metric | None = None
    """The delay metric that grows under overload, when more is offered than served."""

    @property
    def has_ended(self) -> bool:
        """Whether some level is without gain. Otherwise throughput still grows at the last gain, or
        it is not decided whether it grows beyond."""
        return self.judged.without_gain > 0

    @property
    def overdrive(self) -> tuple[float, float] | None:
        """The delay at the last level with a gain, and the delay at the highest level after it;
        None if growth has not ended, or if the delay is not measured."""
        if not self.has_ended or self.delay is None:
            return None
        here, there = (row.value(self.delay) for row in (self.last_gain, self.beyond[-1]))
        return None if here is None or there is None else (here, there)

    @property
    def last_gain(self) -> CellRow:
        """The cell of the last level that gains."""
        gained = self.judged.last_gain
        return self.cells[self.judged.steps.index(gained)] if gained else self.cells[0]

    @property
    def is_uncertain(self) -> bool:
        """Whether Welch's interval of the last gain includes zero: the gain exceeds the study's
        noise, but not the variation between replicates."""
        now = self.judged.last_gain
        assert now is not None, "the first level gains"
        best, own = now.before, now.estimate
        if best is None or own is None or best.variance is None or own.variance is None:
            return False
        variance, df = best.variance + own.variance, welch_df(best, own)
        found = student_interval(abs(own.value - best.value), variance, df)
        return found is not None and found.low <= 0 < variance

    @property
    def beyond(self) -> tuple[CellRow, ...]:
        """The cells after the last level that gains."""
        return self.cells[self.cells.index(self.last_gain) + 1 :]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that a conclusion is drawn from, with their study, levels and growing factor."""

    study: Study
    table: CellTable
    case: str
    rows: tuple[CellRow, ...]
    levels: Mapping[str, tuple[Level, ...]]
    """Factors of these cells with several levels."""
    growing: Factor | None
    """The factor of its test case that grows."""

    @classmethod
    def of(cls, study: Study, table: CellTable, case: str, at: Treatment) -> Cells:
        """The cells of a test case at some levels."""
        rows = tuple(
            row
            for row in table.of_case(case)
            if all(row.treatment.get(name) == level for name, level in at.items())
        )
        levels = {
            name: tuple(level for level in every if any(_has(row, name, level) for row in rows))
            for name, every in table.factors.items()
        }
        growing = next((one.growing for one in study.cases if one.name == case), None)
        return cls(
            study=study,
            table=table,
            case=case,
            rows=rows,
            levels={name: found for name, found in levels.items() if len(found) > 1},
            growing=growing,
        )

    def metric(self, name: MetricName) -> Metric | None:
        """The metric that the study names, if some cell has a value of it."""
        found = metric_named(name, self.table.vocabulary)
        return found if found is not None and self.table.measured([found]) else None

    def pairs(
        self, metric: Metric, factor: str, base: Level | None = None
    ) -> tuple[PairEffect, ...]:
        """Every pair of levels of a factor, the later one compared with the earlier one; `base`
        counts as the earliest."""
        own = self.levels.get(factor, ())
        order = {factor: tuple(sorted(own, key=lambda level: level != base))}
        found = pair_effects(self.rows, {**self.levels, **order}, metric, self.study.margin_pct)
        return found.get(factor, ())

    def along(
        self, factor: str, grown: str | None = None
    ) -> Iterator[tuple[Treatment, tuple[CellRow, ...]]]:
        """The cells along a factor, at each setting of the other factors. If cells differ only in
        the growing factor `grown`, only the cell at the last level that gains throughput is
        kept."""
        left_out = (factor,) if grown is None else (factor, grown)
        groups: dict[frozenset[tuple[str, Level]], list[CellRow]] = {}
        rows: Sequence[CellRow] = self.rows
        if grown is not None and self.throughput is not None:
            rows = settled(self.study, self.case, rows, grown, self.throughput)
        for row in rows:
            if factor in row.treatment:
                key = frozenset(_without(row.treatment, *left_out).items())
                groups.setdefault(key, []).append(row)
        order = self.levels.get(factor, ())
        for own in groups.values():
            held = _without(own[0].treatment, *left_out)
            several = {name: level for name, level in held.items() if name in self.levels}
            if len(own) > 1:
                own.sort(key=lambda row: order.index(row.treatment[factor]))
                yield several, tuple(own)

    def setting(self, row: CellRow) -> Treatment:
        """The levels of a cell, of the factors with several levels."""
        return {name: row.treatment[name] for name in self.levels if name in row.treatment}

    @property
    def load(self) -> str | None:
        """The first factor with several levels that sets a load (`loads_of`); None: throughput has
        nothing to grow with."""
        return next((one for one in loads_of(self.study, self.case) if one in self.levels), None)

    @property
    def hosts(self) -> str | None:
        """The factor with several levels that sets the number of hosts of a group."""
        counts = (group.count for group in self.study.topology.groups.values())
        return next(filter(None, map(self._named, counts)), None)

    @property
    def grown_group(self) -> str | None:
        """The group whose number of hosts is the load."""
        groups = self.study.topology.groups.items()
        return next(
            (name for name, one in groups if None is not self._named(one.count) == self.load), None
        )

    def _named(self, value: object) -> str | None:
        """The factor with several levels that a value of the study refers to."""
        return value.name if isinstance(value, Ref) and value.name in self.levels else None

    @property
    def scaled(self) -> str | None:
        """The factor to which ideal growth is proportional: the x factor of a figure that draws
        ideal growth; else the load; else another numeric factor, if there is no load, or if it has
        only one level at each setting. None if the load's levels are not numeric."""
        numeric = [name for name, found in self.levels.items() if is_numeric(found)]
        drawn = [
            figure.x
            for _, figure in self.study.figures
            if figure.ideal and figure.case in (None, self.case) and figure.x in numeric
        ]
        likely = [name for name in (self.load,) if name in numeric and any(self.along(name))]
        return next(iter((*drawn, *likely, *(one for one in numeric if one != self.load))), None)

    @property
    def throughput(self) -> Metric | None:
        """The metric that decides on growth, else the workload's own throughput; None if no cell
        has a value."""
        growth = None if self.growing is None else self.growing.growth
        if growth is not None and growth.of is not None:
            return self.metric(growth.of)
        return next(iter(self.table.measured([self.table.workload.throughput])), None)

    @property
    def scaling(self) -> tuple[Metric, ...]:
        """Metrics compared with linear scaling, each once: throughput, and metrics of figures with
        ideal growth. Excludes metrics for which lower is better."""
        relatives = {one.metric: one.of for one in self.table.workload.relatives}
        drawn = [
            metric
            for _, figure in self.study.figures
            if figure.ideal and figure.case in (None, self.case)
            for name in figure.y
            if (metric := self.metric(name)) is not None and metric.direction == "higher"
        ]
        found: dict[Metric, Metric] = {}
        for metric in (self.throughput, *drawn):
            if metric is not None and metric.direction != "lower":
                found.setdefault(relatives.get(metric, metric), metric)
        return tuple(found.values())

    def growths(self, factor: str | None) -> Iterator[Growth]:
        """How throughput grows with a factor, at each setting of the others."""
        metric = self.throughput
        if factor is None or metric is None:
            return
        for held, rows in self.along(factor):
            measured = [row for row in rows if row.estimate(metric) is not None]
            judged = judge_rows(self.study, self.case, measured, factor, metric)
            if len(measured) > 1:
                rate = carrying_bps(self.study, self.table.workload, measured[0], metric)
                delay = self.table.workload.delay
                yield Growth(metric, factor, held, tuple(measured), judged, rate, delay)


def _has(row: CellRow, name: str, level: Level) -> bool:
    return name in row.treatment and row.treatment[name] == level


def _without(treatment: Treatment, *factors: str) -> Treatment:
    return {name: level for name, level in treatment.items() if name not in factors}
