"""Laws fitted to the points of a figure: linear, Amdahl, USL, and latency + size/bandwidth.

Parameters are found by least squares over the single runs. The 95 % intervals of the parameters and
of the curve are computed from the linearised law (Seber & Wild, Nonlinear Regression, 5.1).
Amdahl's law and the universal scalability law are in Gunther's form (Guerrilla Capacity Planning, 4
and 5).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from netstudy.analysis.intervals import CONFIDENCE, Interval, student_quantile
from netstudy.analysis.samples import Floats

CURVE_POINTS = 60
"""Number of points at which a fitted curve is computed."""


@dataclass(frozen=True)
class Law:
    """A law of y along x, and its parameters by name."""

    name: str
    parameters: tuple[str, ...]
    of: Callable[..., Floats]
    start: Callable[[Floats, Floats], Sequence[float]]
    """Initial values of the parameters for the search, given the points."""
    is_relative: bool = False
    """Whether relative errors are minimised, as on logarithmic axes."""
    not_negative: tuple[str, ...] = ()
    """Parameters that have no meaning below zero."""


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    slope = float((y[-1] - y[0]) / (x[-1] - x[0]))
    return float(y[0] - slope * x[0]), slope


def _rate_of_one(n: Floats, y: Floats) -> float:
    """The rate per user or host, at the first point whose number n of users or hosts is above
    zero."""
    first = int(np.argmax(n > 0))
    return float(y[first] / n[first])


LAWS = {
    "linear": Law("linear", ("intercept", "slope"), lambda x, a, b: a + b * x, _line),
    "amdahl": Law(
        "Amdahl",
        ("rate of one", "serial share"),
        lambda n, one, serial: one * n / (1 + serial * (n - 1)),
        lambda n, y: (_rate_of_one(n, y), 0.05),
        not_negative=("serial share",),
    ),
    "usl": Law(
        "USL",
        ("rate of one", "contention", "coherence"),
        lambda n, one, sigma, kappa: one * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)),
        lambda n, y: (_rate_of_one(n, y), 0.05, 0.001),
        not_negative=("contention", "coherence"),
    ),
    "latency + size/bandwidth": Law(
        "latency + size/bandwidth",
        ("latency", "time a byte"),
        lambda size, latency, each: latency + each * size,
        _line,
        is_relative=True,
        not_negative=("latency", "time a byte"),
    ),
}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a fitted law."""

    name: str
    value: float
    interval: Interval | None
    """None: there are only as many points as parameters."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A law with its parameters, and its curve with the 95 % interval of the mean."""

    law: Law
    parameters: tuple[Parameter, ...]
    at: Floats
    values: Floats
    low: Floats | None
    high: Floats | None

    def value(self, x: float) -> float:
        """The fitted law's y at this x."""
        return float(self.law.of(np.array(x), *(one.value for one in self.parameters)))

    @property
    def meaningless(self) -> tuple[str, ...]:
        """Parameters that have no meaning below zero, but whose whole interval is below zero: the
        points do not follow the law."""
        return tuple(
            one.name
            for one in self.parameters
            if one.name in self.law.not_negative
            and (one.value if one.interval is None else one.interval.high) < 0
        )


def fit(name: str, x: Sequence[float], y: Sequence[float]) -> Fitted | None:
    """The law fitted to the points. None if there are fewer different x than parameters, if all
    values are zero (which would fit any law), or if the search does not converge."""
    law = LAWS[name]
    order = np.argsort(np.asarray(x, dtype=float), kind="stable")
    at, values = np.asarray(x, dtype=float)[order], np.asarray(y, dtype=float)[order]
    if len(set(at)) < len(law.parameters) or (law.is_relative and values.min() <= 0):
        return None
    if not values.any():
        return None
    found = _least_squares(law, at, values)
    if found is None:
        return None
    best, spread = found
    free = at.size - best.size
    quantile = student_quantile(0.5 + CONFIDENCE / 2, free) if free > 0 else None
    course = _course(law, at)
    parameters = tuple(
        Parameter(name, float(value), _about(float(value), float(error), quantile))
        for name, value, error in zip(law.parameters, best, np.sqrt(np.diag(spread)), strict=True)
    )
    low, high = _band(law, course, best, spread, quantile)
    return Fitted(law, parameters, course, law.of(course, *best), low, high)


def _least_squares(law: Law, at: Floats, values: Floats) -> tuple[Floats, Floats] | None:
    """Parameters and their covariance."""
    from scipy.optimize import OptimizeWarning, curve_fit  # takes 0.25 s; few reports have fits

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)  # only as many points as parameters
        try:
            best, spread = curve_fit(
                law.of,
                at,
                values,
                p0=law.start(at, values),
                sigma=values if law.is_relative else None,
            )
        except RuntimeError:
            return None
    return best, spread


def _course(law: Law, at: Floats) -> Floats:
    space = np.geomspace if law.is_relative and at[0] > 0 else np.linspace
    found: Floats = space(at[0], at[-1], CURVE_POINTS)
    return found


def _about(value: float, error: float, quantile: float | None) -> Interval | None:
    if quantile is None or not np.isfinite(error):
        return None
    return Interval(value - quantile * error, value + quantile * error)


def _band(
    law: Law, course: Floats, best: Floats, spread: Floats, quantile: float | None
) -> tuple[Floats | None, Floats | None]:
    """The interval of the mean along the curve, by the delta method."""
    if quantile is None or not np.all(np.isfinite(spread)):
        return None, None
    middle = law.of(course, *best)
    slopes = np.empty((course.size, best.size))
    for number, value in enumerate(best):
        step = 1e-6 * max(abs(float(value)), 1e-12)
        moved = best.copy()
        moved[number] += step
        slopes[:, number] = (law.of(course, *moved) - middle) / step
    error = np.sqrt(np.maximum(0.0, np.einsum("ij,jk,ik->i", slopes, spread, slopes)))
    return middle - quantile * error, middle + quantile * error
