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
_STEPS_MAX: Final = 3.0
"""A parameter moves by so many of its steps at a time."""
_NORMAL_95: Final = 1.96


@dataclass(frozen=True)
class Fit:
    """Parameters, and how well the data determine them."""

    values: Floats
    half_widths: Floats
    """Half of the interval of each: 95 %, if residuals are normal and the model linear."""
    residuals: Floats
    """In units of the tolerance."""
    jacobian: Floats
    """Change of each residual with each parameter."""

    @property
    def cost(self) -> float:
        """Sum of squares."""
        return float(self.residuals @ self.residuals)

    def without(self, rows: NDArray[np.bool_]) -> Floats:
        """Residuals of some rows where the parameters are fitted to the others: leave-one-out,
        by the linear model around the fit."""
        kept = ~rows
        change = _solved(self.jacobian[kept], -self.residuals[kept])
        left: Floats = self.residuals[rows] + self.jacobian[rows] @ change
        return left


def fit(predict: Predict, start: Sequence[float], steps: Sequence[float], rounds: int) -> Fit:
    """The parameters of the least sum of squares that was seen; none is below 0.

    `steps` are the differences for the slopes: well above what chance makes of the model.
    """
    at = np.asarray(start, dtype=np.float64)
    step = np.asarray(steps, dtype=np.float64)
    best: tuple[float, Floats, Floats, Floats] | None = None
    for _ in range(rounds):
        residuals = predict(at)
        jacobian = _slopes(predict, at, step, residuals)
        cost = float(residuals @ residuals)
        if best is None or cost < best[0]:
            best = (cost, at, residuals, jacobian)
        change = np.clip(_solved(jacobian, -residuals), -_STEPS_MAX * step, _STEPS_MAX * step)
        at = np.maximum(at + change, 0.0)
    assert best is not None, "there is a round"
    _, values, residuals, jacobian = best
    return Fit(values, _half_widths(residuals, jacobian), residuals, jacobian)


def _slopes(predict: Predict, at: Floats, step: Floats, residuals: Floats) -> Floats:
    columns = []
    for index, width in enumerate(step):
        moved = at.copy()
        moved[index] += width
        columns.append((predict(moved) - residuals) / width)
    return np.stack(columns, axis=1)


def _solved(jacobian: Floats, wanted: Floats) -> Floats:
    """The change of the parameters that changes residuals as wanted (Levenberg, Marquardt)."""
    normal = jacobian.T @ jacobian
    damped = normal + _DAMPING * np.diag(np.maximum(np.diag(normal), 1e-30))
    return np.asarray(np.linalg.solve(damped, jacobian.T @ wanted), dtype=np.float64)


def _half_widths(residuals: Floats, jacobian: Floats) -> Floats:
    """From the curvature; residuals larger than the tolerance widen them."""
    spare = max(1, len(residuals) - jacobian.shape[1])
    scatter = max(1.0, float(residuals @ residuals) / spare)
    normal = jacobian.T @ jacobian
    covariance = np.linalg.pinv(normal) * scatter
    widths = _NORMAL_95 * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return np.asarray(widths, dtype=np.float64)
