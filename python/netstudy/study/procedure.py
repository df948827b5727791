"""The phases of a run, and the instruments that watch it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netstudy.documents.fields import Duration, DurationValue, NameValue, Switched
from netstudy.documents.shapes import ByKey
from netstudy.documents.validation import Model


class Procedure(Model):
    """Phases in their order. What a phase excludes is excluded for every instrument alike."""

    load: Switched = False
    """Load the application's database first."""
    warmup: Duration | None = None
    """Time under load before anything is measured."""
    stop: Switched = False
    """Stop the load after the warm-up."""
    reset: Switched = False
    """Bring the application's data back to their first state before measuring."""
    measure: Duration | None = None
    """The measuring phase: one interval for all instruments of all nodes."""
    cooldown: Duration | None = None
    """Time for traffic to end before counters are read."""


class SnmpPoll(Model):
    """Poll the counters of a switch's port."""

    snmp: NameValue
    """What is polled: `switch`."""
    port: NameValue
    """The host group whose port is read."""
    every: DurationValue = 1_000_000_000
    """Interval of the polls."""
    from_: NameValue | None = Field(default=None, alias="from")
    """The host that polls: an idle one, so that it does not disturb."""


class SarSampler(Model):
    """Sample processor, network and disk of a host, as `sar` does."""

    sar: NameValue
    """The host group."""
    every: DurationValue = 10_000_000_000
    """Interval of the samples."""


class CounterSnapshot(Model):
    """Read the TCP counters of a host at both edges of the measuring phase."""

    netstat: NameValue
    """The host group."""


Instrument = Annotated[
    SnmpPoll | SarSampler | CounterSnapshot,
    ByKey(snmp=SnmpPoll, sar=SarSampler, netstat=CounterSnapshot),
]
