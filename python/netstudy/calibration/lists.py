"""Fitting by lists: each figure has a few values that the device could have, and one is chosen.

For figures that are whole numbers, and for models that are too noisy to tell values apart that are
closer together than the values in the list.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from netstudy.analysis.intervals import student_quantile

FigureT = TypeVar("FigureT")
ValueT = TypeVar("ValueT")
Loss = Callable[[Mapping[FigureT, ValueT]], float]
"""Chosen values -> the model's distance from the measured values, with the same random numbers each
time."""
CONFIDENCE = 0.95
"""Confidence of the one-sided test that a value fits worse."""


@dataclass(frozen=True)
class Interval:
    """The lowest and the highest of the values that fit as well."""

    low: Any
    high: Any


def descend(
    lists: Mapping[FigureT, Sequence[ValueT]],
    begin: Mapping[FigureT, ValueT],
    loss: Loss[FigureT, ValueT],
    rounds: float = math.inf,
    told: Callable[[float, FigureT | None, Mapping[FigureT, ValueT]], None] | None = None,
) -> dict[FigureT, ValueT]:
    """The values of least loss by coordinate descent: one figure after the other takes each value
    of its list and keeps the best, until none changes. Calls `told` after each figure."""
    chosen = dict(begin)
    best = loss(chosen)
    if told is not None:
        told(best, None, chosen)
    changed = True
    while changed and rounds > 0:
        changed, rounds = False, rounds - 1
        for figure, values in lists.items():
            for value in values:
                if value == chosen.get(figure):
                    continue
                candidate = {**chosen, figure: value}
                found = loss(candidate)
                if found < best:
                    best, changed, chosen = found, True, candidate
            if told is not None:
                told(best, figure, chosen)
    return chosen


def fits_as_well(
    found: Sequence[float], best: Sequence[float], length: float, published_length: float
) -> bool:
    """Whether one more test of the published length could have preferred a value to the best one.

    The losses come in n pairs of runs with common random numbers (Law, Simulation Modeling and
    Analysis, 10.2 and 11.2). A value fits as well if the mean difference of its loss from the loss
    of the best value is at most t(.95) x s x √(1 + 1/n). Here s is the standard deviation of the
    differences, scaled to the length of the published test. The published values come from a single
    test: its sampling error changes the difference about as much as the sampling error of one
    simulated test of the same length.
    """
    differences = [a - b for a, b in zip(found, best, strict=True)]
    n = len(differences)
    spread = statistics.stdev(differences) * math.sqrt(length / published_length)
    reach = student_quantile(CONFIDENCE, n - 1) * spread * math.sqrt(1 + 1 / n)
    return statistics.mean(differences) <= reach


def around(chosen: ValueT, values: Sequence[ValueT], good: set[ValueT]) -> Interval:
    """The unbroken stretch of good values that holds the chosen one."""
    place = values.index(chosen)
    low = high = place
    while low > 0 and values[low - 1] in good:
        low -= 1
    while high + 1 < len(values) and values[high + 1] in good:
        high += 1
    return Interval(values[low], values[high])
