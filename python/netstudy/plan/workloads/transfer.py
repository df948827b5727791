"""Converts bulk transfer to the wire: see netstudy.study.workloads.transfer."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire
from netstudy.documents.problems import Path
from netstudy.plan.paths import Routes
from netstudy.plan.workloads.base import (
    Context,
    Counts,
    Files,
    Load,
    Lowering,
    Roles,
    pair_count,
)
from netstudy.study import Study
from netstudy.study.references import concrete
from netstudy.study.topology import Topology
from netstudy.study.workloads.transfer import Transfer

_NOMINAL_BYTES = 1_000_000
"""Assumed size of a transfer without a size."""
_TRANSFER_BYTES = 60
"""The most bytes of one transfer in a record: five numbers and their commas, rounded up."""
_SECOND_BYTES = 40
"""Size of a row of the table of seconds in a record."""


class TransferLowering(Lowering[Transfer, wire.Transfer]):
    """Transfers of each flow, one after the other."""

    spec = Transfer
    wired = wire.Transfer
    unit = "transfers"

    def not_simulated(self, spec: Transfer, study: Study, path: Path) -> Iterator[str]:
        """A probe during FTP transfers, which other testbeds refuse, too."""
        levels = study.levels_at((*path, "protocol"), spec.protocol)
        if study.workload.probe is not None and any(level == "ftp" for _, level in levels):
            yield "A probe cannot run during FTP transfers; leave out the probe."

    def roles(self, spec: Transfer, topology: Topology, path: Path) -> Roles:
        """The hosts that the study names, or the hosts of a placement; in a get, the receiver is
        the client."""
        placed = concrete(spec.placement)
        if placed is None:
            return Roles(spec.clients, spec.servers, (*path, "clients"), (*path, "servers"))
        place, at = topology.placement[placed], ("topology", "placement", placed)
        sender, receiver = (place.sender, (*at, "sender")), (place.receiver, (*at, "receiver"))
        gets = concrete(spec.direction) == "get"
        (client, client_path), (server, server_path) = (
            (receiver, sender) if gets else (sender, receiver)
        )
        return Roles(client, server, client_path, server_path)

    def lower(self, spec: Transfer, roles: wire.Roles, context: Context) -> wire.Transfer:
        """Converts the workload. Refuses file keys without FTP, and keys that FTP does not
        support."""
        by_ftp = concrete(spec.protocol) == "ftp"
        for key, why in _ftp_problems(spec) if by_ftp else _tcp_problems(spec):
            context.refuse((*context.path, key), why)
        return wire.Transfer(
            roles=roles,
            direction=concrete(spec.direction),
            size_bytes=concrete(spec.size),
            flows=concrete(spec.flows),
            request_bytes=concrete(spec.request),
            pause_ns=concrete(spec.pause),
            ftp=_ftp(spec) if by_ftp else None,
        )

    def counts(self, spec: Transfer) -> Counts:
        """The transfers of each flow."""
        return Counts(concrete(spec.warmup), concrete(spec.repeats))

    def connections(self, work: wire.Transfer) -> int:
        """The flows of all pairs."""
        return pair_count(work) * work.flows

    def started(self, work: wire.Transfer, starts_ns: tuple[int, ...]) -> wire.Transfer:
        """See Lowering.started."""
        return work.model_copy(update={"starts_ns": starts_ns})

    def loads(self, work: wire.Transfer) -> Iterator[Load]:
        """A transfer of each flow, in each direction that the workload uses."""
        size = work.size_bytes or _NOMINAL_BYTES
        for client, server in work.roles.pairs:
            if "server" in work.sending:
                yield Load(server, client, size, work.flows)
            if "client" in work.sending:
                yield Load(client, server, size, work.flows)

    def files(self, work: wire.Transfer) -> Files:
        """The files of FTP; a plain transfer has none."""
        ftp = work.ftp
        if ftp is None:
            return Files()
        return Files(
            reads=ftp.source != "memory",
            sendfile=ftp.data_path == "sendfile",
            from_cache=ftp.source == "cache",
            from_disk=ftp.source == "disk",
            stores=ftp.sink != "null",
            to_disk=ftp.sink in ("disk", "synced disk"),
        )

    def waiting_ns(self, work: wire.Transfer, routes: Routes) -> float:  # noqa: ARG002
        """The pause between two transfers."""
        return float(work.pause_ns)

    def samples_per_count(self, work: wire.Transfer) -> int:
        """A transfer of each flow."""
        return self.connections(work)

    def sample_bytes(self, work: wire.Transfer, count: float, seconds: float) -> float:
        """A row for each transfer, and one for each connection and second."""
        transfers = count if work.size_bytes is not None else 1
        return self.connections(work) * (transfers * _TRANSFER_BYTES + seconds * _SECOND_BYTES)


def _ftp(spec: Transfer) -> wire.Ftp:
    source, data_path = concrete(spec.from_), concrete(spec.data_path)
    return wire.Ftp(
        source="memory" if source is None else source,
        sink=concrete(spec.to),
        data_path="copying" if data_path is None else data_path,
    )


def _tcp_problems(spec: Transfer) -> Iterator[tuple[str, str]]:
    """Settings that only transfers of files have: each key, and why it is refused."""
    given = {"from": spec.from_, "data path": spec.data_path}
    for key, value in given.items():
        if concrete(value) is not None:
            yield (
                key,
                "is only for files, and protocol tcp has none; write protocol: ftp, or leave it "
                "out",
            )
    if concrete(spec.to) != "null":
        yield (
            "to",
            "is only for files, and protocol tcp has none; write protocol: ftp, or to: 'null'",
        )


def _ftp_problems(spec: Transfer) -> Iterator[tuple[str, str]]:
    """Settings that FTP does not support: each key, and why it is refused."""
    if concrete(spec.size) is None:
        yield "protocol", "ftp carries files, which have a size; write size"
    if concrete(spec.direction) == "both":
        yield "direction", "ftp carries a file one way; write get or put"
    if "request" in spec.model_fields_set:
        yield "request", "ftp has requests of its own; leave it out"
    if concrete(spec.data_path) == "sendfile" and concrete(spec.from_) is None:
        yield "data path", "sendfile sends a file; write from: ram, cache or disk"
