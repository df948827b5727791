"""What this machine reaches with a network of a study, and whether the study asks for more.

A run beyond that would measure the machine. So the network is tried before: the same hosts, links
and switch, with buffers that nothing is lost in, and servers that send without pause. Where the
rates that the study asks for are not carried, lower ones are tried.

The search and the decision are here, and pure; `trial` does the trying.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from netstudy.units import FRAMING_BYTES, format_rate, header_bytes
from netstudy.wire import Network, Plan

_CARRIED = 0.9
"""Share of the goodput of an ideal link at which a rate counts as carried: the rest is for TCP to
begin."""
_NEAR = 0.5
"""A machine below that share was not merely disturbed."""
_CAUTION = 0.9
"""A machine that does not carry a rate is tried next with this share of what it carried."""
_STEP = 0.7
"""What is tried next is at most this share of a rate that was not reached."""
_TRIALS_MAX = 7


@dataclass(frozen=True)
class Trial:
    """How one try went, with the fastest link at a rate."""

    rate_bps: int
    """Of the fastest link."""
    goodput_bps: float
    """What the client received."""
    packets_per_s: float
    """Frames that the switch forwarded, acknowledgments included."""
    lateness_us_p99: float | None
    """How late the switch let frames go; None: the kernel is the switch and does not say."""
    in_time: bool
    """Whether the switch kept to its times and lost nothing."""
    why: str | None = None
    """Why it did not."""


@dataclass(frozen=True)
class Ceiling:
    """The most that this machine was seen to carry for one network."""

    best: Trial | None
    """The fastest trial that was carried, of two equal ones the one in time; None: none was."""
    trials: tuple[Trial, ...]
    """Every trial, in order."""


Try = Callable[[int], Trial]
"""Tries a network with its fastest link at a rate, and the others in proportion."""


def find_ceiling(network: Network, attempt: Try) -> Ceiling:
    """The ceiling, searched from the rate that the network asks for downwards.

    A machine that carries that rate is not asked for more, so the usual case takes one trial. One
    that is not far from it may have been disturbed: it gets a second try. Where the rate is out of
    reach, the one to be named instead is one that is carried in time, if there is any.
    """
    wanted_bps = fastest_bps(network)
    trials = [attempt(wanted_bps)]
    if _is_near(trials[0], network):
        trials.append(attempt(wanted_bps))
    if not any(carried(trial, network) for trial in trials):
        while not _is_reached(trials[-1], network) and len(trials) < _TRIALS_MAX:
            trials.append(attempt(_lower(trials[-1], network)))
    best = max(trials, key=lambda trial: (carried(trial, network), trial.in_time, trial.rate_bps))
    return Ceiling(best if carried(best, network) else None, tuple(trials))


def _is_near(trial: Trial, network: Network) -> bool:
    share = trial.goodput_bps / ideal_goodput_bps(trial.rate_bps, network)
    return share >= _NEAR and not _is_reached(trial, network)


def _is_reached(trial: Trial, network: Network) -> bool:
    return trial.in_time and carried(trial, network)


def carried(trial: Trial, network: Network) -> bool:
    """Whether the client received what the link can carry, in time or not."""
    return trial.goodput_bps >= _CARRIED * ideal_goodput_bps(trial.rate_bps, network)


def _lower(trial: Trial, network: Network) -> int:
    """The rate to try next: less than what was carried, and less than what was tried."""
    rate_bps = trial.goodput_bps * trial.rate_bps / ideal_goodput_bps(trial.rate_bps, network)
    return _two_digits(min(_CAUTION * rate_bps, _STEP * trial.rate_bps))


def _two_digits(rate_bps: float) -> int:
    """Rounded down to two digits, which people can read and repeat: 430 Mbit/s."""
    digits = str(int(rate_bps))
    return int(digits[:2].ljust(len(digits), "0"))


def ideal_goodput_bps(rate_bps: int, network: Network) -> float:
    """What a link of that rate carries of an application's data in full frames."""
    mtu = mtu_bytes(network)
    return rate_bps * (mtu - header_bytes(timestamps=True)) / (mtu + FRAMING_BYTES)


def mtu_bytes(network: Network) -> int:
    """The largest packet of the network."""
    return max(link.mtu_bytes for link in network.links)


def fastest_bps(network: Network) -> int:
    """The rate of the fastest link."""
    return max(link.rate_bps for link in network.links)


def host_count(network: Network) -> int:
    """The hosts around the switch."""
    return sum(group.count for group in network.hosts)


def hardest(plan: Plan) -> list[Network]:
    """The networks of a plan that ask most of a machine: one for each MTU.

    Of those the fastest, and of the fastest the one with most hosts.
    """
    found: dict[int, Network] = {}
    for network in {repr(run.network): run.network for run in plan.runs}.values():
        mtu = mtu_bytes(network)
        found[mtu] = max(found.get(mtu, network), network, key=_demand)
    return [found[mtu] for mtu in sorted(found)]


def _demand(network: Network) -> tuple[int, int]:
    return fastest_bps(network), host_count(network)


def excess(network: Network, ceiling: Ceiling) -> str | None:
    """What is said when a network asks for more than the machine can do; None when it does not.

    One that is carried late is none of it: each run tells of that, and is invalid then.
    """
    wanted_bps, best = fastest_bps(network), ceiling.best
    if best is not None and best.rate_bps >= wanted_bps:
        return None
    asked = f"The study asks for {_asked(network)}"
    if best is None:
        return f"{asked}; this machine carries no rate that was tried: {_tried(ceiling)}."
    manner = "in time" if best.in_time else "late"
    return (
        f"{asked}; this machine carries {format_rate(best.rate_bps)} {manner} ({_figures(best)}). "
        f"The largest scale that fits is --scale {largest_scale(wanted_bps, best.rate_bps)}."
    )


def reached(network: Network, best: Trial) -> str:
    """What the machine did with the network at the highest rate that it carried."""
    goodput = f"{best.goodput_bps / 1e6:,.0f}"
    ideal = f"{ideal_goodput_bps(best.rate_bps, network) / 1e6:,.0f} Mbit/s"
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


def largest_scale(wanted_bps: int, ceiling_bps: int) -> str:
    """The largest unit fraction by which the wanted rate fits below the ceiling: 1/5."""
    return f"1/{-(-wanted_bps // ceiling_bps)}"
