"""Writes how often verdicts err, from planted differences: docs/concepts/error-rates.md.

usage: python -m tools.error_rates

Every study has two switches at four loads. Its runs are published values that are drawn here from a
fixed seed; records, cells, verdicts and the test of independence are the product's own. No number
between the markers is typed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from netstudy.analysis.autocorrelation import autocorrelation
from netstudy.analysis.cells import CellTable, pool
from netstudy.analysis.metrics import Metric
from netstudy.analysis.samples import Floats
from netstudy.analysis.verdict import Comparison, Outcome, Pair, verdict_table
from netstudy.plan.identity import digest
from netstudy.report.markdown import pipe_table, replace_between
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table, Value
from netstudy.testbed.measured.records import record_of_table
from netstudy.wire import Measured, MeasuredValue, Network, Plan, Run

PAGE = Path(__file__).parents[1] / "docs/concepts/error-rates.md"
BEGIN = "<!-- error rates: written by python -m tools.error_rates -->"
END = "<!-- end of error rates -->"
STUDIES = 200
LOADS = 4
REPLICATES = (5, 10)
DIFFERENCES_PCT = (0, 1, 2, 5, 10, 20)
NOISE_PCT = 2.0
SPREAD = 0.01
"""Standard deviation of a run, relative to the mean of its cell."""
SEED = 20_261_128
METRIC = "goodput_mbps"
MEANS = 100.0 * 1.5 ** np.arange(LOADS)
"""Mean of the base at each load."""
_DIGIT = 1e-6
"""Values are published with so many digits that rounding does not matter."""

Noise = Callable[[np.random.Generator, int], Floats]
"""Random generator, number of replicates -> value ÷ mean by load, switch and replicate."""


def _normal(rng: np.random.Generator, n: int) -> Floats:
    """Independent, normal, with the same relative spread in all cells."""
    return 1 + SPREAD * rng.standard_normal((LOADS, 2, n))


def _drift(rng: np.random.Generator, n: int) -> Floats:
    """All cells get 5 % slower from the first to the last replicate; each block has every cell."""
    return _normal(rng, n) * np.linspace(1.025, 0.975, n)


def _bimodal(rng: np.random.Generator, n: int) -> Floats:
    """Each run is in one of two modes, in the upper one with a probability of 30 %; the distance
    of the modes gives the stated spread."""
    modes = (rng.random((LOADS, 2, n)) < 0.3) - 0.3
    within = 0.2 * rng.standard_normal(modes.shape)
    return np.asarray(1 + SPREAD * (modes / np.sqrt(0.21) + within) / np.hypot(1, 0.2))


def _outliers(rng: np.random.Generator, n: int) -> Floats:
    """One run of ten is eight standard deviations too slow; the spread is that of the other runs,
    and the mean includes outliers."""
    slow = rng.random((LOADS, 2, n)) < 0.1
    return _normal(rng, n) - 8 * SPREAD * (slow - 0.1)


def _autocorrelated(rng: np.random.Generator, n: int) -> Floats:
    """In each cell a run's deviation is 0.8 times that of the run before, plus noise (AR(1))."""
    return _dependent(rng, n, 0.8)


def _dependent(rng: np.random.Generator, n: int, rho: float) -> Floats:
    steps = rng.standard_normal((LOADS, 2, n))
    found = np.empty_like(steps)
    found[..., 0] = steps[..., 0]
    for k in range(1, n):
        found[..., k] = rho * found[..., k - 1] + np.sqrt(1 - rho**2) * steps[..., k]
    return np.asarray(1 + SPREAD * found)


def _unequal(rng: np.random.Generator, n: int) -> Floats:
    """The first switch scatters four times as much as the base."""
    return 1 + SPREAD * np.array([[1.0], [0.25]]) * rng.standard_normal((LOADS, 2, n))


CONDITIONS: Mapping[str, Noise] = {
    "normal": _normal,
    "drift": _drift,
    "bimodal": _bimodal,
    "outliers": _outliers,
    "unequal spread": _unequal,
    "autocorrelated": _autocorrelated,
}


def cells(values: Floats) -> CellTable:
    """The cells of a published study with these values by load, switch and replicate."""
    runs = [
        Run(
            id=digest(load, switch, replicate)[:12],
            cases=("main",),
            treatment={"switch": "ab"[switch], "load": load},
            replicate=replicate + 1,
            seed="0" * 16,
            network=Network(groups=(), nodes=(), links=()),
            workload=Measured(
                of="transfer",
                source=("planted",),
                given=(MeasuredValue(metric=METRIC, value=float(value), rounding=_DIGIT, row="1"),),
            ),
            phases=(),
        )
        for (load, switch, replicate), value in np.ndenumerate(values)
    ]
    plan = Plan(study="planted", seed=SEED, runs=tuple(runs))
    return pool(plan, [record_of_table(run) for run in runs])


def column(table: CellTable, name: str) -> Metric:
    """The metric of that name."""
    return next(metric for metric in table.metrics if metric.name == name)


@dataclass(frozen=True)
class Found:
    """The finding of the product on one study."""

    rows: tuple[Comparison, ...]
    is_told: bool
    """Whether the report has the caveat that its runs depend on each other."""

    def has_false_difference(self, planted_pct: float) -> bool:
        """Whether some row is called different although the planted difference does not exceed the
        noise, or in the wrong direction."""
        return any(
            row.outcome == "different" and (planted_pct <= NOISE_PCT or row.winner == "b")
            for row in self.rows
        )


def study_of(condition: str, planted_pct: float, replicates: int, number: int) -> Found:
    """The verdicts on one study with planted values."""
    # Every condition and difference has draws of its own.
    place = list(CONDITIONS).index(condition)
    rng = np.random.default_rng([SEED, place, round(planted_pct * 10), replicates, number])
    factor = np.array([1 + planted_pct / 100, 1.0])
    values = CONDITIONS[condition](rng, replicates) * MEANS[:, None, None] * factor[:, None]
    table = cells(np.asarray(values))
    metric = column(table, METRIC)
    at = {(row.treatment["switch"], row.treatment["load"]): row for row in table.rows}
    verdicts = verdict_table(
        [Pair(load, at["a", load], at["b", load]) for load in range(LOADS)],
        metric=metric,
        factor="switch",
        level="a",
        base="b",
        x="load",
        margin_pct=NOISE_PCT,
    )
    return Found(verdicts.rows, autocorrelation(table.rows, [metric]) is not None)


@dataclass(frozen=True)
class Rates:
    """The verdicts on one condition and planted difference, in % of the rows; the last two in % of
    the studies."""

    as_planted: float
    """Rows that are different in the planted direction."""
    reversed: float
    """Rows that are different in the opposite direction; for a planted 0, which has none, in that
    of the base."""
    same: float
    undecided: float
    false_studies: float
    """Studies with a false "different" in some row."""
    told: float
    """Studies with the caveat."""


def rates(condition: str, planted_pct: float, replicates: int, studies: int = STUDIES) -> Rates:
    """The rates over a number of studies."""
    found = [study_of(condition, planted_pct, replicates, number) for number in range(studies)]
    rows = [row for one in found for row in one.rows]

    def of_rows(outcome: Outcome, winner: str | None) -> float:
        return 100 * sum((row.outcome, row.winner) == (outcome, winner) for row in rows) / len(rows)

    return Rates(
        as_planted=of_rows("different", "a"),
        reversed=of_rows("different", "b"),
        same=of_rows("same", None),
        undecided=of_rows("undecided", None),
        false_studies=100 * sum(one.has_false_difference(planted_pct) for one in found) / studies,
        told=100 * sum(one.is_told for one in found) / studies,
    )


def rates_table(condition: str, replicates: Sequence[int], studies: int = STUDIES) -> Table:
    """One row for each number of replicates and planted difference."""
    groups = (
        Group("Replicates"),
        Group("Planted", "%"),
        Group("Rows", "%", columns=("different", "different, reversed", "same", "undecided")),
        Group("Studies", "%", columns=("false difference", "caveat")),
    )
    rows = tuple(
        _row(n, planted, rates(condition, planted, n, studies))
        for n in replicates
        for planted in DIFFERENCES_PCT
    )
    return Table("error-rates", say("{name}", name=Name(condition)), groups, rows, stub=2)


def _row(replicates: int, planted_pct: float, found: Rates) -> tuple[Value, ...]:
    shares = (
        found.as_planted,
        found.reversed,
        found.same,
        found.undecided,
        found.false_studies,
        found.told,
    )
    return (
        Number(replicates, str(replicates), "replicates of a cell"),
        Number(planted_pct, f"{planted_pct:g}", "planted difference"),
        *(Number(share, f"{share:.1f}", "share over the planted studies") for share in shares),
    )


def power_table(studies: int = STUDIES) -> Table:
    """How often dependence is noticed, by its strength, the replicates and the cells."""
    groups = (
        Group("Replicates"),
        Group("Cells"),
        Group("Studies with the caveat", "%", columns=tuple(f"rho {rho:g}" for rho in RHOS)),
    )
    rows = tuple(
        (
            Number(n, str(n), "replicates of a cell"),
            Number(2 * loads, str(2 * loads), "cells"),
            *(_noticed(n, loads, rho, studies) for rho in RHOS),
        )
        for n in (*REPLICATES, 2 * max(REPLICATES))
        for loads in (1, LOADS)
    )
    return Table("noticed", say("Noticed dependence"), groups, rows, stub=2)


RHOS = (0.3, 0.5, 0.8)
"""Correlations of a run with the run before."""


def _noticed(replicates: int, loads: int, rho: float, studies: int) -> Number:
    noticed = 0
    for number in range(studies):
        rng = np.random.default_rng([SEED, round(10 * rho), replicates, loads, number])
        table = cells(_dependent(rng, replicates, rho)[:loads])
        noticed += autocorrelation(table.rows, [column(table, METRIC)]) is not None
    share = 100 * noticed / studies
    return Number(share, f"{share:.1f}", "share over the planted studies")


def sections(studies: int = STUDIES) -> Iterator[str]:
    """The generated part of the page."""
    yield (
        f"{studies} studies for each row, with {LOADS} loads and two switches each; noise band "
        f"{NOISE_PCT:g} %, standard deviation of a run {100 * SPREAD:g} % unless the condition "
        "says otherwise."
    )
    for name, noise in CONDITIONS.items():
        said = " ".join((noise.__doc__ or "").split())
        yield f"### {name.capitalize()}\n\n{said}".rstrip()
        yield pipe_table(rates_table(name, REPLICATES, studies))
    yield (
        "### Noticing dependence\n\nHow often the caveat is raised if a run's deviation is rho "
        "times that of the run before, plus noise."
    )
    yield pipe_table(power_table(studies))


def write(page: Path = PAGE) -> None:
    """Write the rates into the page. Raises StudyError if the page lacks a marker."""
    replace_between(page, BEGIN, END, "\n\n".join(sections()))


if __name__ == "__main__":
    write()
