"""Bulk transfer: pairs of hosts move bytes, one transfer after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netstudy.documents.fields import (
    Choice,
    Count,
    Count0,
    Pause,
    PositiveSize,
    Ref,
    Typed,
    Words,
)
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, Problem
from netstudy.study.places import Place, PlaceValue
from netstudy.study.references import concrete
from netstudy.study.workloads.base import (
    LOSSES_PER_RUN,
    STATISTICS,
    MetricWords,
    Spec,
    Surroundings,
    WorkloadMetric,
)

Protocol = Annotated[str | Ref, Typed(Choice(("tcp", "ftp"), "a protocol"))]
Direction = Annotated[
    Literal["get", "put", "both"] | Ref, Typed(Choice(("get", "put", "both"), "a direction"))
]
Source = Annotated[
    Literal["ram", "cache", "disk"] | Ref,
    Typed(Choice(("ram", "cache", "disk"), "a place that data come from")),
]
Sink = Annotated[
    Literal["ram", "disk", "synced disk", "null"] | Ref,
    Typed(Choice(("ram", "disk", "synced disk", "null"), "a place that data go to")),
]
DataPath = Annotated[
    Literal["copying", "sendfile"] | Ref, Typed(Choice(("copying", "sendfile"), "a data path"))
]


class Transfer(Spec):
    """Each pair of client and server moves bytes, one transfer after the other, on connections that
    stay open. With FTP it moves files, each on a data connection of its own."""

    words: ClassVar[MetricWords] = MetricWords(
        metrics={
            "goodput_mbps": WorkloadMetric("application bytes moved, as a rate", by_second=True),
            "goodput_get_mbps": WorkloadMetric(
                "application bytes from the servers, as a rate, where bytes go both ways"
            ),
            "goodput_put_mbps": WorkloadMetric(
                "application bytes to the servers, as a rate, where bytes go both ways"
            ),
            "transfer_s": WorkloadMetric("time of one transfer", STATISTICS, samples="each"),
            "first_byte_ms": WorkloadMetric(
                "time from the command for a file to its first byte, by FTP",
                STATISTICS,
                samples="each",
            ),
            "connect_ms": WorkloadMetric("time to open a control connection, by FTP", ("mean",)),
            "login_ms": WorkloadMetric("time to log in, by FTP", ("mean",)),
            "fairness_index": WorkloadMetric(
                "equality of the goodputs of the connections (Jain's index)"
            ),
            "moved_mb_per_run": WorkloadMetric("application bytes of a run"),
            "drops_per_gb": WorkloadMetric("frames that switches dropped, by the bytes moved"),
            "retransmissions_per_gb": WorkloadMetric("segments sent again, by the bytes moved"),
            "timeouts_per_gb": WorkloadMetric(
                "retransmission timers that fired, by the bytes moved"
            ),
            **LOSSES_PER_RUN,
        },
        figures={
            "goodput": "goodput",
            "goodput_get": "goodput from the servers",
            "goodput_put": "goodput to the servers",
            "transfer": "mean transfer time",
            "transfer_p50": "median transfer time",
            "transfer_p99": "99th percentile of the transfer time",
            "first_byte": "mean time to the first byte of a file",
            "first_byte_p50": "median time to the first byte of a file",
            "first_byte_p99": "99th percentile of the time to the first byte of a file",
            "connect": "mean time to open a control connection",
            "login": "mean time to log in",
            "fairness": "fairness index of the connections",
            "moved": "bytes moved in a run",
            "drops": "dropped packets a GB",
            "retransmissions": "retransmissions a GB",
            "timeouts": "timeouts a GB",
            "drops_per_run": "dropped packets in a run",
            "retransmissions_per_run": "retransmissions in a run",
            "timeouts_per_run": "timeouts in a run",
        },
    )
    counted: ClassVar[str] = "repeats"
    timed: ClassVar[bool] = True
    spreads: ClassVar[bool] = True

    clients: PlaceValue = Place("client")
    """The hosts that ask for transfers."""
    servers: PlaceValue = Place("server")
    """The hosts that the clients ask. The first client asks the first server, the second client the
    second server, and so on; the smaller group is used again in turn."""
    placement: Words | None = None
    """A placement of the topology that names both ends, in place of `clients` and `servers`."""
    protocol: Protocol = "tcp"
    """`tcp`: a request of some bytes, then the data, on a connection of its own that stays open.
    `ftp`: files by the file transfer protocol. Each flow is a session that logs in before the
    warm-up, and each transfer has a passive data connection of its own."""
    direction: Direction = "get"
    """`get`: from the server; `put`: to the server; `both` ways at once on the same connection."""
    size: PositiveSize | None = None
    """Bytes of a transfer, in each direction; by default, a transfer lasts as long as
    `procedure.measure`."""
    flows: Count = 1
    """Number of connections of each pair, all used at the same time."""
    repeats: Count | None = None
    """Number of measured transfers of each flow, one after the other; by default one, unless
    `procedure.measure` gives a duration."""
    warmup: Count0 | None = None
    """Number of warm-up transfers of each flow, which are not measured."""
    pause: Pause = 0
    """Time between the end of a transfer and the start of the next one of the same flow."""
    request: PositiveSize = 64
    """Size of the request for a transfer, and of the answer that confirms a transfer; FTP has its
    own messages."""
    from_: Source | None = Field(default=None, alias="from")
    """Where the sender of an FTP transfer has the file. `ram`: on a RAM disk. `cache`: on a disk
    and in the page cache, which is checked. `disk`: on a disk, from which each transfer reads it.
    By default, the bytes are generated in memory."""
    to: Sink = "null"
    """Where the receiver of an FTP transfer puts the file. `ram`: on a RAM disk. `disk`: on a disk.
    `synced disk`: on a disk, with fsync before the transfer ends, which then lasts longer. `null`:
    nowhere."""
    data_path: DataPath | None = Field(default=None, alias="data path")
    """How the sender of an FTP transfer (the server of a get, the client of a put) sends the file:
    `copying`, the default, reads it and writes it to the socket; with `sendfile`, the kernel sends
    it."""

    @property
    def loads(self) -> tuple[object, ...]:
        """The connections of each pair."""
        return (self.flows,)

    @property
    def places(self) -> Mapping[str, Place]:
        """The clients and the servers; empty if a placement gives both ends."""
        return {} if self.placement else {"clients": self.clients, "servers": self.servers}

    @property
    def sample_bytes(self) -> int | None:
        """The size of a transfer; the sum of both directions if data go both ways."""
        size = concrete(self.size)
        return None if size is None else size * (2 if concrete(self.direction) == "both" else 1)

    def problems(self, study: Surroundings, path: Path) -> Iterator[Problem]:
        """Hosts or placements that do not exist, transfers without an end, and settings that have
        no effect on transfers without an end."""
        yield from super().problems(study, path)
        known = study.topology.placement
        for place, name in study.levels_at((*path, "placement"), self.placement):
            if name not in known:
                hint = did_you_mean(str(name), known)
                yield study.document.problem(place, f'no placement "{name}"{hint}')
        if self.placement:
            for key in {"clients", "servers"} & self.model_fields_set:
                message = "conflicts with placement, which names both ends; keep one of the two"
                yield study.document.problem((*path, key), message)
        if self.size is None:
            yield from self._endless_problems(study, path)
        protocols = {level for _, level in study.levels_at((*path, "protocol"), self.protocol)}
        if "ftp" in protocols and study.procedure.start != "together":
            message = "starts all sessions of ftp together; leave it out, or write protocol: tcp"
            yield study.document.problem(("procedure", "start"), message, of_key=True)

    def _endless_problems(self, study: Surroundings, path: Path) -> Iterator[Problem]:
        if study.procedure.measure is None:
            message = "needs a size, or procedure.measure, which says how long it goes on"
            yield study.document.problem(path, message, of_key=True)
        if self.warmup not in (None, 0):
            message = (
                "counts transfers, but a transfer without a size has no end; write procedure.warmup"
            )
            yield study.document.problem((*path, "warmup"), message)
        if "pause" in self.model_fields_set:
            message = "is between two transfers, but a transfer without a size has no end"
            yield study.document.problem((*path, "pause"), message)
