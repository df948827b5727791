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
"""The least damping: keeps the equations solvable if the data do not determine all parameters."""
_DAMPING_FIRST: Final = 1e-2
_DAMPING_CHANGE: Final = 10.0
ROUNDING: Final = 1e-9
"""Smaller changes of residuals, in tolerances, are only rounding errors."""
_SAME: Final = 0.002
"""The fit ends when no parameter changes by more than this share of its step."""
_UNTOLD: Final = 1e-2
"""The data do not determine a direction if its singular value is at most this share of the largest;
all slopes are scaled to length 1 first. The share is a condition index of 100, a strong dependency
(Belsley, Kuh and Welsch, Regression Diagnostics, 3.2): beyond it the simulation's noise decides."""
_TAKES_PART: Final = 0.01
"""A parameter is undetermined if the squares of its components in the undetermined directions add
up to more than this. Two parameters form a group if the products of their components do."""
_NORMAL_95: Final = 1.96
_MET: Final = 0.25
"""If all residuals are smaller, in tolerances, the fit ends."""


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
        """Mean square of the residuals, but at least 1: small residuals do not narrow the
        intervals."""
        spare = max(1, self.residuals.size - self.values.size)
        return max(1.0, self.cost / spare)

    @property
    def half_widths(self) -> Floats:
        """Half width of each parameter's 95 % interval, if residuals are normal and the model is
        linear.

        From the curvature; residuals larger than the tolerance widen it. Infinite where the data
        do not determine a parameter."""
        lengths, values, vectors = self._directions
        told = ~_is_untold(values)
        spread = np.sum(np.square(vectors[:, told]) / values[told], axis=1)
        widths = _NORMAL_95 * np.sqrt(spread * self.scatter) / lengths
        widths[[index for group in self.undetermined for index in group]] = np.inf
        return np.asarray(widths, dtype=np.float64)

    @property
    def undetermined(self) -> tuple[tuple[int, ...], ...]:
        """The parameters that the data do not determine: each parameter that changes no residual,
        and each group whose changes can cancel in the residuals."""
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
        """Lengths of the slopes, and squares of the singular values of the scaled ones with their
        right singular vectors."""
        lengths = np.linalg.norm(self.jacobian, axis=0)
        lengths[lengths == 0] = 1.0
        scaled = self.jacobian / lengths
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        return lengths, values, vectors

    def without(self, rows: NDArray[np.bool_], shared: Floats | None = None) -> Floats:
        """Residuals of some rows with the parameters fitted to the others: leave-one-out, by the
        linear model around the fit.

        `shared`: further columns for `jacobian`, for values that were fitted along with the
        parameters and must be fitted without these rows too. Only the effect of the rows is
        added to the residuals: the linear optimum without them minus the linear optimum with all
        rows, since the fit may have ended before its own optimum."""
        slopes = self.jacobian if shared is None else np.hstack([self.jacobian, shared])
        of_others, of_all = (
            _solved(slopes[some], -self.residuals[some], _DAMPING)
            for some in (~rows, np.ones_like(rows))
        )
        left: Floats = self.residuals[rows] + slopes[rows] @ (of_others - of_all)
        return left


def _is_untold(squares: Floats) -> NDArray[np.bool_]:
    """Which directions the data do not determine, by the squares of their singular values."""
    return np.asarray(squares <= _UNTOLD**2 * np.max(squares, initial=0.0))


def _connected(together: NDArray[np.bool_], first: int) -> tuple[int, ...]:
    """All indices connected with the first, in ascending order."""
    found = {first}
    while (
        more := {int(one) for one in np.flatnonzero(np.any(together[list(found)], axis=0))} - found
    ):
        found |= more
    return tuple(sorted(found))


def fit(predict: Predict, start: Sequence[float], steps: Sequence[float], rounds: int) -> Fit:
    """The evaluated parameters with the least sum of squares; none is below 0. The fit ends when
    all residuals are small or the parameters hardly change.

    `steps` are the differences for the slopes: large enough to exceed the model's noise. The better
    the linear model predicts, the less changes are damped (Levenberg, Marquardt).
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
    """The change to the minimum of the linear model; parameters at 0 stay there instead of falling
    below."""
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
    """The change of the parameters that changes the residuals by `wanted`."""
    normal = jacobian.T @ jacobian
    damped = normal + damping * np.diag(np.maximum(np.diag(normal), 1e-30))
    return np.asarray(np.linalg.solve(damped, jacobian.T @ wanted), dtype=np.float64)
