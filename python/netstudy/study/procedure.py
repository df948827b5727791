"""The phases of a run, and the instruments that watch it."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from netstudy import wire
from netstudy.documents.fields import (
    Choice,
    IntervalValue,
    MeasuringTime,
    NameValue,
    PhaseTime,
    Ref,
    Switched,
    Typed,
    WordsValue,
)
from netstudy.documents.shapes import ByKey
from netstudy.documents.validation import Model, fault

SnmpAuthentication = Annotated[
    str, Typed(Choice(get_args(wire.SnmpAuthentication), "a signature of SNMPv3"), refs=False)
]
SnmpPrivacy = Annotated[
    str, Typed(Choice(get_args(wire.SnmpCipher), "a cipher of SNMPv3"), refs=False)
]

Start = Annotated[
    Literal["together", "spread"] | Ref,
    Typed(Choice(("together", "spread"), "a start of flows")),
]


class Procedure(Model):
    """Phases in their order. No instrument counts a phase that is not measured.

    Hosts are started before the first phase and stopped after the last. Counts of a workload, such
    as iterations, are keys of the workload.
    """

    load: Switched = False
    """Load the application's database."""
    configure: Switched = False
    """Set the application up."""
    gather_statistics: Switched = Field(default=False, alias="gather statistics")
    """Let the database gather statistics about its tables."""
    idle: PhaseTime | None = None
    """Duration of a phase in which only the workload's `probe` runs: it measures the latency of the
    idle network."""
    warmup: PhaseTime | None = None
    """Time under load before anything is measured."""
    start: Start = "together"
    """When the flows start. `together`: all at the beginning of the warm-up. `spread`: each at a
    time that is drawn from the first half of the warm-up, anew for each replicate, so that the
    replicates do not lose packets at the same moments of the measuring phase. Make that half as
    long as the time between two losses of a flow. Only for flows that go on from the warm-up into
    the measuring phase."""
    stop: Switched = False
    """Stop the load after the warm-up and wait until nothing is in flight. The load starts again
    with the next phase."""
    reset: Switched = False
    """Restore the initial state of the application's data before measuring."""
    measure: MeasuringTime | None = None
    """Duration of the measuring phase, which is the same interval for all instruments at all
    nodes."""
    cooldown: PhaseTime | None = None
    """Time after the end of the load, in which transfers in flight finish before counters are
    read."""


def field_of_phase(kind: wire.PhaseKind) -> str:
    """The field of Procedure for this phase."""
    return kind.replace("-", "_")


class SecretPlace(Model):
    """Where to find an SNMP community or a password. A study never contains the secret itself,
    which would then be in all copies of the study."""

    env: WordsValue | None = None
    """An environment variable."""
    file: WordsValue | None = None
    """Absolute path of a file whose first line is the secret."""

    @model_validator(mode="after")
    def _is_one_place(self) -> SecretPlace:
        if (self.env is None) == (self.file is None):
            raise fault("needs exactly one place: {env: VARIABLE} or {file: /path}")
        if self.file is not None and not self.file.startswith("/"):
            raise fault("must be an absolute path, such as /run/secrets/community", "file")
        return self


class SnmpPoll(Model):
    """Polls the counters of a port of a switch by SNMP."""

    snmp: NameValue
    """The switch to poll: `switch`, or the name of one of several."""
    port: NameValue
    """The host group whose port at the switch is read."""
    every: IntervalValue = 1_000_000_000
    """Time from one poll to the next."""
    from_: NameValue | None = Field(default=None, alias="from")
    """The host that polls: a host that is linked to the switch and takes no part in the workload,
    so that its port carries only polls."""
    community: SecretPlace | None = None
    """Where to find the community of SNMPv2c. If neither it nor `user` is given, an emulated switch
    gets a new community for each run."""
    user: WordsValue | None = None
    """The user of SNMPv3, in place of a community."""
    authentication: SnmpAuthentication = "SHA"
    """How messages of SNMPv3 are signed. They are always signed."""
    password: SecretPlace | None = None
    """Where to find the password for signing."""
    privacy: SnmpPrivacy | None = None
    """How messages of SNMPv3 are encrypted; by default, they are only signed."""
    privacy_password: SecretPlace | None = Field(default=None, alias="privacy password")
    """Where to find the password for encryption."""

    @model_validator(mode="after")
    def _shows_who_it_is(self) -> SnmpPoll:
        if self.user is None:
            for key, value in (
                ("password", self.password),
                ("privacy", self.privacy),
                ("privacy password", self.privacy_password),
            ):
                if value is not None:
                    raise fault("is a setting of SNMPv3; name its user", key)
            return self
        if self.community is not None:
            raise fault("is for SNMPv2c, but user is for SNMPv3; keep one of them", "community")
        if self.password is None:
            raise fault(
                "needs a password, because only signed messages of SNMPv3 are supported", "user"
            )
        if (self.privacy is None) != (self.privacy_password is None):
            raise fault(
                "privacy and privacy password need each other; write both or neither", "privacy"
            )
        return self


class SarSampler(Model):
    """Samples CPU, network and disk of a host, like `sar`."""

    sar: NameValue
    """The host group."""
    every: IntervalValue = 10_000_000_000
    """Interval of the samples."""
    sysstat: bool = False
    """On real hosts, sysstat's own program (`sar -o`) records the measuring phase as well. The
    program's file is kept, and its values are compared with netstudy's."""


class CounterSnapshot(Model):
    """Reads the TCP counters of a host at the beginning and the end of every phase. This also
    happens without this instrument."""

    netstat: NameValue
    """The host group."""


class TcpSampler(Model):
    """Samples the connections of a host and of its zones: round-trip times and congestion windows,
    as shown by `ss -i`."""

    tcp: NameValue
    """The host group."""
    every: IntervalValue = 100_000_000
    """Interval of the samples."""


class PortSampler(Model):
    """Samples the counters and queues of a switch's ports, in the switch itself."""

    ports: NameValue
    """The switch: `switch`, the name of one of several, or a switch that only `netstudy plan`
    shows."""
    port: NameValue | None = None
    """The host group or switch that the port leads to; by default, all ports."""
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
