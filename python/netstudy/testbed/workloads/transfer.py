"""Transfers on real hosts: over plain TCP (from the server, to the server, or both at once), and
files by FTP."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Literal

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.accounts.account import Unit, single, together
from netstudy.testbed.real.accounts.bounds import Bounds, Part, at_most, either, summed
from netstudy.testbed.real.accounts.sending import Network
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.real.counters import machine_growth
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.workloads.base import (
    DISK_FOLDER,
    RAM_FOLDER,
    Traffic,
    connection_samples,
    histograms,
    if_comparable,
    phase_ns,
    seconds,
    until,
)


class TransferTraffic(Traffic[wire.Transfer]):
    """Each pair has as many connections as the plan has flows for it."""

    wired = wire.Transfer

    def client(
        self,
        run: wire.Run,
        spec: AgentSpec,
    ) -> agent_wire.TransferClient | agent_wire.FtpClient:
        """See Traffic.client."""
        work = _work(run)
        if work.ftp is not None:
            return agent_wire.FtpClient(
                direction=_way(work),
                size_bytes=_file_bytes(work),
                path="data" if work.direction == "get" else "upload",
                store=_store(work.ftp, "client" in work.sending),
                data_path=_data_path(work.ftp, "client" in work.sending),
                pause_ns=work.pause_ns,
                warmup=until(run, "warm-up"),
                measure=until(run, "measure"),
            )
        return agent_wire.TransferClient(
            direction=work.direction,
            size=_size(run),
            request_bytes=work.request_bytes,
            pause_ns=work.pause_ns,
            starts_ns=tuple(work.starts_ns[row] for row in spec.own) if work.starts_ns else (),
            warmup=until(run, "warm-up"),
            measure=until(run, "measure"),
        )

    def server(
        self,
        run: wire.Run,
        spec: AgentSpec,  # noqa: ARG002
    ) -> agent_wire.TransferServer | agent_wire.FtpServer:
        """See Traffic.server."""
        work = _work(run)
        if work.ftp is not None:
            return agent_wire.FtpServer(
                direction=_way(work),
                size_bytes=_file_bytes(work),
                store=_store(work.ftp, "server" in work.sending),
                data_path=_data_path(work.ftp, "server" in work.sending),
            )
        return agent_wire.TransferServer(
            direction=work.direction, size=_size(run), request_bytes=work.request_bytes
        )

    def unsupported(self, run: wire.Run) -> Iterator[str]:
        """See Traffic.unsupported."""
        if _work(run).ftp is not None and run.probe is not None:
            yield "A probe cannot run during FTP transfers; leave out the probe."
        timed = isinstance(run.until("measure"), wire.UntilTime)
        if _work(run).size_bytes is None and (not timed or run.count("warm-up")):
            yield "A transfer without a size lasts for the time of its phases: give them times."

    def folders(self, work: wire.Transfer) -> frozenset[str]:
        """See Traffic.folders."""
        if work.ftp is None:
            return frozenset()
        stores = (_store(work.ftp, sends) for sends in (True, False))
        return frozenset(one.folder for one in stores if one.kind == "folder")

    def is_all_payload(self, work: wire.Transfer) -> bool:
        """See Traffic.is_all_payload: FTP sessions also carry commands and replies, and open
        connections for files."""
        return work.ftp is None

    def counted(self, work: wire.Transfer) -> int:
        """See Traffic.counted: one transfer on each connection."""
        return sum(1 for _ in work.connected)

    def resized(self, work: wire.Transfer, share: float) -> wire.Transfer:
        """See Traffic.resized. Files are generated in memory and discarded, since a disk says
        nothing about the network."""
        size = work.size_bytes and max(round(work.size_bytes * share), 1)
        ftp = work.ftp and wire.Ftp()
        return work.model_copy(update={"size_bytes": size, "pause_ns": 0, "ftp": ftp})

    def longest_wait_ns(self, work: wire.Transfer) -> int:
        """See Traffic.longest_wait_ns: the pause between transfers."""
        return work.pause_ns

    def usual_ns(self, evidence: Evidence) -> float | None:
        """See Traffic.usual_ns."""
        took_ns = [end - start for _, _, start, end, _, _ in _transfers(evidence)]
        return median(took_ns) if took_ns else None

    def samples(self, evidence: Evidence) -> wire.Samples:
        """See Traffic.samples."""
        rows = sorted(
            _transfers(evidence), key=lambda one: (evidence.by_first(one[0], one[3]).low_ns, one[1])
        )
        return wire.Samples(
            time=if_comparable(lambda: _time(evidence, rows)),
            connection=_connections(evidence),
            transfer=wire.TransferSamples(
                connection=tuple(row for _, row, _, _, _, _ in rows),
                start_ns=tuple(start for _, _, start, _, _, _ in rows),
                end_ns=tuple(end for _, _, _, end, _, _ in rows),
                bytes_received=tuple(received for _, _, _, _, received, _ in rows),
                bytes_sent=tuple(sent for _, _, _, _, _, sent in rows),
                first_byte_ns=_first_bytes(evidence, rows),
            ),
            request=histograms(evidence),
            second=seconds(evidence),
        )

    def checks(self, evidence: Evidence) -> Iterator[wire.Check]:
        """See Traffic.checks."""
        work = _work(evidence.run)
        if work.size_bytes is not None:
            yield _whole(evidence, work.size_bytes, work)
        yield _arrived(evidence, work)
        if work.ftp is not None:
            yield from _places(evidence, work.ftp)


_READ, _WRITTEN = "process_bytes_read", "process_bytes_written"
_MAJOR_FAULTS = "process_major_faults"
"""Counters of an agent: bytes that were read from a disk, and written to a disk, on its behalf."""
_INTERVAL_NS = 100_000_000
"""The unit of work of a stream."""
_INSIDE_BPS = 100_000_000_000
"""Assumed rate of a path inside a host."""
_Transfer = tuple[AgentEvidence, int, int, int, int, int]
"""A transfer: the client, the row of the connection, start and end, payload received and sent."""


def _work(run: wire.Run) -> wire.Transfer:
    assert isinstance(run.workload, wire.Transfer)
    return run.workload


def _size(run: wire.Run) -> agent_wire.TransferSize:
    work = _work(run)
    if work.size_bytes is not None:
        return agent_wire.FixedSize(bytes=work.size_bytes)
    return agent_wire.Stream()


def _transfers(evidence: Evidence) -> Iterator[_Transfer]:
    for client in evidence.clients:
        done = client.one(agent_wire.TransfersRecord)
        columns = (
            done.connection,
            done.started_ns,
            done.ended_ns,
            done.bytes_received,
            done.bytes_sent,
        )
        for number, start, end, received, sent in zip(*columns, strict=True):
            yield client, client.spec.rows[number], start, end, received, sent


def _time(evidence: Evidence, rows: list[_Transfer]) -> tuple[wire.TimeAccount, ...]:
    """Accounts of transfers; of streams, one account of all intervals together."""
    network, work = Network(evidence), _work(evidence.run)
    if work.size_bytes is None:
        return together("interval", _intervals(network, rows))
    firsts = _first_bytes(evidence, rows)
    return single(
        "transfer",
        [
            _unit(network, row, start_ns, end_ns, firsts[place] if firsts else None)
            for place, (_, row, start_ns, end_ns, _, _) in enumerate(rows)
        ],
    )


def _unit(network: Network, row: int, start_ns: int, end_ns: int, first_ns: int | None) -> Unit:
    """The time of a transfer. Before the first byte of a file, control and data connections
    exchange small messages."""
    begun_ns = start_ns if first_ns is None else min(max(first_ns, start_ns), end_ns)
    size_bytes = _work(network.evidence.run).size_bytes or 0
    parts = [_carried(network, row, begun_ns, end_ns, size_bytes)]
    if begun_ns > start_ns:
        span = network.by_client(row, start_ns), network.by_client(row, begun_ns)
        parts.append(network.sending(row, "client").exchange(*span))
    disks = _disks(network, row, end_ns - start_ns)
    return Unit(end_ns - start_ns, summed((*parts, disks)), connection=row)


def _intervals(network: Network, rows: list[_Transfer]) -> Unit:
    """The time of streams, which last for the whole phase."""
    spans = [(row, start, end, got + gave) for _, row, start, end, got, gave in rows]
    return Unit(
        whole_ns=sum(end - start for _, start, end, _ in spans),
        parts=summed(_carried(network, *span) for span in spans),
        count=sum(max(round((end - start) / _INTERVAL_NS), 1) for _, start, end, _ in spans),
    )


def _carried(
    network: Network, row: int, start_ns: int, end_ns: int, size_bytes: int
) -> dict[Part, Bounds]:
    """Bounds of the parts of a time in which a connection carried data; in both directions, either
    of which may have been the later one."""
    span = network.by_client(row, start_ns), network.by_client(row, end_ns)
    one, *other = (
        network.sending(row, role).parts(*span, size_bytes) for role in network.evidence.sending
    )
    return either(one, other[0]) if other else one


def _disks(network: Network, row: int, whole_ns: int) -> dict[Part, Bounds]:
    """Waits for disks that a file is read from or written to: at most the time in which a disk of
    the node's machine was busy."""
    ftp, evidence = _work(network.evidence.run).ftp, network.evidence
    if ftp is None:
        return {}
    (role,) = evidence.sending
    sender, receiver = network.ends(row, role)
    places = {sender: ftp.source == "disk", receiver: "disk" in ftp.sink}

    def busy_ns(node: str) -> float:
        return min(1e6 * machine_growth(evidence, node).get("disk_busy_ms", 0), whole_ns)

    return {
        Part("own", "disk", node): at_most(busy_ns(node))
        for node, is_used in places.items()
        if is_used
    }


def _busy_ns(evidence: Evidence) -> dict[int, int]:
    """How long each connection was busy. If the plan counts transfers, this is the time of its
    transfers. If the phase ends after a time, it is the whole phase, since a transfer that was cut
    off at the end has carried bytes too."""
    if isinstance(evidence.run.until("measure"), wire.UntilTime):
        return phase_ns(evidence)
    busy_ns: dict[int, int] = {}
    for _, row, start, end, _, _ in _transfers(evidence):
        busy_ns[row] = busy_ns.get(row, 0) + end - start
    return busy_ns


def _whole(evidence: Evidence, size: int, work: wire.Transfer) -> wire.Check:
    """Checks the size of each transfer in the measuring phase, and the number of transfers if the
    plan gives one."""
    receives, sends = "server" in work.sending, "client" in work.sending
    found = list(_transfers(evidence))
    wrong = [
        row
        for _, row, _, _, received, sent in found
        if (received, sent) != (size * receives, size * sends)
    ]
    count = evidence.run.count("measure")
    planned = count * len(evidence.specs.workload) if count else len(found)
    return wire.Check(
        law="every transfer is whole, and every byte of it is the one that was sent",
        holds=not wrong and len(found) == planned,
        detail=f"{len(found)} of {planned} transfers of {size} B, {len(wrong)} of another size",
    )


def _arrived(evidence: Evidence, work: wire.Transfer) -> wire.Check:
    """Checks that the bytes sent by the applications at one end in the measuring phase equal the
    bytes verified at the other end, and that they include at least the payload of the transfers and
    their requests."""
    sent = received = payload = 0
    for row in evidence.specs.workload:
        got, gave, _ = evidence.connection_growth(row, "client")
        other_got, other_gave, _ = evidence.connection_growth(row, "server")
        sent, received = sent + gave + other_gave, received + got + other_got
    payload = sum(one[4] + one[5] for one in _transfers(evidence))
    has_requests = work.ftp is None and work.size_bytes is not None and work.direction != "both"
    least = payload + 1 if has_requests else payload
    return wire.Check(
        law="every byte that one application sends the other one receives and verifies",
        holds=sent == received and received >= least,
        detail=f"sent {sent} B, verified {received} B, of which {payload} B in transfers",
    )


def _way(work: wire.Transfer) -> Literal["get", "put"]:
    assert work.direction != "both", "a plan of files by FTP has one way"
    return work.direction


def _file_bytes(work: wire.Transfer) -> int:
    assert work.size_bytes is not None, "a plan of files by FTP has their size"
    return work.size_bytes


def _data_path(ftp: wire.Ftp, sends: bool) -> agent_wire.DataPath:
    return ftp.data_path if sends else "copying"


def _store(ftp: wire.Ftp, sends: bool) -> agent_wire.FileStore:
    """Where one end has the file, or writes it."""
    if sends:
        if ftp.source == "memory":
            return agent_wire.MemoryStore()
        folder = RAM_FOLDER if ftp.source == "ram" else DISK_FOLDER
        return agent_wire.FolderStore(folder=folder, place=ftp.source)
    if ftp.sink == "null":
        return agent_wire.MemoryStore()
    if ftp.sink == "ram":
        return agent_wire.FolderStore(folder=RAM_FOLDER, place="ram")
    synced = ftp.sink == "synced disk"
    return agent_wire.FolderStore(folder=DISK_FOLDER, place="cache", synced=synced)


def _connections(evidence: Evidence) -> wire.ConnectionSamples:
    table = connection_samples(evidence, _busy_ns(evidence))
    if _work(evidence.run).ftp is None:
        return table
    parts: dict[int, tuple[int, int]] = {}
    for client in evidence.clients:
        done = client.one(agent_wire.SessionsRecord)
        columns = zip(done.connection, done.connect_ns, done.login_ns, strict=True)
        for number, connect_ns, login_ns in columns:
            parts[client.spec.rows[number]] = (connect_ns, login_ns)
    missing = [row for row in evidence.specs.workload if row not in parts]
    if missing:
        raise LookupError(f"the log-ins of connections {missing} were not recorded")
    each = [parts[row] for row in evidence.specs.workload]
    connect, login = zip(*each, strict=True)
    return table.model_copy(update={"connect_ns": connect, "login_ns": login})


def _first_bytes(evidence: Evidence, rows: list[_Transfer]) -> tuple[int, ...] | None:
    """Arrival of the first byte of each transfer, in the order of the rows; None: the transfers are
    not files."""
    if _work(evidence.run).ftp is None:
        return None
    found: dict[tuple[int, int], int] = {}
    for client in evidence.clients:
        done = client.one(agent_wire.TransfersRecord)
        firsts = done.first_byte_ns or ()
        columns = zip(done.connection, done.started_ns, firsts, strict=True)
        for number, started_ns, first_ns in columns:
            found[client.spec.rows[number], started_ns] = first_ns
    return tuple(found[one[1], one[2]] for one in rows)


def _places(evidence: Evidence, ftp: wire.Ftp) -> Iterator[wire.Check]:
    """Checks that files were read from and written to the medium that the plan says. The evidence
    is the disk traffic that the kernel charges to the processes (/proc/pid/io): none for the page
    cache and a RAM disk. If the kernel has dropped pages of a file meanwhile, the file was not in
    the page cache. The kernel also charges the loading of the program's own pages. The program has
    read these pages beforehand; the detail of the check gives the number of pages that were dropped
    since."""
    sends = "server" in evidence.sending
    senders, receivers = evidence.servers, evidence.clients
    if not sends:
        senders, receivers = receivers, senders
    moved = sum(one[4] + one[5] for one in _transfers(evidence))
    if ftp.source == "disk":
        yield _place("every file is read from the disk", senders, _READ, least=moved)
    elif ftp.source != "memory":
        yield _place("no file is read from a disk", senders, _READ, most=0)
    if ftp.sink in ("disk", "synced disk"):
        yield _place("every file is written to the disk", receivers, _WRITTEN, least=moved)
    else:
        yield _place("no file is written to a disk", receivers, _WRITTEN, most=0)


def _grown(agents: list[AgentEvidence], name: str) -> int:
    """Growth of a counter in the measuring phase, summed over the processes of these agents."""
    total = 0
    for agent in agents:
        edges = [agent.snapshots[edge].counters for edge in (wire.MEASURE_START, wire.MEASURE_END)]
        if any(name not in edge for edge in edges):
            raise LookupError(f"{agent.host}: the kernel does not tell {name} (/proc/pid/io)")
        total += edges[1][name] - edges[0][name]
    return total


def _place(
    law: str, agents: list[AgentEvidence], name: str, *, least: int = 0, most: int | None = None
) -> wire.Check:
    found = _grown(agents, name)
    bound = f"at least {least}" if most is None else f"at most {most}"
    detail = f"{found} B by what the kernel charges to the processes, {bound} B"
    if faults := _grown(agents, _MAJOR_FAULTS):
        detail += f"; {faults} pages of programs were read again from the disk (major faults)"
    return wire.Check(
        law=law, holds=found >= least and (most is None or found <= most), detail=detail
    )
