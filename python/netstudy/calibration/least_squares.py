"""Weighted least squares over a model that is a simulation: few evaluations, and a little noise.

Levenberg and Marquardt with differences: the model is evaluated with the same random numbers each
time, so that differences show the parameters and not the chance. See Nocedal and Wright, Numerical
Optimization, 10.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Predict = Callable[[Floats], Floats]
"""Parameters -> residuals: (target - prediction) ÷ tolerance."""

_DAMPING: Final = 1e-3
"""The least: what keeps parameters apart that the data do not."""
_DAMPING_FIRST: Final = 1e-2
_DAMPING_CHANGE: Final = 10.0
_SAME: Final = 0.002
"""Changes below so many steps are none."""
_NORMAL_95: Final = 1.96
_MET: Final = 0.25
"""Residuals that are all below that, in tolerances, are left as they are."""


@dataclass(frozen=True)
class Fit:
    """Parameters, and how well the data determine them."""

    values: Floats
    residuals: Floats
    """In units of the tolerance."""
    jacobian: Floats
    """Change of each residual with each parameter."""

    @property
    def cost(self) -> float:
        """Sum of squares."""
        return float(np.sum(np.square(self.residuals)))

    @property
    def scatter(self) -> float:
        """Mean square of the residuals, if they are larger than the tolerance."""
        spare = max(1, self.residuals.size - self.values.size)
        return max(1.0, self.cost / spare)

    @property
    def half_widths(self) -> Floats:
        """Half of the interval of each: 95 %, if residuals are normal and the model linear.

        From the curvature; residuals larger than the tolerance widen them."""
        covariance = np.linalg.pinv(self.jacobian.T @ self.jacobian) * self.scatter
        widths = _NORMAL_95 * np.sqrt(np.maximum(np.diag(covariance), 0.0))
        return np.asarray(widths, dtype=np.float64)

    def without(self, rows: NDArray[np.bool_], shared: Floats | None = None) -> Floats:
        """Residuals of some rows where the parameters are fitted to the others: leave-one-out,
        by the linear model around the fit.

        `shared`: further slopes like those of `jacobian`, of what was found along with the
        parameters and has to be found without these rows too. A fit that has ended early is
        compared with where all rows would take it, so that only what the rows do is seen."""
        slopes = self.jacobian if shared is None else np.hstack([self.jacobian, shared])
        of_others, of_all = (
            _solved(slopes[some], -self.residuals[some], _DAMPING)
            for some in (~rows, np.ones_like(rows))
        )
        left: Floats = self.residuals[rows] + slopes[rows] @ (of_others - of_all)
        return left


def fit(predict: Predict, start: Sequence[float], steps: Sequence[float], rounds: int) -> Fit:
    """The parameters of the least sum of squares that was seen; none is below 0. It ends when every
    residual is small, or the parameters hardly change.

    `steps` are the differences for the slopes: well above what chance makes of the model. Changes
    are damped the less the more the linear model proves right (Levenberg, Marquardt).
    """
    at = np.asarray(start, dtype=np.float64)
    step = np.asarray(steps, dtype=np.float64)
    damping = _DAMPING_FIRST
    best: Fit | None = None
    for _ in range(rounds):
        residuals = predict(at)
        if best is None or np.sum(np.square(residuals)) < best.cost:
            damping /= 1.0 if best is None else _DAMPING_CHANGE
            best = Fit(at, residuals, _slopes(predict, at, step, residuals))
        else:
            damping *= _DAMPING_CHANGE
        if np.all(np.abs(best.residuals) <= _MET):
            break
        at = np.maximum(best.values + _change(best, max(damping, _DAMPING)), 0.0)
        if np.all(np.abs(at - best.values) <= _SAME * step):
            break
    assert best is not None, "there is a round"
    return best


def _change(best: Fit, damping: float) -> Floats:
    """Where the linear model is smallest; parameters that would fall below 0 stay there."""
    change = np.zeros_like(best.values)
    free = np.ones(best.values.size, dtype=bool)
    while np.any(free):
        change[free] = _solved(best.jacobian[:, free], -best.residuals, damping)
        below = free & (best.values + change < 0) & (best.values <= 0)
        if not np.any(below):
            break
        free &= ~below
        change[below] = 0.0
    return change


def _slopes(predict: Predict, at: Floats, step: Floats, residuals: Floats) -> Floats:
    columns = []
    for index, width in enumerate(step):
        moved = at.copy()
        moved[index] += width
        columns.append((predict(moved) - residuals) / width)
    return np.stack(columns, axis=1) if columns else np.zeros((len(residuals), 0))


def _solved(jacobian: Floats, wanted: Floats, damping: float) -> Floats:
    """The change of the parameters that changes residuals as wanted."""
    normal = jacobian.T @ jacobian
    damped = normal + damping * np.diag(np.maximum(np.diag(normal), 1e-30))
    return np.asarray(np.linalg.solve(damped, jacobian.T @ wanted), dtype=np.float64)
