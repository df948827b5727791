"""Faults of hosts and of their links in the measuring phase, where the hosts are not the run's own:
a link that lost its carrier or changed its rate, a CPU that heat made slower, frames that a host
lost or held back.

The counters of each test interface and of each machine are compared between the start and the end
of the phase. A count that a kernel or a driver lacks is unknown, not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Final

from netstudy import wire
from netstudy.plan.estimate import has_pause
from netstudy.testbed.real.counters import each_machine, growth
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.units import format_rate
from netstudy.wire import Check, TestbedLimit

LAW: Final = "links and hosts stay as they are"
_RATE: Final = "interface_rate_mbps"
_BPS_PER_MBPS: Final = 1_000_000
_THROTTLED: Final = ("cpu_core_throttled", "cpu_package_throttled")
_FOREIGN_PER_S: Final = 1
"""Received packets each second that a host may drop because it does not speak their protocol, such
as LLDP and spanning trees."""

_Read = Callable[[AgentEvidence], int | None]


def faults(evidence: Evidence) -> tuple[TestbedLimit, ...]:
    """The limits on faults in the measuring phase; none if the hosts are the run's own."""
    if evidence.allowed is None:
        return ()
    return tuple(_faults(evidence))


def unchanged(limits: tuple[TestbedLimit, ...]) -> Check:
    """Checks that no fault spoils the run."""
    spoiling = [one.evidence for one in limits if one.invalidates]
    return Check(law=LAW, holds=not spoiling, detail="; ".join(spoiling) or "no fault was counted")


def _faults(evidence: Evidence) -> Iterator[TestbedLimit]:
    yield _of_interfaces(
        evidence,
        "carrier changes of the hosts' links",
        lambda agent: growth(agent, "interface").get("interface_carrier_changes"),
        "the carrier of {device} at {host} came or went, {count:,} in all",
        invalidates=True,
    )
    yield _rates(evidence)
    yield _heat(evidence)
    yield _of_interfaces(
        evidence,
        "frames lost because a host's receive ring was full",
        # Named as in the simulator, where the ring belongs to the host.
        lambda agent: growth(agent, "host").get("ring_drops"),
        "{device} at {host} lost {count:,} (rx_missed_errors)",
        invalidates=True,
    )
    yield _of_interfaces(
        evidence,
        "received packets that hosts dropped before TCP",
        lambda agent: growth(agent, "interface").get("interface_receive_drops"),
        "{device} at {host} dropped {count:,} (rx_dropped)",
        allowed=_FOREIGN_PER_S * ceil(evidence.counted_ns / 1e9),
    )
    # A study of PAUSE expects it.
    is_planned = has_pause(evidence.run.network)
    for direction in ("received", "sent"):
        yield _of_interfaces(
            evidence,
            f"PAUSE frames that hosts {direction}",
            lambda agent, way=direction: growth(agent, "interface").get(  # type: ignore[misc]
                f"interface_pause_frames_{way}"
            ),
            f"{{device}} at {{host}} {direction} {{count:,}}",
            is_planned=is_planned,
        )


def _of_interfaces(
    evidence: Evidence,
    name: str,
    read: _Read,
    sentence: str,
    *,
    allowed: int = 0,
    invalidates: bool = False,
    is_planned: bool = False,
) -> TestbedLimit:
    """A limit on the sum of a counter over all test interfaces. The sentence is about one of them
    that has counted."""
    counts = {(host, one.device): read(one) for (host, _), one in evidence.interfaces.items()}
    said = [
        sentence.format(host=host, device=device, count=count)
        for (host, device), count in counts.items()
        if count
    ]
    places = {f"{device} at {host}": count for (host, device), count in counts.items()}
    return _limit(name, places, said, allowed, invalidates=invalidates, is_planned=is_planned)


def _limit(
    name: str,
    counts: Mapping[str, int | None],
    said: list[str],
    allowed: int = 0,
    *,
    invalidates: bool = False,
    is_planned: bool = False,
) -> TestbedLimit:
    """A limit on the sum of the counts, each at its place; the places without a count are named if
    others have one."""
    known = [count for count in counts.values() if count is not None]
    exceeded = sum(known) > allowed and not is_planned
    silent = [place for place, count in counts.items() if count is None]
    if known and silent:
        said = [*said, f"not counted: {', '.join(silent)}"]
    return TestbedLimit(
        name=name,
        value=sum(known) if known else None,
        allowed=allowed,
        exceeded=exceeded,
        invalidates=exceeded and invalidates,
        evidence="; ".join(said) or (f"0 at {len(known)}" if known else "not counted"),
    )


def _rates(evidence: Evidence) -> TestbedLimit:
    counts: dict[str, int | None] = {}
    said = []
    for (host, _), agent in evidence.interfaces.items():
        edges = (wire.MEASURE_START, wire.MEASURE_END)
        first, last = (agent.snapshots[edge].gauges.get(_RATE) for edge in edges)
        place = f"{agent.device} at {host}"
        counts[place] = None if first is None and last is None else int(first != last)
        if first != last:
            said.append(f"{place} went from {_rate(first)} to {_rate(last)}")
    return _limit("links whose rate changed", counts, said, invalidates=True)


def _rate(mbps: int | None) -> str:
    return "an unknown rate" if mbps is None else format_rate(mbps * _BPS_PER_MBPS)


def _heat(evidence: Evidence) -> TestbedLimit:
    counts: dict[str, int | None] = {}
    for machine, own in each_machine(evidence):
        known = [own[name] for name in _THROTTLED if name in own]
        counts[machine] = sum(known) if known else None
    said = [
        f"heat made CPUs of {machine} slower {count:,} times (thermal_throttle)"
        for machine, count in counts.items()
        if count
    ]
    return _limit("times that heat made CPUs slower", counts, said, invalidates=True)
