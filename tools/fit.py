"""Fits undocumented figures of the incast study's switches and hosts to the published tables.

usage: python -m tools.fit [--iterations 100] [--seed 1] [--intervals-only | --score] [--write]

Few figures are free, each from a short list of values that the device could have. One after the
other takes each of its values; the one with the least error stays, until none changes. All
candidates meet the same random numbers.

All configurations count alike, however many rows their tables have. The error of one is the mean
over its series: the completion times, the drops, the retransmissions, and the ratio that the
study's verdict ends with: one switch's time to the other's at the end of the range. That is
taken over the last quarter of the range, since a single row carries sampling errors of both
switches. It does not follow from the first: two switches that are both a tenth too slow
compare as published, and two that are a tenth off in opposite directions do not. In each series it
is the mean absolute log ratio of simulated to published values, none counting more than a quarter:
the published means of few servers carry a sampling error of their own, and no single row shall
carry the fit. Packets are compared with two more on either side: a difference of two is none to
speak of, however few there are. Retransmissions count only where they are a table's own
observation: with jumbo frames they follow from the drops, with small ones the host loses some
that no switch counts.

The lists are no finer than runs as long as the published test can tell: chance would decide
between two values closer than that. A fit takes some numbers of servers from the range, since
neighbours say nearly the same.

Then each figure gets its interval, with fresh random numbers: the values of its list, around the
fitted one, that fit as well (`netstudy.calibration.fits_as_well`). All other figures stay as they
are, and an end of an interval may be the end of the list.

Search, intervals and profiles are the ones of `netstudy calibrate`; the error to minimise is this
tool's own (docs/decisions/0051-what-a-fit-makes-small.md).

The result is scored with fresh random numbers and more iterations, and printed next to the
profiles' own figures; with --write it goes into the profiles, whose comments stay as they are.
--score only scores the profiles as they are, row by row.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netstudy.analysis.agreement import Beside
from netstudy.analysis.metrics import Metric
from netstudy.analysis.workloads.incast import (
    COMPLETION,
    DROPS,
    RETRANSMISSIONS,
    dropped_in_all,
)
from netstudy.calibration import (
    Figure,
    Fitted,
    Interval,
    around,
    descend,
    figure_named,
    fits_as_well,
    written,
)
from netstudy.calibration.figures import FIGURES
from netstudy.hardware import HardwareLibrary
from netstudy.store import write_atomic
from netstudy.wire import Level, RunRecord, Treatment
from tools import trial

SERVERS = (2, 4, 6, 8, 11, 16, 20, 23)
"""With one server hardly anything is lost, and nothing can be fitted."""
END = range(18, 24)
"""The last quarter of the range."""
WORST = 0.25
"""No ratio counts more than this."""
PACKETS = 2.0
"""Packets an iteration that are added to both sides of a ratio."""
COUNTED = (DROPS, RETRANSMISSIONS)
"""Metrics that are compared so."""
HOST_LOSES = frozenset({"10 MB striped"})
"""Configurations in which the host loses frames, so that retransmissions are not the drops."""
REPLICATES = 3
PUBLISHED_ITERATIONS = 1_000
HARDWARE = trial.ROOT / "hardware"

Chosen = dict[Figure, float]
_IN_A_RUN = {
    FIGURES: "network.nodes.buffer",
    "tcp": "network.groups.tcp",
    "nic": "network.groups.nic",
}
"""Section of a profile -> path of its figures in a run of the plan."""


def _lists(**profiles: Mapping[str, tuple[float, ...]]) -> dict[Figure, tuple[float, ...]]:
    library = HardwareLibrary((HARDWARE,))
    return {
        figure_named(library, name, profile.replace("_", "-")): values
        for profile, lists in profiles.items()
        for name, values in lists.items()
    }


LISTS = _lists(
    arista_7124s={
        "alpha": (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7),
        "ingress_guarantee": (1, 2, 3),
    },
    ucs_c200_rhel54={
        "nic.interrupt_delay": (0, 5_000, 15_000, 30_000),
        "nic.receive_per_frame": (925, 1_000, 1_075, 1_150),
        "nic.packet_rate": (500_000, 520_000, 540_000, 560_000, 580_000),
        "nic.receive_ring": (800, 816, 832, 848, 864, 880, 896),
    },
    nexus_5010={
        "ingress_buffer": (186_960, 191_520, 196_080, 200_640, 205_200),
        "ingress_reserve": (7, 8, 9),
        "egress_buffer": (9_216, 18_432, 27_648, 36_864),
        "random_arbitration": (10, 30, 50, 100),
    },
)
"""Each figure that is fitted, and what it could be, in ascending order and its smallest unit."""


Row = tuple[Level, frozenset[tuple[str, Level]]]
"""A switch, and the levels of all other factors."""


@dataclass(frozen=True)
class Means:
    """One run's means of the quantities that are fitted."""

    treatment: Treatment
    replicate: int
    of: Mapping[Metric, float]


def means(record: RunRecord) -> Means:
    """The means of a run, in the units of the published table."""
    assert record.samples.iteration is not None, "a run that is ok has iterations"
    drops = dropped_in_all(record)
    assert drops is not None, "the simulator counts drops"
    found = {
        COMPLETION: statistics.mean(record.samples.iteration.completion_ns) / 1e6,
        DROPS: drops / len(record.samples.iteration.completion_ns),
        RETRANSMISSIONS: statistics.mean(record.samples.iteration.retransmissions),
    }
    return Means(record.treatment, record.replicate, found)


def pooled(runs: Iterable[Means]) -> list[Means]:
    """All replicates of a treatment as one run as long as they are together."""
    by_row: dict[Row, list[Means]] = {}
    for run in runs:
        by_row.setdefault(_row(run.treatment), []).append(run)
    return [
        Means(
            some[0].treatment,
            0,
            {metric: statistics.mean(run.of[metric] for run in some) for metric in some[0].of},
        )
        for some in by_row.values()
    ]


class Simulator:
    """Runs plans, and no run twice: most figures leave one of the switches as it was."""

    def __init__(self) -> None:
        self._known: dict[str, Means] = {}

    def __call__(self, asked: trial.Plan) -> list[Means]:
        """The means of a plan's runs, in its order."""
        keys = [json.dumps(run, sort_keys=True) for run in asked["runs"]]
        new = {k: run for k, run in zip(keys, asked["runs"], strict=True) if k not in self._known}
        if new:
            records = trial.simulate({**asked, "runs": list(new.values())})
            self._known.update(zip(new, map(means, records), strict=True))
        return [self._known[key] for key in keys]


def errors(runs: Sequence[Means]) -> list[float]:
    """The error to minimise, for each replicate."""
    by_replicate: dict[int, list[Means]] = {}
    for run in runs:
        by_replicate.setdefault(run.replicate, []).append(run)
    return [_error(some) for _, some in sorted(by_replicate.items())]


def _error(runs: Sequence[Means]) -> float:
    """The mean over the configurations, of the mean over the series that have rows."""
    return statistics.mean(
        statistics.mean(_size(ratios) for ratios in series) for series in _series(runs)
    )


def _series(runs: Sequence[Means]) -> Iterator[list[Sequence[float]]]:
    """By configuration: log ratios of times, of packets, and of one switch to the other."""
    for configuration in {run.treatment["configuration"]: None for run in runs}:
        own = [run for run in runs if run.treatment["configuration"] == configuration]
        times = _log_ratios(own, COMPLETION)
        packets = COUNTED if configuration in HOST_LOSES else (DROPS,)
        counts = [[*_log_ratios(own, metric).values()] for metric in packets]
        series = ([*times.values()], *counts, _between_switches(times))
        yield [ratios for ratios in series if ratios]


def _size(log_ratios: Sequence[float]) -> float:
    return statistics.mean(min(abs(ratio), WORST) for ratio in log_ratios)


def _log_ratios(runs: Sequence[Means], metric: Metric) -> dict[Row, float]:
    """Logarithms of simulated over published values; rows without a published one are left out."""
    more = PACKETS if metric in COUNTED else 0.0
    return {
        _row(run.treatment): math.log((run.of[metric] + more) / (value.value + more))
        for run in runs
        for value in trial.published()
        if value.metric == metric and value.is_of(run.treatment)
    }


def _row(treatment: Treatment) -> Row:
    compare = trial.study().compare
    assert compare is not None, "the incast study compares its switches"
    others = {factor: level for factor, level in treatment.items() if factor != compare.factor}
    return treatment[compare.factor], frozenset(others.items())


def _between_switches(log_ratios: Mapping[Row, float]) -> list[float]:
    """Log ratios of the simulated to the published ratio of a switch to the base, at the end."""
    compare = trial.study().compare
    assert compare is not None, "the incast study compares its switches"
    base = compare.base
    return [
        ratio - log_ratios[base, others]
        for (level, others), ratio in log_ratios.items()
        if level != base and (base, others) in log_ratios and dict(others)["servers"] in END
    ]


def path(figure: Figure) -> str:
    """Path of a figure in a run of the plan."""
    return f"{_IN_A_RUN[figure.section]}.{figure.knob.wired}"


def with_chosen(base: trial.Plan, chosen: Mapping[Figure, float]) -> trial.Plan:
    """The plan with the chosen figures."""
    return trial.changed(base, {path(figure): value for figure, value in chosen.items()})


def in_profiles(base: trial.Plan) -> Chosen:
    """The figures that the profiles have. Raises ValueError for one that no run has."""
    found: Chosen = {}
    for figure in LISTS:
        values = {p[key] for run in base["runs"] for p, key in trial.places(run, path(figure))}
        if len(values) != 1:
            raise ValueError(f"{path(figure)} has {len(values)} values in the plan, not one")
        found[figure] = values.pop()
    return found


def fit(
    base: trial.Plan,
    simulate: Simulator,
    begin: Chosen | None = None,
    rounds: float = math.inf,
) -> Chosen:
    """Coordinate descent over the lists, from the values that the profiles have, or others."""

    def loss(chosen: Mapping[Figure, float]) -> float:
        (found,) = errors(pooled(simulate(with_chosen(base, chosen))))
        return found

    def told(best: float, figure: Figure | None, chosen: Mapping[Figure, float]) -> None:
        of = "" if figure is None else f"  {figure.name} = {figure.written(chosen[figure])}"
        print(f"{best:.4f}{of}", flush=True)

    return descend(LISTS, in_profiles(base) if begin is None else begin, loss, rounds, told)


def interval(figure: Figure, chosen: Chosen, base: trial.Plan, simulate: Simulator) -> Interval:
    """The values around the chosen one that fit as well, all other figures being held."""
    best = errors(simulate(with_chosen(base, chosen)))
    iterations = trial.iterations(base["runs"][0])
    values = sorted({*LISTS[figure], chosen[figure]})
    good = {
        value
        for value in values
        if fits_as_well(
            errors(simulate(with_chosen(base, {**chosen, figure: value}))),
            best,
            iterations,
            PUBLISHED_ITERATIONS,
        )
    }
    return around(chosen[figure], values, good)


def write(found: Mapping[Figure, Fitted], folder: Path = HARDWARE) -> None:
    """Put values and their intervals into their profiles; all else stays as it is written."""
    for name in dict.fromkeys(figure.profile for figure in found):
        file = folder / f"{name}.yaml"
        write_atomic(file, written(file, found))


def score(base: trial.Plan, *, by_row: bool = False) -> None:
    """Median absolute percentage errors as the report has them; with `by_row` each row's too."""
    for configuration, found in trial.agreements(base, trial.simulate(base)).items():
        for one in found.agreements:
            if one.metric in (COMPLETION, *COUNTED) and one.median_abs_pct is not None:
                where = f"{configuration}, {one.metric.label} on {one.level}"
                print(f"{where}: {one.median_abs_pct:.1f} % (median error)")
                for row in one.rows if by_row else ():
                    print(f"    {row.x:>3}  {_beside(row)}", flush=True)


def _beside(row: Beside) -> str:
    return f"{row.own:10.1f}, published {row.published:8.1f}, {row.error_pct or 0.0:+7.1f} %"


def main() -> int:
    """Fit, find the intervals, score on fresh seeds, write when asked to."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--intervals-only", action="store_true", help="keep the profiles' values")
    parser.add_argument("--score", action="store_true", help="score the profiles, nothing else")
    parser.add_argument("--write", action="store_true", help="put the result into hardware/")
    asked = parser.parse_args()
    if asked.score:
        every = trial.plan(asked.iterations, asked.seed + 2, None, REPLICATES)
        score(trial.only_published(every), by_row=True)
        return 0
    simulate = Simulator()
    base = _plan(asked.iterations, asked.seed)
    chosen = in_profiles(base) if asked.intervals_only else fit(base, simulate)
    fresh = _plan(asked.iterations, asked.seed + 1)
    found: dict[Figure, Fitted] = {}
    for figure, value in chosen.items():
        good = interval(figure, chosen, fresh, simulate)
        found[figure] = Fitted(value, good)
        low, high = figure.written(good.low), figure.written(good.high)
        text = f"{figure.written(value)}, as good: {low} to {high}"
        print(f"{figure.profile} {figure.name}: {text}", flush=True)
    if asked.write:
        write(found)
    print("with fresh random numbers:")
    every = trial.plan(asked.iterations, asked.seed + 2, None, REPLICATES)
    score(with_chosen(trial.only_published(every), chosen))
    return 0


def _plan(iterations: int, seed: int) -> trial.Plan:
    return trial.only_published(trial.plan(iterations, seed, SERVERS, REPLICATES))


if __name__ == "__main__":
    sys.exit(main())
