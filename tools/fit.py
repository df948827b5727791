"""Fits undocumented figures of the incast study's switches and hosts to the published tables.

usage: python -m tools.fit [--iterations 100] [--seed 1] [--rounds N] [--write]

Only a few figures are fitted, each from a short list of values that the device could have. The
search varies one figure at a time: it tries all values of the figure's list and keeps the value
with the smallest error, and ends when no figure changes any more. All candidates use the same
random numbers.

All configurations have equal weight, however many rows their tables have. The error of a
configuration is the mean over up to four series: completion times, drops, retransmissions, and the
ratio between the two switches' completion times with the most servers, which ends the study's
verdict. The ratio is taken over the last quarter of the range, since a single row has sampling
errors of both switches. It is a series of its own because completion times do not determine it: if
both simulated switches are a tenth too slow, their ratio is the published one; if they are a tenth
off in opposite directions, it is not. The error of a series is the mean absolute log ratio of
simulated to published values. No log ratio counts as more than a quarter, so that no single row
dominates the fit: published means with few servers have large sampling errors. Before the ratio of
two packet counts is taken, two packets are added to each, so that differences between small counts
hardly matter. Retransmissions count only in the configuration where the host itself loses frames:
with jumbo frames, they follow from the drops.

The values in a list are only so close that runs as long as the published test can tell them apart:
between closer values, chance would decide. A fit uses only some numbers of servers from the range,
since neighbouring numbers give nearly the same information.

Then each figure gets an interval, with new random numbers: the values in the figure's list, around
the fitted value, that fit equally well (`netstudy.calibration.fits_as_well`) while all other
figures are fixed. An interval may reach the end of the list. --rounds 0 keeps the profiles' values
and finds only the intervals.

The search and its targets, runs, intervals and profiles work as in `netstudy calibrate`; only the
error to minimise differs (docs/decisions/0051-what-a-fit-makes-small.md). With --write, the result
is written into the profiles, whose comments are kept.
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
"""The numbers of servers that a fit uses. With one server, too few frames are lost to fit
anything."""
END = range(18, 24)
"""The last quarter of the range of servers."""
WORST = 0.25
"""Absolute log ratios larger than this count as this."""
PACKETS = 2.0
"""Packets per iteration that are added to both sides of a ratio."""
HOST_LOSES = frozenset({trial.STRIPED})
"""Configurations in which the host loses frames, so that drops do not determine retransmissions."""
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
"""Each fitted figure, with its possible values in ascending order, in the figure's smallest
unit."""


def error(aims: Sequence[Target], said: Said) -> float:
    """The error to minimise: the mean over all configurations, where the error of a configuration
    is the mean over its series."""
    return statistics.mean(
        statistics.mean(
            statistics.mean(min(abs(ratio), WORST) for ratio in series)
            for series in _series(configuration, own, said)
            if series
        )
        for configuration, own in trial.by_configuration(aims).items()
    )


def _series(configuration: str, aims: Sequence[Target], said: Said) -> Iterator[Sequence[float]]:
    """Log ratios of simulated to published times and packet counts; and, with the most servers, the
    error of the log ratio between the switches' times."""
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
    """(switch, servers) -> logarithm of (simulated value ÷ published value)."""
    return {
        (one.treatment["switch"], one.treatment["servers"]): math.log(
            (said[one.run, one.metric] + more) / (one.value + more)
        )
        for one in aims
        if str(one.metric) == metric
    }


def in_profiles(model: Model) -> Chosen:
    """The fitted figures, with the values in the profiles."""
    return {figure: value_of(model.library, figure) for figure in LISTS}


def fit(
    model: Model, aims: Sequence[Target], begin: Chosen, seed: int, rounds: float = math.inf
) -> Chosen:
    """Searches the lists by coordinate descent: one figure at a time."""

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
    """The interval of values around the chosen one that fit equally well while all other figures
    are fixed."""
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
    """Write values and intervals into their profiles; the rest of each file is unchanged."""
    for name in dict.fromkeys(figure.profile for figure in found):
        file = folder / f"{name}.yaml"
        write_atomic(file, written(file, found))


def main() -> int:
    """Fit, find the intervals with a new seed, and write the result if asked to."""
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
