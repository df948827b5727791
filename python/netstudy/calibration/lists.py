"""Fitting by lists: each figure has a list of a few values that the real device could have, and one
of them is chosen.

This suits figures that are whole numbers, and models that are too noisy to distinguish values that
lie closer together than a list's values.
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
"""Confidence of the one-sided test for whether a value fits worse."""


@dataclass(frozen=True)
class Interval:
    """The lowest and the highest value whose fit is no worse than that of the best value."""

    low: Any
    high: Any


def descend(
    lists: Mapping[FigureT, Sequence[ValueT]],
    begin: Mapping[FigureT, ValueT],
    loss: Loss[FigureT, ValueT],
    rounds: float = math.inf,
    told: Callable[[float, FigureT | None, Mapping[FigureT, ValueT]], None] | None = None,
) -> dict[FigureT, ValueT]:
    """Finds the values with the smallest loss by coordinate descent: for one figure after the
    other, all values of its list are tried and the best is kept, until no figure changes. Calls
    `told` with the state of the search after each figure."""
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
    """Whether a value fits as well as the best one: another test, as long as the published one,
    could have preferred it.

    `found` and `best` have the losses of the two values in n pairs of runs with common random
    numbers (Law, Simulation Modeling and Analysis, 10.2 and 11.2). The value fits as well if its
    loss minus the best value's loss is, on average, at most t(.95) x s x √(1 + 1/n). Here s is the
    standard deviation of the differences, scaled to the length of the published test. The 1 in the
    root stands for the published test: its sampling error changes the difference about as much as
    that of one simulated test of the same length.
    """
    differences = [a - b for a, b in zip(found, best, strict=True)]
    n = len(differences)
    spread = statistics.stdev(differences) * math.sqrt(length / published_length)
    reach = student_quantile(CONFIDENCE, n - 1) * spread * math.sqrt(1 + 1 / n)
    return statistics.mean(differences) <= reach


def around(chosen: ValueT, values: Sequence[ValueT], good: set[ValueT]) -> Interval:
    """The ends of the unbroken sequence of good values that contains the chosen one."""
    place = values.index(chosen)
    low = high = place
    while low > 0 and values[low - 1] in good:
        low -= 1
    while high + 1 < len(values) and values[high + 1] in good:
        high += 1
    return Interval(values[low], values[high])
