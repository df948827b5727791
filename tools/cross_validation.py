"""Fits the incast profiles to two of the published tables and predicts the third, for each table.

usage: python -m tools.cross_validation [--iterations 60] [--seed 1]

A fit starts at the first value of each figure's list, not at the profiles' values. It searches each
list twice, as `tools.fit` does, but with the targets of only two configurations. The fitted figures
then predict the third configuration, with new random numbers. For comparison, the profiles, which
were fitted to all three configurations, are run with the same random numbers. If their errors were
much smaller, the model would fit the data but not predict them.

Written into studies/incast/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netstudy.calibration import Trial
from netstudy.report.markdown import pipe_table
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table, Value, bare_percent
from tools import fit, trial
from tools.fit import Chosen
from tools.trial import Accuracy

ROUNDS = 2
"""How many times a fit goes through the lists of all figures."""


@dataclass(frozen=True)
class Fold:
    """A configuration that was left out of a fit, and how accurately it was predicted."""

    left_out: str
    chosen: Chosen
    """Figures from the fit to the other configurations."""
    predicted: Accuracy
    fitted: Accuracy
    """Accuracy of the unchanged profiles."""


def fold(left_out: str, iterations: int, seed: int) -> Fold:
    """Fit to all configurations except one, and predict that configuration."""
    print(f"without {left_out}:", flush=True)
    others = [name for name in trial.CONFIGURATIONS if name != left_out]
    known = trial.model(iterations, fit.SERVERS, others)
    first = {figure: values[0] for figure, values in fit.LISTS.items()}
    chosen = fit.fit(known, trial.targets(known), first, seed, ROUNDS)
    model = trial.model(iterations, fit.SERVERS, [left_out])
    aims = trial.targets(model)
    predicted, fitted = (
        Accuracy.of(aims, model.predict(Trial(figures), trial.shown(aims), seed + 1))
        for figures in (chosen, {})
    )
    return Fold(left_out, chosen, predicted, fitted)


def errors_table(folds: Sequence[Fold]) -> Table:
    """Median errors for each configuration, when predicted and when fitted."""
    groups = (
        *map(Group, ("Configuration", "Quantity", "Switch")),
        Group("Predicted from the other two", "%"),
        Group("Fitted on all three", "%"),
    )
    rows = tuple(row for one in folds for row in _rows(one))
    return Table("cross-validation", say("Median errors"), groups, rows, stub=3)


def _rows(one: Fold) -> Iterator[tuple[Value, ...]]:
    for (metric, switch), fitted in one.fitted.median_abs_pct.items():
        about = f"median of |error|, {metric.label}, {one.left_out}, {switch}"
        errors = (one.predicted.median_abs_pct[metric, switch], fitted)
        names = (one.left_out, metric.label, switch)
        yield (*map(Name, names), *(bare_percent(error, about) for error in errors))


def figures_table(folds: Sequence[Fold], profiles: Chosen) -> Table:
    """The figures chosen by each fit."""
    heads = ("Profile", "Figure", *(f"without {one.left_out}" for one in folds), "profile")
    every = [*(one.chosen for one in folds), profiles]
    rows = tuple(
        (
            Name(figure.profile),
            Name(figure.name),
            *(Name(str(figure.written(chosen[figure]))) for chosen in every),
        )
        for figure in profiles
    )
    return Table("figures", say("Figures"), tuple(map(Group, heads)), rows, stub=2)


def parts(iterations: int, seed: int) -> Iterator[str]:
    """Make one fit per left-out configuration; yields the tables of errors and figures."""
    folds = [fold(name, iterations, seed) for name in trial.CONFIGURATIONS]
    yield pipe_table(errors_table(folds))
    yield pipe_table(figures_table(folds, fit.in_profiles(trial.model(iterations, fit.SERVERS))))


if __name__ == "__main__":
    trial.main("cross_validation", 60, fit.SERVERS, parts)
