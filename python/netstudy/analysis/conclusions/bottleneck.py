"""Finds the bottleneck of throughput at each level of the load, at each setting of the other
factors."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.bounds.candidates import Candidate, LimitKind, Resource
from netstudy.analysis.bounds.look import Look
from netstudy.analysis.bounds.verdict import Level, judge
from netstudy.analysis.cells import CellRow
from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.loads import loads_of
from netstudy.analysis.metrics import Metric
from netstudy.study.conclusions.bottleneck import Bottleneck
from netstudy.study.conclusions.bottleneck import Candidate as Asked
from netstudy.study.vocabulary import MetricName, line_direction
from netstudy.wire import Treatment

_ALIKE: Final = 0.02
"""Relative difference of throughputs that count as the same."""


@dataclass(frozen=True, eq=False)
class Span:
    """Neighbouring levels of the load with the same verdict."""

    levels: tuple[Level, ...]

    @property
    def first(self) -> Level:
        """The lowest level, whose verdict stands for all."""
        return self.levels[0]

    @property
    def examined(self) -> Level:
        """The level with the most measured candidates among the last ones, which have about the
        throughput of the highest; of equals, the highest."""
        least = self.levels[-1].seen.throughput * (1 - _ALIKE)
        late = [level for level in self.levels if level.seen.throughput >= least]
        return max(
            reversed(late), key=lambda level: sum(one.is_measured for one in level.candidates)
        )

    @property
    def is_open(self) -> bool:
        """True if the limit is not decided."""
        return self.first.cause == "open"

    def share(self, key: Hashable) -> list[Candidate]:
        """A candidate at each level."""
        every = (one for level in self.levels for one in level.candidates)
        return [one for one in every if one.resource.key == key]


@dataclass(frozen=True, eq=False)
class Limits:
    """The limits of throughput at one setting."""

    metric: Metric
    """The throughput metric."""
    held: Treatment
    factor: str | None
    """The factor that sets the load; None: there is none."""
    near_pct: float
    spans: tuple[Span, ...]
    """In the order of the load."""

    @property
    def levels(self) -> tuple[Level, ...]:
        """All levels, in the order of the load."""
        return tuple(level for span in self.spans for level in span.levels)

    def claims(self) -> Iterator[Claim]:
        """The claims that something limits throughput."""
        for span in self.spans:
            if span.is_open or span.first.cause == "served":
                continue
            rows = (one.row for one in span.levels)
            levels = (
                () if self.factor is None else tuple(row.treatment[self.factor] for row in rows)
            )
            yield Claim("limits", self.factor, levels, self.metric)


@dataclass(frozen=True, eq=False)
class Bottlenecks(Drawn[Bottleneck]):
    """The bottleneck of throughput."""

    kind = Bottleneck
    limits: tuple[Limits, ...]
    """One for each setting of the factors other than the load."""

    @classmethod
    def draw(cls, asked: Bottleneck, cells: Cells) -> Bottlenecks | None:
        """Judge every level at each setting."""
        metric = cells.throughput
        if metric is None:
            return None
        found = tuple(_each_setting(asked, cells, metric))
        return cls(found) if found else None

    @staticmethod
    def by_default() -> Bottleneck:
        """The keys of a study that does not ask for it."""
        return Bottleneck(bottleneck=True)

    @property
    def is_open(self) -> bool:
        """True if the limit is decided at no setting."""
        return all(span.is_open for one in self.limits for span in one.spans)

    def claims(self) -> tuple[Claim, ...]:
        """That something limits throughput, at each setting and level where it is decided."""
        return tuple(claim for one in self.limits for claim in one.claims())


def _each_setting(asked: Bottleneck, cells: Cells, metric: Metric) -> Iterator[Limits]:
    load = cells.load
    loads = {} if load is None else loads_of(cells.study, cells.case).get(load, {})
    look = Look(_own_candidates(asked), asked.near, cells, load, loads)
    for held, rows in _settings(cells, load, metric):
        seen = [look.seen(row, metric) for row in rows]
        levels = judge(seen, asked.near, cells.study.margin_pct)
        yield Limits(metric, held, load, asked.near, tuple(_spans(levels)))


def _own_candidates(asked: Bottleneck) -> tuple[Resource, ...]:
    return tuple(_own(name, one) for name, one in asked.candidates.items())


def _own(name: str, asked: Asked) -> Resource:
    """A candidate of the study."""
    metric = asked.metric
    scope = metric.scope
    return Resource(
        kind=_kind_of(metric),
        node="" if scope is None else scope.node,
        part=f"{metric}",
        name=name,
        reads=((None, (metric,)),),
        limit=asked.limit,
        is_unknown=asked.is_unknown,
        is_cpus=metric.base == "cpu_pct",
    )


def _kind_of(metric: MetricName) -> LimitKind:
    if line_direction(metric) is not None:
        return "link"
    for text, kind in _KINDS.items():
        if text in metric.base:
            return kind
    return "resource"


_KINDS: dict[str, LimitKind] = {
    "packets_per_s": "packet_rate",
    "cpu_pct": "cpu",
    "disk": "disk",
    "bus_busy": "bus",
}


def _settings(
    cells: Cells, load: str | None, metric: Metric
) -> Iterator[tuple[Treatment, list[CellRow]]]:
    """The cells with a throughput, by the levels of the factors other than the load, each in the
    order of the load."""
    groups: dict[frozenset[tuple[str, object]], list[CellRow]] = {}
    for row in cells.rows:
        if row.value(metric) is not None:
            others = ((name, level) for name, level in row.treatment.items() if name != load)
            groups.setdefault(frozenset(others), []).append(row)
    for rows in groups.values():
        held = cells.setting(rows[0])
        yield {name: level for name, level in held.items() if name != load}, rows


def _spans(levels: tuple[Level, ...]) -> Iterator[Span]:
    own: list[Level] = []
    for level in levels:
        if own and _verdict(own[-1]) != _verdict(level):
            yield Span(tuple(own))
            own = []
        own.append(level)
    if own:
        yield Span(tuple(own))


def _verdict(level: Level) -> Hashable:
    part = level.part
    return (
        level.cause,
        frozenset(one.resource.key for one in level.limits),
        None if part is None else (part.kind, part.name),
    )


def level_at(cells: Cells, row: CellRow) -> Level | None:
    """The verdict in one cell without other levels; None: the cell has no throughput."""
    metric = cells.throughput
    if metric is None or row.value(metric) is None:
        return None
    own = (one for one in cells.study.conclude if isinstance(one, Bottleneck))
    asked = next(own, Bottlenecks.by_default())
    look = Look(_own_candidates(asked), asked.near, cells, cells.load, {})
    (level,) = judge([look.seen(row, metric)], asked.near, cells.study.margin_pct)
    return level


def full_at(cells: Cells, row: CellRow) -> Mapping[Hashable, Candidate]:
    """The resources that are full in one cell, or may be, by their keys; without other levels."""
    level = level_at(cells, row)
    if level is None:
        return {}
    states = ("limit", "reached", "may be reached")
    return {
        one.resource.key: one
        for one in level.candidates
        if one.state in states and one.resource.kind != "none"
    }
