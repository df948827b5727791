"""The application of a run: its hosts, and its records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from netstudy import wire
from netstudy.testbed.real.brokerage_wire import BrokerageBooks, BrokerageDone, BrokerageSnapshot
from netstudy.testbed.real.processes import Process


@dataclass(frozen=True)
class Served:
    """An application and its hosts."""

    application: wire.Application
    host: str
    """The host of the application server."""
    database_host: str | None
    """The host of the application's database; None: there is no database, or it is embedded in the
    application server."""
    connections: int
    """The largest number of simultaneous connections to the application and its database
    together."""

    @property
    def data_host(self) -> str | None:
        """The host whose disk stores the application's data; None: the data are in memory, or there
        are no data."""
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

    host: str
    """The host of the application server."""
    done: tuple[BrokerageDone, ...] = ()
    """The commands that the application has completed, in order."""
    snapshots: Mapping[str, BrokerageSnapshot] = field(default_factory=dict)
    """Start or end of a phase -> the application's counters at that time."""
    books: BrokerageBooks | None = None
    """Whether the application's books balanced at the end of the run; None: it keeps no books."""


class RunApplication(ABC):
    """The application of a run that is in progress."""

    processes: Sequence[Process] = ()

    @property
    @abstractmethod
    def port(self) -> int:
        """The port that the application listens on."""

    @abstractmethod
    async def prepare(self, kind: wire.PhaseKind) -> None:
        """Do the application's work in a phase of the run. Raises NodeError."""

    @abstractmethod
    async def snapshot(self, name: str) -> None:
        """Read the application's counters at the start or end of a phase."""

    @abstractmethod
    async def finish(self) -> ApplicationEvidence:
        """Check the application's books, and return its records."""
