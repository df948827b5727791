"""Weighted least squares for a simulated model, which is slow to evaluate and slightly noisy.

Levenberg-Marquardt with finite differences: the model is evaluated with the same random numbers
each time, so that differences come from the parameters and not from chance. See Nocedal and Wright,
Numerical Optimization, 10.3.
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
"""The smallest damping. It keeps the equations solvable if the data do not determine all
parameters."""
_DAMPING_FIRST: Final = 1e-2
_DAMPING_CHANGE: Final = 10.0
ROUNDING: Final = 1e-9
"""Smaller changes of a residual (in units of the tolerance) are only rounding errors."""
_SAME: Final = 0.002
"""The fit ends when every parameter changes by at most this share of the parameter's step."""
_UNTOLD: Final = 1e-2
"""The data do not determine a direction in the space of parameters if its singular value is at most
this share of the largest. Before, each parameter's slopes are scaled to length 1. The share
corresponds to a condition index of 100, a strong dependency (Belsley, Kuh and Welsch, Regression
Diagnostics, 3.2), beyond which noise of the simulation would decide."""
_TAKES_PART: Final = 0.01
"""A parameter is undetermined if its squared components in the undetermined directions add up to
more than this. Two parameters form a group if the products of their components in these directions
do."""
_NORMAL_95: Final = 1.96
_MET: Final = 0.25
"""The fit ends if all residuals (in units of the tolerance) are at most this."""


@dataclass(frozen=True)
class Fit:
    """Parameters, and how well the data determine them."""

    values: Floats
    residuals: Floats
    """In units of the tolerance."""
    jacobian: Floats
    """Derivative of each residual (row) by each parameter (column)."""

    @property
    def cost(self) -> float:
        """Sum of squares."""
        return float(np.sum(np.square(self.residuals)))

    @property
    def scatter(self) -> float:
        """Mean square of the residuals. It is at least 1, so that small residuals do not narrow the
        intervals."""
        spare = max(1, self.residuals.size - self.values.size)
        return max(1.0, self.cost / spare)

    @property
    def half_widths(self) -> Floats:
        """Half width of each parameter's 95 % interval, if residuals are normal and the model is
        linear.

        It follows from the curvature of the sum of squares; residuals larger than the tolerance
        widen it. It is infinite if the data do not determine the parameter."""
        lengths, values, vectors = self._directions
        told = ~_is_untold(values)
        spread = np.sum(np.square(vectors[:, told]) / values[told], axis=1)
        widths = _NORMAL_95 * np.sqrt(spread * self.scatter) / lengths
        widths[[index for group in self.undetermined for index in group]] = np.inf
        return np.asarray(widths, dtype=np.float64)

    @property
    def undetermined(self) -> tuple[tuple[int, ...], ...]:
        """The groups of parameters that the data do not determine: single parameters that change no
        residual, and groups whose changes can cancel each other in the residuals."""
        _, values, vectors = self._directions
        free = vectors[:, _is_untold(values)]
        together = np.abs(free @ free.T) > _TAKES_PART
        groups: list[tuple[int, ...]] = []
        for index in np.flatnonzero(np.diag(together)):
            if not any(index in group for group in groups):
                groups.append(_connected(together, int(index)))
        return tuple(groups)

    @property
    def _directions(self) -> tuple[Floats, Floats, Floats]:
        """The length of each parameter's slopes; then, of the slopes scaled to length 1, the
        squared singular values and the right singular vectors."""
        lengths = np.linalg.norm(self.jacobian, axis=0)
        lengths[lengths == 0] = 1.0
        scaled = self.jacobian / lengths
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        return lengths, values, vectors

    def without(self, rows: NDArray[np.bool_], shared: Floats | None = None) -> Floats:
        """The residuals of `rows` if the parameters are fitted only to all other rows
        (leave-one-out), by the linear model around the fit.

        `shared` has further columns for `jacobian`: for values that were fitted together with the
        parameters, and must be fitted without these rows, too. The fit may have ended before its
        optimum. Therefore, the change from the linear optimum of all rows to that of the other rows
        is added to the residuals."""
        slopes = self.jacobian if shared is None else np.hstack([self.jacobian, shared])
        of_others, of_all = (
            _solved(slopes[some], -self.residuals[some], _DAMPING)
            for some in (~rows, np.ones_like(rows))
        )
        left: Floats = self.residuals[rows] + slopes[rows] @ (of_others - of_all)
        return left


def _is_untold(squares: Floats) -> NDArray[np.bool_]:
    """For each direction, given by its squared singular value, whether the data do not determine
    it."""
    return np.asarray(squares <= _UNTOLD**2 * np.max(squares, initial=0.0))


def _connected(together: NDArray[np.bool_], first: int) -> tuple[int, ...]:
    """All indices that are connected with `first`, also through others, in ascending order."""
    found = {first}
    while (
        more := {int(one) for one in np.flatnonzero(np.any(together[list(found)], axis=0))} - found
    ):
        found |= more
    return tuple(sorted(found))


def fit(predict: Predict, start: Sequence[float], steps: Sequence[float], rounds: int) -> Fit:
    """The parameters with the smallest sum of squares of all that were evaluated; no parameter is
    below 0. The fit ends when all residuals are small or the parameters hardly change.

    `steps` are the changes of the parameters with which slopes are measured; they must be large
    enough to exceed the model's noise. The better the linear model predicts, the less the changes
    of parameters are damped (Levenberg, Marquardt).
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
    """The change of the parameters to the minimum of the linear model. Parameters at 0 stay at 0
    instead of becoming negative."""
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
        change = predict(moved) - residuals
        columns.append(np.where(np.abs(change) < ROUNDING, 0.0, change) / width)
    return np.stack(columns, axis=1) if columns else np.zeros((len(residuals), 0))


def _solved(jacobian: Floats, wanted: Floats, damping: float) -> Floats:
    """The change of the parameters that changes the residuals by `wanted`, as nearly as
    possible."""
    normal = jacobian.T @ jacobian
    damped = normal + damping * np.diag(np.maximum(np.diag(normal), 1e-30))
    return np.asarray(np.linalg.solve(damped, jacobian.T @ wanted), dtype=np.float64)
