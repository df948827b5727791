"""The highest link rate at which this machine can emulate a network, and whether a study exceeds
it. A run above that rate would measure the machine instead of the network. The capacity probe
therefore first tries the same hosts, links and switches, with buffers large enough to lose nothing,
and with a shorter version of the run's own traffic. If the machine cannot carry the study's rates,
lower rates are tried.

This module holds only the search and the decision, as pure functions; `capacity_probe` runs the
trials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from netstudy.plan.paths import Routes
from netstudy.units import format_rate
from netstudy.wire import Network, Plan, Run

_CARRIED = 0.9
"""A rate counts as carried if the goodput is at least this share of the goodput over ideal links.
The rest allows for TCP's slow start."""
_NEAR = 0.5
"""If the goodput is below this share, interference cannot explain the difference, so there is no
second trial."""
_CAUTION = 0.9
"""After a failed trial, the next one tries this share of the rate that the failed trial reached."""
_STEP = 0.7
"""The next trial tries at most this share of the rate at which the last one failed."""
_TRIALS_MAX = 7


@dataclass(frozen=True)
class Trial:
    """The result of one trial, in which the fastest link had a given rate."""

    rate_bps: int
    """Rate of the fastest link."""
    goodput_bps: float
    """Rate of the payload that applications received."""
    ideal_bps: float
    """The goodput if links of that rate were the only limit."""
    packets_per_s: float
    """Frames that switches forwarded or interfaces received, acknowledgments included."""
    lateness_us_p99: float | None
    """Lateness of the frames that the switch forwarded; None: the kernel is the switch, and does
    not report lateness."""
    in_time: bool
    """Whether the switch kept to its times and lost nothing."""
    why: str | None = None
    """The reason if the switch was late or lost frames."""


@dataclass(frozen=True)
class Ceiling:
    """The highest rate that this machine carried for one network."""

    best: Trial | None
    """The trial with the highest rate that was carried; of two at the same rate, one that was in
    time. None if no rate was carried."""
    trials: tuple[Trial, ...]
    """Every trial, in order."""


Try = Callable[[int], Trial]
"""Tries a network with its fastest link at the given rate, and the other links scaled in
proportion."""


def find_ceiling(network: Network, attempt: Try) -> Ceiling:
    """Searches the ceiling, downwards from the rate that the network asks for.

    If the machine carries that rate, no higher one is tried, so that the usual case takes one
    trial. If the machine nearly carries the rate, there may have been interference, and the trial
    is repeated. If no trial carried the rate, the search goes down to a rate that is carried in
    time, if there is one.
    """
    wanted_bps = fastest_bps(network)
    trials = [attempt(wanted_bps)]
    if _is_near(trials[0]):
        trials.append(attempt(wanted_bps))
    if not any(carried(trial) for trial in trials):
        while not _is_reached(trials[-1]) and len(trials) < _TRIALS_MAX:
            trials.append(attempt(_lower(trials[-1])))
    best = max(trials, key=lambda trial: (carried(trial), trial.in_time, trial.rate_bps))
    return Ceiling(best if carried(best) else None, tuple(trials))


def _is_near(trial: Trial) -> bool:
    return trial.goodput_bps >= _NEAR * trial.ideal_bps and not _is_reached(trial)


def _is_reached(trial: Trial) -> bool:
    return trial.in_time and carried(trial)


def carried(trial: Trial) -> bool:
    """Whether applications received data at the rate of the links, in time or not."""
    return trial.goodput_bps >= _CARRIED * trial.ideal_bps


def _lower(trial: Trial) -> int:
    """The rate to try next: lower than the rate that the trial reached and than the rate that it
    tried."""
    rate_bps = trial.goodput_bps * trial.rate_bps / trial.ideal_bps
    return _two_digits(min(_CAUTION * rate_bps, _STEP * trial.rate_bps))


def _two_digits(rate_bps: float) -> int:
    """The rate rounded down to two digits, which is easy to read and repeat: 430 Mbit/s."""
    digits = str(int(rate_bps))
    return int(digits[:2].ljust(len(digits), "0"))


def mtu_bytes(network: Network) -> int:
    """The largest packet of the network."""
    return max(link.mtu_bytes for link in network.links)


def fastest_bps(network: Network) -> int:
    """The rate of the fastest direction of any link."""
    return max(end.rate_bps for link in network.links for end in link.ports)


def host_count(network: Network) -> int:
    """Number of hosts."""
    return len(network.hosts)


def hardest(plan: Plan) -> list[Run]:
    """The most demanding runs of a plan, one for each MTU and kind of workload: the run with the
    fastest link; if several runs have that link, the one with the most hosts. Runs whose data stay
    inside hosts are left out, since they use no link."""
    found: dict[tuple[int, str], Run] = {}
    for run in filter(_uses_links, plan.runs):
        key = mtu_bytes(run.network), run.workload.kind
        found[key] = max(found.get(key, run), run, key=lambda one: _demand(one.network))
    return [found[key] for key in sorted(found)]


def _uses_links(run: Run) -> bool:
    routes = Routes(run.network)
    return any(routes.route(*pair).hops for pair in run.workload.connected)


def _demand(network: Network) -> tuple[int, int]:
    return fastest_bps(network), host_count(network)


def excess(network: Network, ceiling: Ceiling, scale: Fraction) -> str | None:
    """A sentence that says that a network asks for more than the machine carries; None if it does
    not. `scale` is the factor by which the network's rates were scaled; the advised scale is
    relative to the study's own rates. A rate that is carried but not in time is accepted here: each
    run reports its lateness, and a late run is invalid."""
    wanted_bps, best = fastest_bps(network), ceiling.best
    if best is not None and best.rate_bps >= wanted_bps:
        return None
    at = "" if scale == 1 else f"At --scale {scale} the"
    asked = f"{at or 'The'} study asks for {_asked(network)}"
    if best is None:
        return f"{asked}; this machine carries no rate that was tried: {_tried(ceiling)}."
    manner = "in time" if best.in_time else "late"
    fits = largest_scale(wanted_bps / scale, best.rate_bps)
    return (
        f"{asked}; this machine carries {format_rate(best.rate_bps)} {manner} ({_figures(best)}). "
        f"The largest scale that fits is --scale {fits}."
    )


def reached(network: Network, best: Trial) -> str:
    """Describes the highest rate that the machine carried for the network."""
    goodput = f"{best.goodput_bps / 1e6:,.0f}"
    ideal = f"{best.ideal_bps / 1e6:,.0f} Mbit/s"
    link = f"a link of {format_rate(best.rate_bps)}, between {host_count(network)} hosts"
    manner = "in time" if best.in_time else f"not in time: {best.why}"
    return f"{goodput} of {ideal} over {link} ({_figures(best)}), {manner}"


def _asked(network: Network) -> str:
    rate, mtu = format_rate(fastest_bps(network)), mtu_bytes(network)
    return f"{rate} at an MTU of {mtu} bytes between {host_count(network)} hosts"


def _figures(trial: Trial) -> str:
    packets = f"{trial.packets_per_s:,.0f} packets a second"
    if trial.lateness_us_p99 is None:
        return packets
    return f"{packets}, 99 of 100 of them late by {trial.lateness_us_p99:.0f} µs at most"


def _tried(ceiling: Ceiling) -> str:
    return "; ".join(
        f"{format_rate(trial.rate_bps)}: {trial.why or f'{trial.goodput_bps / 1e6:,.0f} Mbit/s'}"
        for trial in ceiling.trials
    )


def largest_scale(unscaled_bps: Fraction, ceiling_bps: int) -> str:
    """The largest fraction of the form 1/n that brings the study's own rate below the ceiling."""
    return f"1/{ceil(unscaled_bps / ceiling_bps)}"
