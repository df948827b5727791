"""Weighted least squares over a model that is a simulation: few evaluations, and a little noise.

Gauss and Newton with differences: the model is evaluated with the same random numbers each time, so
that differences show the parameters and not the chance. See Nocedal and Wright, Numerical
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
_REACH_FIRST: Final = 3.0
"""A parameter moves by so many of its steps at first."""
_REACH_GROWTH: Final = 4.0
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

    def without(self, rows: NDArray[np.bool_]) -> Floats:
        """Residuals of some rows where the parameters are fitted to the others: leave-one-out,
        by the linear model around the fit."""
        kept = ~rows
        change = _solved(self.jacobian[kept], -self.residuals[kept])
        left: Floats = self.residuals[rows] + self.jacobian[rows] @ change
        return left


def fit(predict: Predict, start: Sequence[float], steps: Sequence[float], rounds: int) -> Fit:
    """The parameters of the least sum of squares that was seen; none is below 0. It ends when every
    residual is small, or the parameters hardly change.

    `steps` are the differences for the slopes: well above what chance makes of the model.
    Parameters go as far from the best ones as the linear model has proved right so far: farther
    after each success, less far after a failure.
    """
    at = np.asarray(start, dtype=np.float64)
    step = np.asarray(steps, dtype=np.float64)
    reach = _REACH_FIRST
    best: Fit | None = None
    for _ in range(rounds):
        residuals = predict(at)
        cost = float(residuals @ residuals)
        if best is None or cost < best.cost:
            reach *= 1.0 if best is None else _REACH_GROWTH
            best = Fit(at, residuals, _slopes(predict, at, step, residuals))
        else:
            reach /= _REACH_GROWTH
        if np.all(np.abs(best.residuals) <= _MET):
            break
        change = np.clip(_solved(best.jacobian, -best.residuals), -reach * step, reach * step)
        at = np.maximum(best.values + change, 0.0)
        if np.all(np.abs(at - best.values) <= _SAME * step):
            break
    assert best is not None, "there is a round"
    return best


def _slopes(predict: Predict, at: Floats, step: Floats, residuals: Floats) -> Floats:
    columns = []
    for index, width in enumerate(step):
        moved = at.copy()
        moved[index] += width
        columns.append((predict(moved) - residuals) / width)
    return np.stack(columns, axis=1) if columns else np.zeros((len(residuals), 0))


def _solved(jacobian: Floats, wanted: Floats) -> Floats:
    """The change of the parameters that changes residuals as wanted (Levenberg, Marquardt)."""
    normal = jacobian.T @ jacobian
    damped = normal + _DAMPING * np.diag(np.maximum(np.diag(normal), 1e-30))
    return np.asarray(np.linalg.solve(damped, jacobian.T @ wanted), dtype=np.float64)
