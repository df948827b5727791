"""A connection that carries data: bounds of the parts of a time in which its sender had data to
send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from netstudy import wire
from netstudy.testbed.real.accounts import timers, windows
from netstudy.testbed.real.accounts.bounds import (
    UNKNOWN,
    Bounds,
    Part,
    at_most,
    either,
    exactly,
    rest,
    summed,
)
from netstudy.testbed.real.accounts.course import Course
from netstudy.testbed.real.accounts.looks import looks_interval_ms
from netstudy.testbed.real.accounts.round_trips import LATENCY, QUEUE, rate, shares
from netstudy.testbed.real.accounts.way import Way, way
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.real.clocks import Instant
from netstudy.testbed.real.counters import growth
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.real.laws import line_shares
from netstudy.testbed.real.wire import ReadingsRecord, WaitsRecord

_OTHER: Mapping[wire.Role, wire.Role] = {"client": "server", "server": "client"}
_PROCESSES: Mapping[wire.Place, str] = {"cpu": "cpu_ns", "cpu-queue": "waited_ns"}
"""Place -> the counter of the agents' time there."""


class Network:
    """Facts about the network of a run that its accounts share."""

    def __init__(self, evidence: Evidence) -> None:
        """`evidence` must be complete."""
        self.evidence = evidence
        self._sending: dict[tuple[int, wire.Role], Sending] = {}
        self._counted: dict[str, dict[str, int]] = {}
        self._processes: dict[AgentSpec, Course] = {}

    def sending(self, row: int, role: wire.Role) -> Sending:
        """The end of a connection that has this role, as a sender."""
        return self._sending.setdefault((row, role), Sending(self, row, role))

    def by_client(self, row: int, at_ns: int) -> Instant:
        """A time of the client of a connection."""
        spec, _ = self.evidence.specs.end(row, "client")
        return self.evidence.instant(self.evidence.agents[spec], at_ns)

    def ends(self, row: int, role: wire.Role) -> tuple[str, str]:
        """The hosts or zones at the ends of a connection: the one with this role, and the other."""
        one = self.evidence.specs.connections[row]
        return one.node(role), one.node(_OTHER[role])

    def counted(self, host: str) -> dict[str, int]:
        """Growth of the counters of a host in the measuring phase."""
        if host not in self._counted:
            self._counted[host] = growth(self.evidence.hosts[host], "host")
        return self._counted[host]

    def processes(self, agent: AgentEvidence) -> Course:
        """Readings of an agent's CPU time: at each reading of any of its connections."""
        if agent.spec not in self._processes:
            self._processes[agent.spec] = Course.of(agent.all_of(ReadingsRecord))
        return self._processes[agent.spec]

    @cached_property
    def busy(self) -> dict[tuple[str, str], float]:
        """Node and port -> the share of the measuring phase in which it was sending."""
        return {(port.node, port.name): share for share, port in line_shares(self.evidence)}

    @cached_property
    def least_round_trips_ns(self) -> dict[frozenset[str], float]:
        """Endpoints of a pair -> the least round trip of any connection between them."""
        found: dict[frozenset[str], float] = {}
        for row, one in enumerate(self.evidence.specs.connections):
            pair = frozenset((one.client, one.server))
            for role in _OTHER:
                least = self.sending(row, role).course.least_round_trip_ns
                if least is not None:
                    found[pair] = min(found.get(pair, least), least)
        return found


@dataclass(frozen=True)
class Sending:
    """One end of a connection, as a sender."""

    network: Network
    row: int
    role: wire.Role

    @property
    def _evidence(self) -> Evidence:
        return self.network.evidence

    @property
    def _endpoints(self) -> tuple[str, str]:
        """The sender and the receiver."""
        one = self._evidence.specs.connections[self.row]
        return (one.client, one.server) if self.role == "client" else (one.server, one.client)

    def _end(self, role: wire.Role) -> tuple[AgentEvidence, int]:
        spec, number = self._evidence.specs.end(self.row, role)
        return self._evidence.agents[spec], number

    @cached_property
    def agent(self) -> AgentEvidence:
        """The agent that sends."""
        return self._end(self.role)[0]

    @cached_property
    def course(self) -> Course:
        """The readings of this end."""
        agent, number = self._end(self.role)
        return Course.of(agent.readings(number))

    @cached_property
    def _receiver(self) -> AgentEvidence:
        return self._end(_OTHER[self.role])[0]

    @cached_property
    def way(self) -> Way:
        """The way of the data, and of the acknowledgments back."""
        return way(self._evidence.routes, *self._endpoints, is_kept=self._is_kept)

    @property
    def _is_kept(self) -> bool:
        """True if a switch in user space delays every frame as the plan says."""
        return self._evidence.burst_bytes == 0 and self._evidence.switch.clock is not None

    @cached_property
    def _waits(self) -> list[timers.Wait] | None:
        """Waits of the connection; None: it was looked at, but the kernel does not show them."""
        agent, number = self._end(self.role)
        own = [one for one in agent.all_of(WaitsRecord) if one.connection == number]
        looks = [one for one in agent.readings(number) if one.taken == "at-intervals"]
        # Without the counter of timeouts, the agent finds no waits, and writes no record of them.
        is_blind = any("timeouts" not in one.values for one in looks)
        return None if is_blind else list(timers.waits(own))

    @cached_property
    def _tcp(self) -> wire.Tcp:
        node = self._evidence.run.network.node(self.agent.spec.node)
        assert not isinstance(node, wire.Switch), "a switch sends nothing"
        return self._evidence.run.network.group(node.group).tcp

    def parts(
        self, start: Instant, end: Instant, size_bytes: int, written_ns: int | None = None
    ) -> dict[Part, Bounds]:
        """Bounds of the parts of a time in which this end sent this many bytes. Raises NoBoundError
        if start or end are of a clock that cannot be compared with the sender's.

        `written_ns` is when the kernel had taken the last one of them, by the sender's clock; None:
        it is not known.
        """
        return self._whichever(
            start, end, lambda first, last: self._parts(first, last, size_bytes, written_ns)
        )

    def trip(self, start: Instant, end: Instant) -> dict[Part, Bounds]:
        """Bounds of the parts of one trip of a small message from this end to the other. Raises
        NoBoundError if their clocks cannot be compared."""
        return self._whichever(start, end, self._trip)

    def exchange(self, start: Instant, end: Instant) -> dict[Part, Bounds]:
        """Bounds of the parts of a time with at least one small message from this end, and its
        answer. Raises NoBoundError."""
        return self._whichever(start, end, self._exchange)

    def _whichever(
        self, start: Instant, end: Instant, parts: Callable[[int, int], dict[Part, Bounds]]
    ) -> dict[Part, Bounds]:
        """Bounds that hold whichever span by the sender's clock the two instants enclose."""
        clocks, own = self._evidence.clocks, self._evidence.domain(self.agent)
        first, last = (clocks.translate(one, own) for one in (start, end))
        if first.is_exact and last.is_exact:
            return parts(first.low_ns, last.low_ns)
        shortest = parts(first.high_ns, max(first.high_ns, last.low_ns))
        return either(shortest, parts(first.low_ns, last.high_ns))

    def _parts(
        self, start_ns: int, end_ns: int, size_bytes: int, written_ns: int | None
    ) -> dict[Part, Bounds]:
        of_timers = self._of_timers(start_ns, end_ns)
        # The clock of a window goes on during a wait for a timer, which counts once.
        less_ns = sum(one.high for part, one in of_timers.items() if part.reason == "recovery")
        of_windows = self._of_windows(start_ns, end_ns, size_bytes, written_ns)
        known = {
            **of_timers,
            **{
                part: one._replace(low=max(one.low - less_ns, 0))
                for part, one in of_windows.items()
            },
            **self._of_processes(start_ns, end_ns, written_ns),
        }
        trips = rest(end_ns - start_ns, known)
        divided = {
            part: Bounds(share.low * trips.low, share.high * trips.high)
            for part, share in self._shares(start_ns, end_ns, size_bytes).items()
        }
        return summed((known, divided))

    def _trip(self, start_ns: int, end_ns: int) -> dict[Part, Bounds]:
        known = self._of_messages(start_ns, end_ns)
        left = at_most(rest(end_ns - start_ns, {**known, **self.way.there}).high)
        places = (self._named(LATENCY), self._named(QUEUE)) if self._hops else (self._inside,)
        return summed((known, self.way.there, dict.fromkeys(places, left)))

    def round_trip(self) -> dict[Part, Bounds]:
        """Bounds of the parts of the time of one small message and its answer, or of several of
        them: at least the least round trip between the hosts, as far as the plan or the network
        stacks explain it."""
        least_ns = self.network.least_round_trips_ns.get(frozenset(self._endpoints), 0.0)
        stacks = exactly(max(least_ns - self.way.most_ns, 0.0))
        if not self._hops:
            return {self._inside: stacks.plus(UNKNOWN)}
        known = {part: exactly(bounds.low) for part, bounds in self.way.parts.items()}
        receiver = Part("own", "application", self._receiver.spec.node)
        places = (*known, LATENCY, self._named(QUEUE), receiver)
        return summed((known, {LATENCY: stacks}, dict.fromkeys(places, UNKNOWN)))

    def _exchange(self, start_ns: int, end_ns: int) -> dict[Part, Bounds]:
        known = self._of_messages(start_ns, end_ns)
        least = {part: exactly(bounds.low) for part, bounds in self.way.parts.items()}
        left = at_most(rest(end_ns - start_ns, {**known, **least}).high)
        places = (*least, self._named(LATENCY), self._named(QUEUE))
        return summed(
            (known, least, dict.fromkeys(places if self._hops else (self._inside,), left))
        )

    def _of_messages(self, start_ns: int, end_ns: int) -> dict[Part, Bounds]:
        return {**self._of_timers(start_ns, end_ns), **self._of_processes(start_ns, end_ns)}

    @property
    def _inside(self) -> Part:
        """All work inside a host is that of CPUs: of processes, and of the kernel for them."""
        return Part("own", "cpu", self._evidence.routes.of(self._endpoints[0])[0])

    def _of_timers(self, start_ns: int, end_ns: int) -> dict[Part, Bounds]:
        def counted(name: str) -> Bounds:
            return self.course.growth(name, start_ns, end_ns) or UNKNOWN

        seen = self._waits and [
            one for one in self._waits if one.until_ns > start_ns and one.before_ns < end_ns
        ]
        tick_ns = self._evidence.tick_ns
        receiver = self._receiver
        return timers.parts(
            timers.Timers(
                seen=seen,
                timeouts=counted("timeouts"),
                retransmissions=counted("retransmissions"),
                probes=self._of_host(self.agent, "loss_probes"),
                delayed_acks=self._of_host(receiver, "delayed_acks_sent"),
                min_rto_ns=-(-self._tcp.min_rto_ns // tick_ns) * tick_ns,
                rto_ns=1_000 * self.course.largest("rto_us", start_ns, end_ns),
                unseen_ns=2e6 * looks_interval_ms(self.agent.spec),
                tick_ns=tick_ns,
            ),
            self.agent.spec.node,
            receiver.spec.node,
            start_ns,
            end_ns,
        )

    def _of_windows(
        self, start_ns: int, end_ns: int, size_bytes: int, written_ns: int | None
    ) -> dict[Part, Bounds]:
        """A message that fits into the window of the peer never waits for it, and the send buffer
        has room once it has taken the last byte. Inside a host, a window is shut while a CPU works
        for the receiver: that is time of the CPU."""
        if not self._hops:
            return {}
        names = ("peer_window_us", "own_buffer_us")
        found = {name: self.course.growth(name, start_ns, end_ns) or UNKNOWN for name in names}
        if size_bytes <= (self.course.latest("peer_window_bytes", start_ns) or 0):
            del found["peer_window_us"]
        parts = windows.windows(found, self._evidence.tick_ns)
        own = Part("own-buffer", "not-known")
        if written_ns is not None and own in parts:
            most = max(written_ns - start_ns, 0)
            parts[own] = Bounds(min(parts[own].low, most), min(parts[own].high, most))
        return parts

    def _of_processes(
        self, start_ns: int, end_ns: int, written_ns: int | None = None
    ) -> dict[Part, Bounds]:
        """CPU time of the agents at both ends, and their waits for a CPU, during which data may
        have waited or not. They wait for the sender until the kernel has taken the last of them.
        They wait for the receiver once the last of them have arrived: until then, its kernel
        acknowledges them, and a receiver that is too slow shuts the window."""
        taken_ns = end_ns if written_ns is None else max(min(written_ns, end_ns), start_ns)
        under_way_ns = self.course.last_under_way_ns(start_ns, end_ns)
        arrived_ns = min(max(self._idle_ns(end_ns), under_way_ns), end_ns)
        span_ns = taken_ns - start_ns
        sent = {"cpu": span_ns, "cpu-queue": span_ns}
        # A receiver that had nothing to do waited for a CPU before it went on.
        received = {"cpu": end_ns - arrived_ns, "cpu-queue": end_ns - under_way_ns}
        return summed(
            (
                self._spent(self.agent, start_ns, taken_ns, sent),
                self._spent(self._receiver, arrived_ns, end_ns, received),
            )
        )

    def _spent(
        self, agent: AgentEvidence, from_ns: int, until_ns: int, most_ns: Mapping[str, int]
    ) -> dict[Part, Bounds]:
        """CPU time of an agent in a span, and its waits, by place; neither is longer than the most.
        Inside a host, the CPU time is that of the data's way."""
        course, found = self._processes(agent), {}
        for place, name in _PROCESSES.items():
            if self._hops or place != "cpu":
                grown = course.growth(name, from_ns, until_ns) or UNKNOWN
                spent = at_most(min(grown.high, most_ns[place]))
                found[Part("own", place, agent.spec.node)] = spent
        return found

    def _processes(self, agent: AgentEvidence) -> Course:
        """The readings of an agent's CPU time; none if they are not by the sender's clock."""
        is_ours = self._evidence.domain(agent) == self._evidence.domain(self.agent)
        return self.network.processes(agent) if is_ours else Course((), {})

    def _idle_ns(self, end_ns: int) -> int:
        """When the receiver last had nothing to do before the end of a span; 0: it is not known."""
        agent, number = self._end(_OTHER[self.role])
        if self._evidence.domain(agent) != self._evidence.domain(self.agent):
            return 0
        return Course.of(agent.readings(number)).idle_ns(end_ns) or 0

    def _shares(self, start_ns: int, end_ns: int, size_bytes: int) -> dict[Part, Bounds]:
        if not self._hops:
            return {self._inside: exactly(1.0)}
        pair, planned = frozenset(self._endpoints), self.way
        least_ns = max(self.network.least_round_trips_ns.get(pair, 0.0), planned.least_ns)
        trips = rate(self.course.round_trips(start_ns, end_ns), least_ns)
        own_share = self._own_share(start_ns, end_ns, size_bytes)
        # The last frame of a message may be smaller.
        full = max(trips.low * (1 - own_share) - 1 / max(end_ns - start_ns, 1), 0.0)
        found = shares(planned, trips, least_ns, full=full)
        return {self._named(part): share for part, share in found.items()}

    def _own_share(self, start_ns: int, end_ns: int, size_bytes: int) -> float:
        """The largest share of a time in which the sender may have waited for its own interface:
        such a wait is one in a queue, but no round trip. A switch in user space takes frames from
        hosts at once."""
        if self._is_kept:
            return 0.0
        port, _ = self._hops[0]
        own = size_bytes * 8e9 / port.rate_bps / max(end_ns - start_ns, 1)
        return min(max(own, self.network.busy.get((port.node, port.name), 1.0)), 1.0)

    def _named(self, part: Part) -> Part:
        """A queue is named after the busiest link of the way, as far as is known."""
        if part != QUEUE:
            return part
        busy = self.network.busy
        known = [hop for hop in self._hops if (hop[0].node, hop[0].name) in busy]
        if not known:
            return part
        port, link = max(known, key=lambda hop: busy[hop[0].node, hop[0].name])
        other = link.b if port is link.a else link.a
        return part._replace(node=port.node, to=other.node)

    @cached_property
    def _hops(self) -> tuple[tuple[wire.Port, wire.Link], ...]:
        return self._evidence.routes.route(*self._endpoints).hops

    def _of_host(self, agent: AgentEvidence, name: str) -> int:
        """Growth of a counter of the agent's host in the measuring phase."""
        return self.network.counted(agent.host).get(name, 0)
