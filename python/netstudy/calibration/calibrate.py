"""The calibration of a profile's figures: fit, leave-one-out errors, and what it cannot show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from netstudy.analysis.workloads import RELATIVE
from netstudy.calibration.least_squares import Fit, Floats, fit
from netstudy.calibration.model import Model
from netstudy.calibration.targets import Target, targets_of
from netstudy.errors import StudyError
from netstudy.plan import make_plan
from netstudy.study import Study, level_text

STEP_SHARE = 0.08
"""Differences for slopes, as a share of a figure's value."""
STEP_LEAST = {"_ns": 50_000.0, "_ppm": 3_000.0}
"""The least difference of a time, 50 us, and of a share, 0.3 %: above what chance makes."""


@dataclass(frozen=True)
class Options:
    """How a calibration is carried out."""

    figures: tuple[str, ...]
    """What is fitted."""
    choices: Mapping[str, tuple[Any, ...]]
    """Figures of which each value is tried, since they are whole numbers."""
    tolerances: Mapping[str, float]
    """Metric -> how far the model may be from it, in its own unit."""
    share: float = 0.01
    """The same for all other metrics, as a share of the value."""
    left_out: frozenset[str] = frozenset()
    """Metrics that are not looked at."""
    relative: frozenset[str] = RELATIVE
    """Metrics in percent of a base row, which is fitted for each file: their base is no target."""
    rounds: int = 4
    warmup_s: float = 2.0
    measure_s: float = 20.0
    threads: int | None = None


@dataclass(frozen=True)
class Judged:
    """A target beside what the fitted model says."""

    target: Target
    simulated: float
    left_out: float | None
    """What it would say, fitted to all rows but this one; None: it was not fitted."""

    @property
    def error(self) -> float:
        """Simulated minus published."""
        return self.simulated - self.target.value


@dataclass(frozen=True)
class Calibration:
    """Figures that were fitted."""

    profile: str
    values: Mapping[str, float]
    """By the figure's name, in its smallest unit."""
    intervals: Mapping[str, tuple[float, float]]
    chosen: Mapping[str, Any]
    cost: float
    """Sum of squares in units of the tolerance."""
    costs: Mapping[str, float]
    """The same for each choice that was tried, in words."""
    judged: tuple[Judged, ...]
    unresolved: tuple[str, ...]
    """Differences that the source shows and that are below the model's resolution."""


def calibrate(study: Study, profile: str, options: Options) -> Calibration:
    """Fit figures of an application's profile to the study's reference data."""
    model = Model(
        study, profile, options.figures, options.warmup_s, options.measure_s, options.threads
    )
    found = targets_of(study, make_plan(study, seed=1))
    targets = [one for one in found if one.metric not in options.left_out]
    fitted = [one for one in targets if not one.predicted]
    if len(fitted) <= len(options.figures):
        raise StudyError(f"{len(fitted)} values cannot tell {len(options.figures)} figures apart")
    best: tuple[Fit, dict[str, Any]] | None = None
    costs: dict[str, float] = {}
    for chosen in _chosen(options.choices):
        one = _fitted(model, fitted, options, chosen)
        costs[_words(chosen)] = one.cost
        if best is None or one.cost < best[0].cost:
            best = one, chosen
    assert best is not None, "there is a choice"
    return _calibration(model, targets, fitted, options, *best, costs)


def _words(chosen: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in chosen.items()) or "as it is"


def _chosen(choices: Mapping[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """Every combination of the choices."""
    if not choices:
        yield {}
        return
    (name, values), *rest = choices.items()
    for value in values:
        for other in _chosen(dict(rest)):
            yield {name: value, **other}


def _fitted(
    model: Model, targets: Sequence[Target], options: Options, chosen: Mapping[str, Any]
) -> Fit:
    start = model.start()
    steps = [_step(knob.wired, value) for knob, value in zip(model.figures, start, strict=True)]

    def residuals(values: Floats) -> Floats:
        said = _said(model, targets, options, tuple(values), chosen)
        tolerances = [one.tolerance(options.tolerances, options.share) for one in targets]
        wanted = np.array([one.value for one in targets])
        found: Floats = (wanted - said) / np.array(tolerances)
        return found

    return fit(residuals, start, steps, options.rounds)


def _step(wired: str, value: float) -> float:
    least = next((step for unit, step in STEP_LEAST.items() if wired.endswith(unit)), 1.0)
    return max(STEP_SHARE * value, least)


def _said(
    model: Model,
    targets: Sequence[Target],
    options: Options,
    values: Sequence[float],
    chosen: Mapping[str, Any],
) -> Floats:
    """What the model says of each target; relative metrics of a file share a base, by least
    squares."""
    found = model.predict(values, ((one.run, one.metric) for one in targets), chosen)
    said = np.array([found[one.run, one.metric] for one in targets])
    for file, metric in dict.fromkeys((one.file, one.metric) for one in targets):
        if metric not in options.relative:
            continue
        of_base = [
            index
            for index, one in enumerate(targets)
            if (one.file, one.metric, one.predicted) == (file, metric, False)
        ]
        every = [
            index for index, one in enumerate(targets) if (one.file, one.metric) == (file, metric)
        ]
        wanted = np.array([targets[index].value for index in of_base])
        base = float(wanted @ said[of_base]) / float(said[of_base] @ said[of_base])
        said[every] *= base
    return said


def _calibration(
    model: Model,
    targets: Sequence[Target],
    fitted: Sequence[Target],
    options: Options,
    best: Fit,
    chosen: Mapping[str, Any],
    costs: Mapping[str, float],
) -> Calibration:
    said = _said(model, targets, options, tuple(best.values), chosen)
    left_out = _left_out(best, fitted, options)
    judged = tuple(
        Judged(one, float(value), left_out.get((one.row, one.metric)))
        for one, value in zip(targets, said, strict=True)
    )
    widths = zip(options.figures, best.values, best.half_widths, strict=True)
    return Calibration(
        profile=model.profile,
        values=dict(zip(options.figures, map(float, best.values), strict=True)),
        intervals={
            name: (max(0.0, float(value - width)), float(value + width))
            for name, value, width in widths
        },
        chosen=dict(chosen),
        cost=best.cost,
        costs=dict(costs),
        judged=judged,
        unresolved=tuple(dict.fromkeys(_unresolved(judged))),
    )


def _left_out(
    best: Fit, targets: Sequence[Target], options: Options
) -> dict[tuple[str, str], float]:
    """Row and metric -> what the model says of it, fitted to all other rows."""
    found = {}
    for row in dict.fromkeys(one.row for one in targets):
        is_of = np.array([one.row == row for one in targets])
        residuals = best.without(is_of)
        own = [one for one in targets if one.row == row]
        for one, residual in zip(own, residuals, strict=True):
            tolerance = one.tolerance(options.tolerances, options.share)
            found[one.row, one.metric] = one.value - float(residual) * tolerance
    return found


def _unresolved(judged: Sequence[Judged]) -> Iterator[str]:
    """Pairs of rows that differ in one factor, and in a metric by less than the model is off."""
    for metric in dict.fromkeys(one.target.metric for one in judged):
        own = [one for one in judged if one.target.metric == metric and not one.target.predicted]
        errors = [one.error / one.target.value for one in own if one.target.value]
        resolution = 2 * float(np.sqrt(np.mean(np.square(errors)))) if errors else 0.0
        for one, other in combinations(own, 2):
            factor = _only_difference(one.target, other.target)
            if factor is None or one.target.file != other.target.file or not one.target.value:
                continue
            change = other.target.value / one.target.value - 1
            if abs(change) < resolution:
                levels = " and ".join(
                    level_text(each.target.treatment[factor]) for each in (one, other)
                )
                yield (
                    f"{metric} at {factor} {levels} differs by {100 * abs(change):.1f} %, below "
                    f"the model's resolution of {100 * resolution:.1f} %"
                )


def _only_difference(one: Target, other: Target) -> str | None:
    names = one.treatment.keys() | other.treatment.keys()
    unlike = [name for name in names if one.treatment.get(name) != other.treatment.get(name)]
    return unlike[0] if len(unlike) == 1 else None
