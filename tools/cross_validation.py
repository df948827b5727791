"""Fits the incast profiles on two of the published tables and predicts the third, in all ways.

usage: python -m tools.cross_validation [--iterations 60] [--seed 1]

A fit begins away from the profiles' values: at the first value of each figure's list. It takes
each figure twice through its list by the rule of `tools.fit`, on two configurations; its result
then predicts the third with fresh random numbers. For comparison the profiles, which were fitted on
all three, are run with the same random numbers. This distinguishes a model that only fits from one
that predicts.

Written into docs/concepts/accuracy.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netstudy.analysis.reference import PanelReference
from netstudy.analysis.workloads.incast import COMPLETION, DROPS, RETRANSMISSIONS
from netstudy.report.cellrefs import count
from netstudy.report.markdown import pipe_table, replace_between, text
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table, Value, bare_percent
from tools import fit, trial
from tools.fit import Chosen, Simulator

PAGE = trial.ROOT / "docs/concepts/accuracy.md"
BEGIN = "<!-- cross-validation: written by python -m tools.cross_validation -->"
END = "<!-- end of cross-validation -->"
ROUNDS = 2
"""How often a fit takes each figure through its list."""
SHOWN = (COMPLETION, DROPS, RETRANSMISSIONS)


@dataclass(frozen=True)
class Fold:
    """A configuration that was left out, and how it is predicted."""

    left_out: str
    chosen: Chosen
    """By the fit on the others."""
    predicted: PanelReference
    fitted: PanelReference
    """By the profiles as they are."""


def first(base: trial.Plan) -> Chosen:
    """The figures that every fit begins with."""
    return {figure: fit.LISTS[figure][0] for figure in fit.in_profiles(base)}


def fold(left_out: str, iterations: int, seed: int) -> Fold:
    """Fit on all configurations but one, and predict that."""
    others = [name for name in trial.configurations() if name != left_out]
    print(f"without {left_out}:", flush=True)
    base = plan(iterations, seed, others)
    chosen = fit.fit(base, Simulator(), first(base), ROUNDS)
    fresh = plan(iterations, seed + 1, [left_out])
    return Fold(left_out, chosen, _agreement(fit.with_chosen(fresh, chosen)), _agreement(fresh))


def plan(iterations: int, seed: int, configurations: Sequence[str]) -> trial.Plan:
    """One run of each row that a fit takes."""
    return trial.only_published(
        trial.plan(iterations, seed, fit.SERVERS, configurations=configurations)
    )


def _agreement(asked: trial.Plan) -> PanelReference:
    (found,) = trial.agreements(asked, trial.simulate(asked)).values()
    return found


def errors_table(folds: Sequence[Fold]) -> Table:
    """Median errors of each configuration, predicted and fitted."""
    groups = (
        Group("Configuration"),
        Group("Quantity"),
        Group("Switch"),
        Group("Predicted from the other two", "%"),
        Group("Fitted on all three", "%"),
    )
    rows = tuple(row for one in folds for row in _rows(one))
    return Table("cross-validation", say("Median errors"), groups, rows, stub=3)


def _rows(one: Fold) -> Iterator[tuple[Value, ...]]:
    pairs = zip(one.predicted.agreements, one.fitted.agreements, strict=True)
    for predicted, fitted in pairs:
        if predicted.metric in SHOWN:
            about = f"{predicted.metric.label}, {one.left_out}, {predicted.level}"
            yield (
                Name(one.left_out),
                Name(predicted.metric.label),
                Name(str(predicted.level)),
                *(
                    None if error is None else bare_percent(error, f"median of |error|, {about}")
                    for error in (predicted.median_abs_pct, fitted.median_abs_pct)
                ),
            )


def figures_table(folds: Sequence[Fold], profiles: Chosen) -> Table:
    """The figures that each fit chose."""
    groups = (
        Group("Profile"),
        Group("Figure"),
        *(Group(f"without {one.left_out}") for one in folds),
        Group("profile"),
    )
    every = [*(one.chosen for one in folds), profiles]
    rows = tuple(
        (
            Name(figure.profile),
            Name(figure.name),
            *(Name(str(figure.written(chosen[figure]))) for chosen in every),
        )
        for figure in profiles
    )
    return Table("figures", say("Figures"), groups, rows, stub=2)


def main() -> int:
    """Fit three times, write."""
    parser = argparse.ArgumentParser(prog="python -m tools.cross_validation")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    names = trial.configurations()
    folds = [fold(name, asked.iterations, asked.seed) for name in names]
    said = say(
        "{n} iterations a cell after the warm-up, one run each; servers {servers}, where a table"
        " has them.",
        n=count(asked.iterations, "iterations"),
        servers=Name(", ".join(map(str, fit.SERVERS))),
    )
    profiles = fit.in_profiles(plan(asked.iterations, asked.seed, names))
    tables = (errors_table(folds), figures_table(folds, profiles))
    replace_between(PAGE, BEGIN, END, "\n\n".join([text(said), *map(pipe_table, tables)]))
    print(PAGE.relative_to(trial.ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
