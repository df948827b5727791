"""The phases of a run, and the instruments that watch it."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field, model_validator

from netstudy import wire
from netstudy.documents.fields import (
    Choice,
    IntervalValue,
    MeasuringTime,
    NameValue,
    PhaseTime,
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


class Procedure(Model):
    """Phases in their order. A phase that is not measured is excluded for every instrument alike.

    Hosts are started before the first phase and stopped after the last. Counts of a workload, such
    as iterations, are keys of the workload.
    """

    load: Switched = False
    """Load the application's database."""
    configure: Switched = False
    """Set the application up."""
    gather_statistics: Switched = Field(default=False, alias="gather statistics")
    """Let the database gather statistics of its tables."""
    idle: PhaseTime | None = None
    """Time in which only the workload's `probe` runs: the latency of the idle network."""
    warmup: PhaseTime | None = None
    """Time under load before anything is measured."""
    stop: Switched = False
    """Stop the load after the warm-up, until nothing is in flight; it begins again with the next
    phase."""
    reset: Switched = False
    """Restore the initial state of the application's data before measuring."""
    measure: MeasuringTime | None = None
    """The measuring phase: one interval for all instruments of all nodes."""
    cooldown: PhaseTime | None = None
    """Time after the load has ended, so that transfers in flight finish before counters are
    read."""


def field_of_phase(kind: wire.PhaseKind) -> str:
    """The field of Procedure that sets this phase."""
    return kind.replace("-", "_")


class SecretPlace(Model):
    """The place of a community or a password. A study never contains the secret itself, which
    would be in all copies of it."""

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
    """Poll the counters of a switch's port by SNMP."""

    snmp: NameValue
    """The switch to poll: `switch`, or the name of one of several."""
    port: NameValue
    """The host group whose port is read."""
    every: IntervalValue = 1_000_000_000
    """Time from one poll to the next."""
    from_: NameValue | None = Field(default=None, alias="from")
    """The host that polls: a host that is linked to the switch and takes no part in the workload,
    so that its port carries only polls."""
    community: SecretPlace | None = None
    """Place of the community of SNMPv2c; without it and without `user` an emulated switch gets a
    new one for each run."""
    user: WordsValue | None = None
    """The user of SNMPv3, in place of a community."""
    authentication: SnmpAuthentication = "SHA"
    """How messages of SNMPv3 are signed; a user without authentication is refused."""
    password: SecretPlace | None = None
    """Place of the password for signing."""
    privacy: SnmpPrivacy | None = None
    """How messages of SNMPv3 are encrypted; without it they are only signed."""
    privacy_password: SecretPlace | None = Field(default=None, alias="privacy password")
    """Place of the password for encryption."""

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
    """Sample CPU, network and disk of a host, as `sar` does."""

    sar: NameValue
    """The host group."""
    every: IntervalValue = 10_000_000_000
    """Interval of the samples."""
    sysstat: bool = False
    """On real hosts: sysstat's own program (`sar -o`) records the measuring phase as well. Its file
    is kept, and its figures are compared with netstudy's."""


class CounterSnapshot(Model):
    """Read the TCP counters of a host at both edges of every phase. They are also read without this
    instrument."""

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
