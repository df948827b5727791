"""The application of a run: its hosts, and the records that it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netstudy import wire
from netstudy.testbed.real.brokerage_wire import BrokerageBooks, BrokerageDone, BrokerageSnapshot


@dataclass(frozen=True)
class Served:
    """An application and its hosts."""

    application: wire.Application
    host: str
    """The host of the application server."""
    database_host: str | None
    """The host of its database; None: it has no database, or an embedded one."""
    connections: int
    """Most connections at a time, to it and to its database."""

    @property
    def data_host(self) -> str | None:
        """The host whose disk has the application's data; None: they are in memory, or it has
        none."""
        asked = self.application
        if not isinstance(asked, wire.Brokerage) or asked.data != "disk" or asked.existing:
            return None
        return self.database_host or self.host

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of the application server and of its database."""
        return tuple(dict.fromkeys(one for one in (self.host, self.database_host) if one))


@dataclass(frozen=True)
class ApplicationEvidence:
    """The records of an application."""

    done: tuple[BrokerageDone, ...] = ()
    """The commands that it has done, in order."""
    snapshots: Mapping[str, BrokerageSnapshot] = field(default_factory=dict)
    """Edge -> its counters there."""
    books: BrokerageBooks | None = None
    """Whether its books balanced in the end; None: it has none."""
