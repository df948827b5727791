"""The plan and the records of a poller (`netstudy-engine snmp`).

The first line of the program's standard input is the plan, and each further line is a command
(`netstudy.testbed.real.wire.Command`). Each line of its standard output is a record. The engine's
own types are in `crates/records/src/snmp_plan.rs`; both sets of types are tested against
`schema/examples/snmp-plans.jsonl` and `snmp-records.jsonl`. Times are nanoseconds of
CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from netstudy.testbed.real.wire import EndRecord, ErrorRecord
from netstudy.wire import SnmpAuthentication, SnmpCipher
from netstudy.wire_model import Wire

SNMP_PLAN_SCHEMA: Final = "netstudy/snmp/1"
SNMP_RECORD_SCHEMA: Final = "netstudy/snmp-record/1"


class Community(Wire):
    """SNMPv2c (RFC 1901): whoever knows the community may read."""

    version: Literal["2c"] = "2c"
    community: str = Field(repr=False)


class Privacy(Wire):
    """Encryption of messages."""

    cipher: SnmpCipher
    password: str = Field(repr=False)


class User(Wire):
    """SNMPv3 with the user-based security model (RFC 3414); a user always signs."""

    version: Literal["3"] = "3"
    user: str
    authentication: SnmpAuthentication
    authentication_password: str = Field(repr=False)
    privacy: Privacy | None = None
    """None: messages are only signed."""


Credentials = Annotated[Community | User, Field(discriminator="version")]
"""The credentials of a poller."""


class SnmpPort(Wire):
    """A port that is polled."""

    port: str
    """Name of the port in records."""
    name: str
    """The name by which the switch knows the port: its ifName or ifDescr."""


class SnmpPlan(Wire):
    """The ports to poll, and the credentials."""

    schema_: Literal["netstudy/snmp/1"] = Field(default=SNMP_PLAN_SCHEMA, alias="schema")
    run: str
    switch: str
    """For messages."""
    agent: str
    """Address and UDP port of the switch's agent."""
    credentials: Credentials
    ports: tuple[SnmpPort, ...] = Field(min_length=1)
    """The ports; a separate request reads each port."""
    every_ns: int = Field(gt=0)
    timeout_ns: int = Field(gt=0)
    """A request that is not answered within this time counts as not answered; shorter than the
    interval."""
    time_limit_ms: int = Field(gt=0)
    """When this time is over, the process ends itself with an error."""


class SnmpReady(Wire):
    """The first record. It means that the switch has answered and has all the ports."""

    kind: Literal["ready"] = "ready"
    schema_: Literal["netstudy/snmp-record/1"] = Field(default=SNMP_RECORD_SCHEMA, alias="schema")
    version: str
    run: str
    pid: int
    description: str
    """sysDescr."""
    name: str
    """sysName."""


class SnmpSnapshot(Wire):
    """A poll of all ports, made on command. Regular polling resumes with the command `go`."""

    kind: Literal["snapshot"] = "snapshot"
    name: str
    at_ns: int
    answered: bool
    """True when the switch answered for every port of the poll."""


class SnmpSamples(Wire):
    """All polls of a port, in the order of time."""

    kind: Literal["samples"] = "samples"
    port: str
    sent_ns: tuple[int, ...]
    """When each request was sent."""
    received_ns: tuple[int | None, ...]
    """When the answer to each request arrived; None: it did not arrive."""
    why: tuple[str | None, ...]
    """Why a poll has no values; None: it has values."""
    values: dict[str, tuple[int | None, ...]]
    """Object of the MIB -> its value at each poll, as the switch reported it."""


SnmpRecord = Annotated[
    SnmpReady | SnmpSnapshot | SnmpSamples | ErrorRecord | EndRecord,
    Field(discriminator="kind"),
]
