"""The interface that each kind of workload offers to the planning code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, TypeVar

from netstudy import wire
from netstudy.documents.problems import Path
from netstudy.hardware import HardwareLibrary
from netstudy.plan.network import Refuse
from netstudy.plan.paths import Routes
from netstudy.study import Study
from netstudy.study.places import Place
from netstudy.study.topology import Topology
from netstudy.study.workloads import Spec

SpecT = TypeVar("SpecT", bound=Spec)
WireT = TypeVar("WireT", bound=wire.Traffic)
WorkT = TypeVar("WorkT", bound=wire.Traffic | wire.Measured)

Permit = Literal["threads", "pool", "database_slots"]
"""A kind of permit, which work holds as long as it lasts: a thread of an application server, a
connection of its pool, a slot of its database. Capacities, counters and metrics have the same
names."""


@dataclass(frozen=True)
class Roles:
    """The places of client and server, as a study names them."""

    client: Place
    server: Place
    client_path: Path
    server_path: Path
    database: Place | None = None
    """The database's host, if there is one."""
    database_path: Path = ()

    @property
    def groups(self) -> frozenset[str]:
        """The host groups that take part."""
        places = (self.client, self.server, self.database)
        return frozenset(place.group for place in places if place is not None)


@dataclass(frozen=True)
class Context:
    """Further inputs for the conversion of a workload to the wire, in addition to the workload's
    own keys."""

    topology: Topology
    """The topology, with all references replaced by levels."""
    hardware: HardwareLibrary
    path: Path
    """Path of the workload in the study."""
    refuse: Refuse


@dataclass(frozen=True)
class Counts:
    """Number of samples in warm-up and measuring phase; None if the workload's keys do not give
    it."""

    warmup: int | None
    measure: int | None


@dataclass(frozen=True)
class Load:
    """A message from one endpoint to another that is part of one sample of a workload."""

    source: str
    target: str
    size_bytes: int
    times: int = 1
    """Number of equal messages, one for each connection of a pair."""


@dataclass(frozen=True)
class Files:
    """Where a workload's bytes come from and where they go. Without files, they come from memory
    and are discarded."""

    reads: bool = False
    """The sender reads a file."""
    sendfile: bool = False
    """The sender uses sendfile(2), without a copy."""
    from_cache: bool = False
    from_disk: bool = False
    stores: bool = False
    """The receiver writes a file."""
    to_disk: bool = False

    def copies(self, *, sends: bool, at_least: int = 0) -> int:
        """How often the sender or the receiver copies each byte: between socket and application,
        and between file and application."""
        if sends:
            return max(at_least, 0 if self.sendfile else 1 + self.reads)
        return max(at_least, 1 + self.stores)


class Planned(ABC, Generic[WorkT]):
    """Describes a workload of a plan to people."""

    wired: ClassVar[type[wire.Traffic] | type[wire.Measured]]
    """The plan's type for this workload."""
    unit: ClassVar[str]
    """Plural name of the workload's samples, such as iterations."""

    @property
    def name(self) -> str:
        """The kind of the workload."""
        return str(self.wired.model_fields["kind"].default)

    def summary(self, run: wire.Run) -> str:
        """The workload with its client and server groups."""
        client, server = (
            ", ".join(dict.fromkeys(_group(run.network, name) for name in names))
            for names in (run.workload.roles.client, run.workload.roles.server)
        )
        return f"{self.name}, {client} asks {server}"

    def starts(self, work: WorkT) -> tuple[str, ...]:  # noqa: ARG002
        """The program that a real testbed starts in a run, with its arguments; empty: none."""
        return ()

    def details(self, runs: Sequence[wire.Run]) -> Iterator[tuple[str, str]]:  # noqa: ARG002
        """Further lines of the description: subject and text."""
        yield from ()

    def think(self, work: WorkT) -> tuple[str, int] | None:  # noqa: ARG002
        """The key of the think time in the workload's section of a study, and its value in ns;
        None: this workload has no think times."""
        return None

    def permit_key(self, kind: Permit) -> str | None:  # noqa: ARG002
        """The key in the workload's section of a study that sets the number of permits; None:
        there is none."""
        return None

    def permits(
        self,
        work: WorkT,  # noqa: ARG002
        node: str,  # noqa: ARG002
        *,
        is_simulated: bool,  # noqa: ARG002
    ) -> Mapping[Permit, int]:
        """The number of permits of each kind at a host. Kinds that the host does not have, or whose
        number is not limited or not known, are left out."""
        return {}


def pair_count(work: wire.Traffic | wire.Measured) -> int:
    """Number of pairs of client and server."""
    return max(len(work.roles.client), len(work.roles.server))


def _group(network: wire.Network, endpoint: str) -> str:
    """The group of an endpoint's host; if the endpoint is a zone, the name of the zone."""
    node = network.node(endpoint.partition("@")[0])
    return node.group if isinstance(node, wire.Host) else node.name


class Lowering(Planned[WireT], Generic[SpecT, WireT]):
    """Converts a workload from a study to the wire, and estimates its cost."""

    spec: ClassVar[type[Spec]]
    """The study's type for this workload."""

    def left_out(self, spec: SpecT, study: Study, path: Path) -> Iterator[str]:  # noqa: ARG002
        """Parts of the workload that no testbed of this version supports, one sentence each."""
        yield from ()

    def not_run(self, spec: SpecT, study: Study, path: Path) -> Iterator[str]:  # noqa: ARG002
        """Parts that can be planned but that no testbed of this version runs, one sentence each."""
        yield from ()

    def not_simulated(self, spec: SpecT, study: Study, path: Path) -> Iterator[str]:  # noqa: ARG002
        """Parts that only real hosts support, one sentence each."""
        yield from ()

    def stated(self, spec: SpecT, study: Study) -> Iterator[str]:  # noqa: ARG002
        """Parts that the simulator does not model, so that they change no result there."""
        yield from ()

    @abstractmethod
    def roles(self, spec: SpecT, topology: Topology, path: Path) -> Roles:
        """Client and server; `path` is the workload's place in the study."""

    def working(self, roles: Roles) -> frozenset[str]:  # noqa: ARG002
        """Host groups on which the workload itself takes CPU time, in addition to the CPU time for
        packets."""
        return frozenset()

    @abstractmethod
    def lower(self, spec: SpecT, roles: wire.Roles, context: Context) -> WireT:
        """The workload on the wire; `spec` contains no references."""

    @abstractmethod
    def counts(self, spec: SpecT) -> Counts:
        """Number of samples that the workload's keys give for warm-up and measuring phase."""

    def connections(self, work: WireT) -> int:
        """Number of connections of the workload. It is computed, since there may be far too many to
        list."""
        return pair_count(work)

    def started(self, work: WireT, starts_ns: tuple[int, ...]) -> WireT:  # noqa: ARG002
        """The workload with a delay of the start of each connection; only for workloads whose spec
        `spreads`."""
        raise AssertionError(f"{self.name} has no starts, and checks have refused them")

    def registered_users(self, work: WireT) -> int:  # noqa: ARG002
        """Users that the workload's application has registered."""
        return 0

    @abstractmethod
    def loads(self, work: WireT) -> Iterator[Load]:
        """The messages of one sample, over all connections."""

    def files(self, work: WireT) -> Files:  # noqa: ARG002
        """Source and destination of the workload's bytes."""
        return Files()

    def waiting_ns(self, work: WireT, routes: Routes) -> float:  # noqa: ARG002
        """Lower bound of the time of one sample with infinitely fast links."""
        return 0.0

    def samples_per_count(self, work: WireT) -> int:  # noqa: ARG002
        """Number of samples in a record for each unit of a phase's count."""
        return 1

    @abstractmethod
    def sample_bytes(self, work: WireT, count: float, seconds: float) -> float:
        """Upper bound for the size in a record of `count` samples, taken within this time."""
