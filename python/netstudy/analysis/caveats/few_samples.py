"""Percentiles of too few samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from netstudy.analysis.asked import asked_metrics
from netstudy.analysis.caveats.base import OF_EVERY_CELL, Analysed, Caveat, Planned
from netstudy.analysis.claims import Claim
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import figure_named, metric_named
from netstudy.analysis.order_statistics import (
    Lacking,
    carries,
    fewest,
    fewest_beyond,
    has_beyond,
)
from netstudy.analysis.workloads import further_of, metrics_of
from netstudy.wire import Run, Treatment

_MANY: Final = 1e9
"""A number of samples that suffices for any percentile: assumed where the actual number cannot be
known in advance."""


@dataclass(frozen=True)
class FewSamples(Caveat):
    """A percentile that the study names, but for which cells have too few samples."""

    metric: Metric
    places: tuple[str, ...]
    """Paths in the study where the percentile is named."""
    cells: int
    """Number of cells with too few samples."""
    every: int
    """Number of cells with runs."""
    fewest: Lacking

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[FewSamples]:
        """One caveat for each percentile."""
        places: dict[Metric, list[str]] = {}
        for path, name in dict.fromkeys(asked_metrics(analysed.planned.study)):
            metric = metric_named(name, analysed.cells.vocabulary)
            if metric is not None:
                places.setdefault(metric, []).append(path)
        rows = analysed.rows
        for metric, paths in places.items():
            lacking = [one for row in rows if (one := row.lacking(metric)) is not None]
            if lacking:
                least = min(lacking, key=lambda one: one.samples)
                yield cls(metric, tuple(paths), len(lacking), len(rows), least)

    def forbids(self, claim: Claim) -> bool:
        """Claims about this percentile in every cell, and all of them if no cell has it."""
        of_every = claim.kind in OF_EVERY_CELL or self.cells == self.every
        return claim.metric == self.metric and of_every


@dataclass(frozen=True)
class FewSamplesExpected(Caveat):
    """A percentile for which a setting, or a single run, will have too few samples."""

    metric: Metric
    noun: str
    """The noun for a sample, such as iteration, transfer or request."""
    treatment: Treatment
    """The setting with the fewest samples."""
    expected: int
    """Estimated number of samples if there are no losses."""
    needed: int
    of_one_run: bool
    """True if single runs have too few samples for the percentile; a verdict needs a value of each
    run."""

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[FewSamplesExpected]:
        """One caveat for each percentile; before the runs only."""
        runs, replicates = planned.design.runs, planned.study.replicates
        if not runs:
            return
        compared = _compared(planned)
        for metric in dict.fromkeys([*_asked(planned), *compared]):
            reading = metric.reading
            if not isinstance(reading, _Quantile):
                continue
            least = min(runs, key=reading.expected_samples)
            each = min(reading.expected_samples(least), _MANY)
            whole = int(each * replicates)
            if not carries(reading.q, whole):
                needed, of_one_run, expected = fewest(reading.q), False, whole
            elif metric in compared and replicates > 1 and not has_beyond(reading.q, int(each)):
                needed, of_one_run, expected = fewest_beyond(reading.q), True, int(each)
            else:
                continue
            yield cls(metric, reading.noun, least.treatment, expected, needed, of_one_run)

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[FewSamplesExpected]:  # noqa: ARG003  # the base's
        """None: the records have the samples."""
        return iter(())


@runtime_checkable
class _Quantile(Protocol):
    """A reading that is a quantile of samples."""

    q: float

    def expected_samples(self, run: Run) -> float: ...
    @property
    def noun(self) -> str: ...


def _asked(planned: Planned) -> Iterator[Metric]:
    """The metrics that the study names, including the metrics of its figures."""
    among = (*metrics_of(planned.plan), *further_of(planned.plan))
    named = (metric_named(name, among) for name in planned.study.named_metrics)
    drawn = (figure_named(one.name, among) for _, one in planned.study.figures if one.name)
    yield from (metric for metric in (*named, *drawn) if metric is not None)


def _compared(planned: Planned) -> list[Metric]:
    """The metrics that a verdict is about."""
    compare = planned.study.compare
    if compare is None:
        return []
    among = (*metrics_of(planned.plan), *further_of(planned.plan))
    named = [metric_named(name, among) for name in compare.on]
    return [one for one in named if one is not None] or [*planned.workload.compared_on[:1]]
