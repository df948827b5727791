"""The phases of a run, and the instruments that watch it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netstudy import wire
from netstudy.documents.fields import (
    IntervalValue,
    MeasuringTime,
    NameValue,
    PhaseTime,
    Switched,
)
from netstudy.documents.shapes import ByKey
from netstudy.documents.validation import Model


class Procedure(Model):
    """Phases in their order. What a phase excludes is excluded for every instrument alike.

    Hosts are started before the first phase and stopped behind the last. What a workload counts,
    iterations for example, stands among its own keys.
    """

    load: Switched = False
    """Load the application's database."""
    configure: Switched = False
    """Set the application up."""
    gather_statistics: Switched = Field(default=False, alias="gather statistics")
    """Let the database gather statistics of its tables."""
    idle: PhaseTime | None = None
    """Time in which nothing but the workload's `probe` runs: the latency of the idle network."""
    warmup: PhaseTime | None = None
    """Time under load before anything is measured."""
    stop: Switched = False
    """Stop the load after the warm-up, until nothing is under way; it begins again with what
    follows."""
    reset: Switched = False
    """Bring the application's data back to their first state before measuring."""
    measure: MeasuringTime | None = None
    """The measuring phase: one interval for all instruments of all nodes."""
    cooldown: PhaseTime | None = None
    """Time after the load has ended, for traffic to end before counters are read."""


def field_of_phase(kind: wire.PhaseKind) -> str:
    """The field of Procedure that asks for a phase of that name."""
    return kind.replace("-", "_")


class SnmpPoll(Model):
    """Poll the counters of a switch's port."""

    snmp: NameValue
    """What is polled: `switch`, or the name of one of several."""
    port: NameValue
    """The host group whose port is read."""
    every: IntervalValue = 1_000_000_000
    """Interval of the polls."""
    from_: NameValue | None = Field(default=None, alias="from")
    """The host that polls: an idle one, so that it does not disturb."""


class SarSampler(Model):
    """Sample CPU, network and disk of a host, as `sar` does."""

    sar: NameValue
    """The host group."""
    every: IntervalValue = 10_000_000_000
    """Interval of the samples."""


class CounterSnapshot(Model):
    """Read the TCP counters of a host at both edges of every phase, which is done in any case."""

    netstat: NameValue
    """The host group."""


class TcpSampler(Model):
    """Sample the connections of a host and of its zones: round-trip times and congestion windows,
    as `ss -i` shows them."""

    tcp: NameValue
    """The host group."""
    every: IntervalValue = 100_000_000
    """Interval of the samples."""


class PortSampler(Model):
    """Sample the counters and queues of a switch's ports, in the switch itself."""

    ports: NameValue
    """The switch: `switch`, the name of one of several, or one that `netstudy plan` names."""
    port: NameValue | None = None
    """The host group or switch behind the port; without it all ports."""
    every: IntervalValue = 1_000_000_000
    """Interval of the samples."""


Instrument = SnmpPoll | SarSampler | CounterSnapshot | TcpSampler | PortSampler
InstrumentByKey = Annotated[
    Instrument,
    ByKey(
        snmp=SnmpPoll,
        sar=SarSampler,
        netstat=CounterSnapshot,
        tcp=TcpSampler,
        ports=PortSampler,
    ),
]
