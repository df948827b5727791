"""Bulk transfer on its way to the wire: see netstudy.study.workloads.transfer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netstudy import wire
from netstudy.documents.problems import Path
from netstudy.plan.network import Refuse
from netstudy.plan.paths import Routes
from netstudy.plan.workloads.base import Counts, Load, Lowering, Roles
from netstudy.study import Study, level_text
from netstudy.study.references import concrete
from netstudy.study.topology import Topology
from netstudy.study.workloads.transfer import Transfer

_NOMINAL_BYTES = 1_000_000
"""Assumed size of a transfer without a size."""
_TRANSFER_BYTES = 60
"""Most bytes of one transfer in a record: five numbers and their commas, rounded up."""
_SECOND_BYTES = 40
"""Size of a second of a connection in a record."""

_CARRIED_OUT: Mapping[str, tuple[str, ...]] = {
    "protocol": ("tcp",),
    "from": (),
    "to": ("null",),
    "data path": (),
}
"""Key -> the supported levels: data are generated in memory, sent by TCP, and discarded."""
_FIELDS = {"from": "from_", "data path": "data_path"}


class TransferLowering(Lowering[Transfer, wire.Transfer]):
    """Transfers of each flow, one after the other."""

    spec = Transfer
    wired = wire.Transfer
    unit = "transfers"

    def left_out(self, spec: Transfer, study: Study, path: Path) -> Iterator[str]:
        """Other protocols than plain TCP, files, and the servers' ways to read them."""
        for key, levels in _CARRIED_OUT.items():
            value = getattr(spec, _FIELDS.get(key, key))
            found = [level_text(level) for _, level in study.levels_at((*path, key), value)]
            other = list(dict.fromkeys(level for level in found if level not in levels))
            if other:
                yield f"A transfer with {key}: {' or '.join(other)} is not carried out yet."

    def roles(self, spec: Transfer, topology: Topology, path: Path) -> Roles:
        """Named hosts, or those of a placement: the receiver of a get is the client."""
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

    def lower(
        self,
        spec: Transfer,
        roles: wire.Roles,
        path: Path,  # noqa: ARG002
        refuse: Refuse,  # noqa: ARG002
    ) -> wire.Transfer:
        """Every value of the study fits the wire."""
        return wire.Transfer(
            roles=roles,
            direction=concrete(spec.direction),
            size_bytes=concrete(spec.size),
            flows=concrete(spec.flows),
            request_bytes=concrete(spec.request),
            pause_ns=concrete(spec.pause),
        )

    def counts(self, spec: Transfer) -> Counts:
        """The transfers of each flow."""
        return Counts(concrete(spec.warmup), concrete(spec.repeats))

    def loads(self, work: wire.Transfer) -> Iterator[Load]:
        """A transfer of each flow, in each of its directions."""
        size = work.size_bytes or _NOMINAL_BYTES
        for client, server in work.connected:
            if "server" in work.sending:
                yield Load(server, client, size)
            if "client" in work.sending:
                yield Load(client, server, size)

    def waiting_ns(self, work: wire.Transfer, routes: Routes) -> float:  # noqa: ARG002
        """The pause between two transfers."""
        return float(work.pause_ns)

    def sample_bytes(self, work: wire.Transfer, count: float, seconds: float) -> float:
        """A row for each transfer, and one for each connection and second."""
        transfers = count if work.size_bytes is not None else 1
        return len(list(work.connected)) * (transfers * _TRANSFER_BYTES + seconds * _SECOND_BYTES)
