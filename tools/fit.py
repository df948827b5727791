"""Fits undocumented figures of the incast study's switches and hosts to the published tables.

usage: python -m tools.fit [--iterations 100] [--seed 1] [--rounds N] [--write]

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
are, and an end of an interval may be the end of the list. --rounds 0 keeps the profiles' values
and finds only the intervals.

Targets, runs, search, intervals and profiles are the ones of `netstudy calibrate`; the error to
minimise is this tool's own (docs/decisions/0051-what-a-fit-makes-small.md). With --write the
result goes into the profiles, whose comments stay as they are.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from netstudy.analysis.workloads.incast import COMPLETION, DROPS, RETRANSMISSIONS
from netstudy.calibration import (
    Figure,
    Fitted,
    Interval,
    Model,
    Target,
    Trial,
    around,
    descend,
    figure_named,
    fits_as_well,
    value_of,
    written,
)
from netstudy.hardware import HardwareLibrary
from netstudy.store import write_atomic
from tools import trial
from tools.trial import Said

SERVERS = (2, 4, 6, 8, 11, 16, 20, 23)
"""With one server hardly anything is lost, and nothing can be fitted."""
END = range(18, 24)
"""The last quarter of the range."""
WORST = 0.25
"""No ratio counts more than this."""
PACKETS = 2.0
"""Packets an iteration that are added to both sides of a ratio."""
HOST_LOSES = frozenset({trial.STRIPED})
"""Configurations in which the host loses frames, so that retransmissions are not the drops."""
REPLICATES = 3
PUBLISHED_ITERATIONS = 1_000
HARDWARE = trial.ROOT / "hardware"

Chosen = dict[Figure, float]


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


def error(aims: Sequence[Target], said: Said) -> float:
    """The error to minimise: the mean over the configurations, of the mean over their series."""
    return statistics.mean(
        statistics.mean(
            statistics.mean(min(abs(ratio), WORST) for ratio in series)
            for series in _series(configuration, own, said)
            if series
        )
        for configuration, own in trial.by_configuration(aims).items()
    )


def _series(configuration: str, aims: Sequence[Target], said: Said) -> Iterator[Sequence[float]]:
    """Log ratios of times, of packets, and of one switch to the other at the end of the range."""
    times = _log_ratios(aims, said, COMPLETION.name)
    yield [*times.values()]
    yield [*_log_ratios(aims, said, DROPS.name, PACKETS).values()]
    if configuration in HOST_LOSES:
        yield [*_log_ratios(aims, said, RETRANSMISSIONS.name, PACKETS).values()]
    yield [
        times[trial.ARISTA, servers] - times[trial.NEXUS, servers]
        for servers in END
        if {(switch, servers) for switch in trial.SWITCHES} <= times.keys()
    ]


def _log_ratios(
    aims: Sequence[Target], said: Said, metric: str, more: float = 0.0
) -> dict[tuple[object, object], float]:
    """Switch and servers -> logarithm of the simulated over the published value."""
    return {
        (one.treatment["switch"], one.treatment["servers"]): math.log(
            (said[one.run, one.metric] + more) / (one.value + more)
        )
        for one in aims
        if str(one.metric) == metric
    }


def in_profiles(model: Model) -> Chosen:
    """The figures that the profiles have."""
    return {figure: value_of(model.library, figure) for figure in LISTS}


def fit(
    model: Model, aims: Sequence[Target], begin: Chosen, seed: int, rounds: float = math.inf
) -> Chosen:
    """Coordinate descent over the lists."""

    def loss(chosen: Mapping[Figure, float]) -> float:
        return error(aims, model.predict(Trial(chosen), trial.shown(aims), seed))

    def told(best: float, figure: Figure | None, chosen: Mapping[Figure, float]) -> None:
        of = "" if figure is None else f"  {figure.name} = {figure.written(chosen[figure])}"
        print(f"{best:.4f}{of}", flush=True)

    return descend(LISTS, begin, loss, rounds, told)


def errors(model: Model, aims: Sequence[Target], chosen: Chosen, seed: int) -> list[float]:
    """The error of each replicate."""
    found = model.replicates(model.plan_with(Trial(chosen), seed), trial.shown(aims))
    return [
        error(aims, {one: values[index] for one, values in found.items()})
        for index in range(model.length.replicates)
    ]


def interval(
    figure: Figure, chosen: Chosen, model: Model, aims: Sequence[Target], seed: int, iterations: int
) -> Interval:
    """The values around the chosen one that fit as well, all other figures being held."""
    best = errors(model, aims, chosen, seed)
    values = sorted({*LISTS[figure], chosen[figure]})
    good = {
        value
        for value in values
        if fits_as_well(
            errors(model, aims, {**chosen, figure: value}, seed),
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


def main() -> int:
    """Fit, find the intervals with fresh seeds, write when asked to."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=float, default=math.inf, help="most rounds of the search")
    parser.add_argument("--write", action="store_true", help="put the result into hardware/")
    asked = parser.parse_args()
    model = trial.model(asked.iterations, SERVERS, replicates=REPLICATES)
    aims = trial.targets(model)
    chosen = fit(model, aims, in_profiles(model), asked.seed, asked.rounds)
    found: dict[Figure, Fitted] = {}
    for figure, value in chosen.items():
        good = interval(figure, chosen, model, aims, asked.seed + 1, asked.iterations)
        found[figure] = Fitted(value, good)
        low, high = figure.written(good.low), figure.written(good.high)
        text = f"{figure.written(value)}, as good: {low} to {high}"
        print(f"{figure.profile} {figure.name}: {text}", flush=True)
    if asked.write:
        write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
