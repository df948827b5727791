"""What the parts of a plan that know no workload ask of each of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from netstudy import wire
from netstudy.documents.problems import Path
from netstudy.plan.network import Refuse
from netstudy.plan.paths import Routes
from netstudy.study import Study
from netstudy.study.places import Place
from netstudy.study.topology import Topology
from netstudy.study.workloads import Spec

SpecT = TypeVar("SpecT", bound=Spec)
WireT = TypeVar("WireT", bound=wire.Traffic)
WorkT = TypeVar("WorkT", bound=wire.Traffic | wire.Published)


@dataclass(frozen=True)
class Roles:
    """Who asks and who answers, as a study names them."""

    client: Place
    server: Place
    client_path: Path
    server_path: Path


@dataclass(frozen=True)
class Counts:
    """How many of what a workload counts it warms up for and is measured for; None: its keys do not
    say it."""

    warmup: int | None
    measure: int | None


@dataclass(frozen=True)
class Load:
    """A message that one of what a workload counts sends from one endpoint to another."""

    source: str
    target: str
    size_bytes: int


class Planned(ABC, Generic[WorkT]):
    """A workload of a plan, as it is told to people."""

    wired: ClassVar[type[wire.Traffic] | type[wire.Published]]
    """What a plan carries."""
    unit: ClassVar[str]
    """What it counts: iterations."""

    @property
    def name(self) -> str:
        """Its kind."""
        return str(self.wired.model_fields["kind"].default)

    def summary(self, run: wire.Run) -> str:
        """Who asks whom."""
        client, server = (
            ", ".join(dict.fromkeys(_group(run.network, name) for name in names))
            for names in (run.workload.roles.client, run.workload.roles.server)
        )
        return f"{self.name}, {client} asks {server}"

    def details(self, runs: Sequence[wire.Run]) -> Iterator[tuple[str, str]]:  # noqa: ARG002
        """What else there is to tell of it: what a line is about, and what it says."""
        yield from ()


def _group(network: wire.Network, endpoint: str) -> str:
    """The group of an endpoint's host; a zone is called by its own name."""
    node = network.node(endpoint.partition("@")[0])
    return node.group if isinstance(node, wire.Host) else node.name


class Lowering(Planned[WireT], Generic[SpecT, WireT]):
    """A workload on its way from a study to the wire, and what carrying it out takes."""

    spec: ClassVar[type[Spec]]
    """What a study writes."""

    def left_out(self, spec: SpecT, study: Study, path: Path) -> Iterator[str]:  # noqa: ARG002
        """What no testbed of this version carries out of it, one sentence each."""
        yield from ()

    def not_run(self, spec: SpecT, study: Study, path: Path) -> Iterator[str]:  # noqa: ARG002
        """What a plan carries and no testbed of this version carries out, one sentence each."""
        yield from ()

    @abstractmethod
    def roles(self, spec: SpecT, topology: Topology, path: Path) -> Roles:
        """Who asks and who answers; `path` leads to the workload."""

    @abstractmethod
    def lower(self, spec: SpecT, roles: wire.Roles, path: Path, refuse: Refuse) -> WireT:
        """The workload on the wire, with no reference left in `spec`."""

    @abstractmethod
    def counts(self, spec: SpecT) -> Counts:
        """What its keys say of warm-up and measuring phase."""

    @abstractmethod
    def loads(self, work: WireT) -> Iterator[Load]:
        """The messages of one of what it counts, those of all connections."""

    def waiting_ns(self, work: WireT, routes: Routes) -> float:  # noqa: ARG002
        """Time that one of what it counts takes at least, however fast the links are."""
        return 0.0

    @abstractmethod
    def sample_bytes(self, work: WireT, count: float, seconds: float) -> float:
        """Size of what a record tells of that many of what it counts, in that time, at most."""
