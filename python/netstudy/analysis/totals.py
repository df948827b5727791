"""Published totals of a run, brought to the same time or work as the study's own.

A total (drops of a run, segments sent again) grows with the length of the measuring phase, so two
totals agree only if both phases have the same length, or did the same amount of work. Otherwise
both are divided by the length of their own phase, or by their own number of iterations, transfers
or requests. If the reference gives neither, they cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from netstudy.analysis.metrics import Metric, RatioOfSums
from netstudy.analysis.samples import RunSample, Terms, one
from netstudy.analysis.workloads.base import Counted
from netstudy.study.reference_files import PublishedValue

_ALIKE: Final = 0.01
"""Two phases are of the same length if their lengths differ by at most this share."""
_OF_A_RUN: Final = " a run"


@dataclass(frozen=True)
class _Amount:
    """The divisor of a total."""

    published: Callable[[PublishedValue], float | None]
    own: Callable[[RunSample], float | None]
    unit: str
    """Unit of the amount, if it has one."""
    noun: str


def _time() -> _Amount:
    return _Amount(lambda value: value.measured_s, lambda run: run.measure_s, "s", "second")


def _work(counted: Counted) -> _Amount:
    return _Amount(
        lambda value: value.counted, lambda run: counted.of(run) or None, "", counted.noun
    )


@dataclass(frozen=True)
class Compared:
    """How published values of a metric are compared: the metric, and the number that each published
    value is divided by."""

    metric: Metric
    divisors: tuple[float, ...]


def compared(
    metric: Metric,
    values: Sequence[PublishedValue],
    cells: Sequence[Sequence[RunSample]],
    counted: Counted,
) -> Compared | None:
    """How these published values of one metric are compared with the runs of these cells; None if
    they are totals over an unknown time and an unknown amount of work."""
    if not any(value.metric.is_total for value in values):
        return Compared(metric, (1.0,) * len(values))
    for amount in (_time(), _work(counted)):
        given = [found for value in values if (found := amount.published(value)) is not None]
        if len(given) == len(values):
            if _are_alike(given, [amount.own(run) for runs in cells for run in runs]):
                return Compared(metric, (1.0,) * len(values))
            return Compared(_per(metric, amount), tuple(given))
    return None


def _are_alike(published: Sequence[float], own: Sequence[float | None]) -> bool:
    return all(
        found is not None and abs(found / given - 1) <= _ALIKE
        for given in set(published)
        for found in own
    )


def _per(metric: Metric, amount: _Amount) -> Metric:
    """The metric per second, or per unit of work."""
    per = f" per {amount.noun}"
    return replace(
        metric,
        name=f"{metric.name}_per_{amount.unit or amount.noun}",
        label=f"{metric.label.removesuffix(_OF_A_RUN)}{per}",
        title=f"{metric.title.removesuffix(_OF_A_RUN)}{per}",
        unit=f"{metric.unit or 1}/{amount.unit}" if amount.unit else metric.unit,
        per="" if amount.unit else per,
        formula=f"{metric.formula}; divided by {amount.noun}s of the measuring phase",
        decimals=metric.decimals + 1,
        figure=f"{metric.figure}_per_{amount.noun}",
        reading=RatioOfSums(lambda run: _terms(metric, amount, run)),
    )


def _terms(metric: Metric, amount: _Amount, run: RunSample) -> Terms | None:
    value, divisor = metric.reading.of_run(run), amount.own(run)
    return None if value is None or not divisor else one(value, divisor)
