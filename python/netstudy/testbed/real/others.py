"""Activity of others on hosts that are not the run's own: traffic on its interfaces, and CPU time.

Both are lower bounds: bytes and CPU time that the run cannot have caused. Offloads merge packets
before an interface counts them, so that bytes are compared and not packets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from netstudy import wire
from netstudy.testbed.real.counters import PROCESS_CPU, each_machine, growth
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.units import ETHERNET_HEADER_BYTES, IP_TCP_HEADER_BYTES
from netstudy.wire import Check, TestbedLimit

LAW: Final = "others leave the hosts to the run"
_HEADER_BYTES: Final = ETHERNET_HEADER_BYTES + IP_TCP_HEADER_BYTES + 40
"""The most bytes of headers in a frame: TCP's options have up to 40 (RFC 9293, 3.1)."""
_BUSY: Final = ("user", "nice", "system")
"""CPU time of processes. Interrupts are left out, since packets of the run cause some of them."""
_ALL: Final = (*_BUSY, "idle", "iowait", "irq", "softirq", "steal")
_Direction = Literal["sent", "received"]
_SEGMENTS: Final[dict[_Direction, str]] = {
    "sent": "tcp_segments_out",
    "received": "tcp_segments_in",
}
"""The host's counters of segments with and without data."""


def activity(evidence: Evidence) -> tuple[TestbedLimit, ...]:
    """The activity of others in the measuring phase, as far as it is known: one limit for each
    interface and direction, and one for each machine; none if the hosts are the run's own."""
    allowed = evidence.allowed
    if allowed is None:
        return ()
    return (*_traffic(evidence, allowed.traffic_pct), *_cpu(evidence, allowed.cpu_pct))


def undisturbed(limits: tuple[TestbedLimit, ...]) -> Check:
    """Checks that the activity of others stays within its limits."""
    beyond = [f"{one.name}: {one.value:.3g} %" for one in limits if one.exceeded]
    detail = "; ".join(beyond) or f"{len(limits)} interfaces, directions and machines"
    return Check(law=LAW, holds=not beyond, detail=detail)


def _limit(name: str, share_pct: float, allowed_pct: float, evidence: str) -> TestbedLimit:
    exceeded = share_pct > allowed_pct
    return TestbedLimit(
        name=name,
        value=share_pct,
        allowed=allowed_pct,
        unit="%",
        exceeded=exceeded,
        invalidates=exceeded,
        evidence=evidence,
    )


def _traffic(evidence: Evidence, allowed_pct: float) -> Iterator[TestbedLimit]:
    directions: tuple[_Direction, ...] = ("sent", "received")
    for (host, device), agents in _by_device(evidence).items():
        counted = growth(agents[0], "interface")
        rate_bps = _rate_bps(evidence, agents[0])
        for direction in directions:
            size = counted.get(f"interface_bytes_{direction}")
            if size is None or rate_bps is None:
                continue
            most = _own_bytes(evidence, agents, direction)
            others = max(size - most, 0)
            yield _limit(
                f"traffic of others {direction} at {device} ({host})",
                800 * others / (rate_bps * _counted_s(agents[0])),
                allowed_pct,
                f"{size:,} B at the interface, at most {most:,} B of the run's own",
            )


def _by_device(evidence: Evidence) -> dict[tuple[str, str], list[AgentEvidence]]:
    """Host and interface -> the agents whose traffic uses it."""
    found: dict[tuple[str, str], list[AgentEvidence]] = {}
    for agent in evidence.agents.values():
        found.setdefault((agent.host, agent.device), []).append(agent)
    return found


def _rate_bps(evidence: Evidence, agent: AgentEvidence) -> int | None:
    ends = (port for link in evidence.run.network.links for port in link.ports)
    own = (agent.host, agent.interface)
    return next((port.rate_bps for port in ends if (port.node, port.name) == own), None)


def _counted_s(agent: AgentEvidence) -> float:
    first, last = (agent.snapshots[edge].at_ns for edge in (wire.MEASURE_START, wire.MEASURE_END))
    return (last - first) / 1e9


def _own_bytes(evidence: Evidence, agents: list[AgentEvidence], direction: _Direction) -> int:
    """The most bytes that the run can have sent or received at an interface: the data of its
    agents, every retransmission in full, and the largest headers for every segment of the host."""
    data = sum(_data_bytes(agent, direction) for agent in agents)
    full = max(link.mtu_bytes for link in evidence.run.network.links)
    again = sum(
        growth(one, "host").get("segments_retransmitted", 0) for one in evidence.hosts.values()
    )
    segments = growth(agents[0], "host").get(_SEGMENTS[direction], 0)
    return data + again * full + (segments + again) * _HEADER_BYTES


def _data_bytes(agent: AgentEvidence, direction: _Direction) -> int:
    """Bytes of the agent's applications in the measuring phase, by all its connections."""
    ends = [
        {one.connection: getattr(one, f"bytes_{direction}") for one in taken.connections}
        for taken in (agent.snapshots[wire.MEASURE_START], agent.snapshots[wire.MEASURE_END])
    ]
    first, last = ends
    return sum(count - first.get(number, 0) for number, count in last.items())


def _cpu(evidence: Evidence, allowed_pct: float) -> Iterator[TestbedLimit]:
    for machine, own in each_machine(evidence):
        total_ms = sum(own.get(f"cpu_{name}_ms", 0) for name in _ALL)
        agents = [one for one in evidence.agents.values() if evidence.machines[one.host] == machine]
        spent_ns = [growth(one, "host").get(PROCESS_CPU) for one in agents]
        if not total_ms or None in spent_ns:
            continue
        busy_ms = sum(own.get(f"cpu_{name}_ms", 0) for name in _BUSY)
        run_ms = sum(one for one in spent_ns if one is not None) / 1e6
        yield _limit(
            f"{wire.OTHERS_CPU} ({machine})",
            100 * max(busy_ms - run_ms, 0) / total_ms,
            allowed_pct,
            f"/proc/stat: {busy_ms} ms of processes in {total_ms} ms, of which {run_ms:.0f} ms of "
            "the run's agents",
        )
