"""Records of downloads by several clients through one switch, with counters planted by hand.

A star at 1 Gbit/s: frames of 1,518 bytes, as switches count them, which take 1,538 on the wire. A
measuring phase of two seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.conclusions import concluded_points
from netstudy.wire import (
    ConnectionSamples,
    PhaseTimes,
    Readings,
    Run,
    RunRecord,
    Samples,
)
from tests.report.accounts import Shares, accounts
from tests.report.results import from_text
from tests.report.synthetic import edges, nodes

SECONDS = 2
NS = 1_000_000_000
FRAME = 1518
ON_THE_WIRE = 1538

STUDY = """\
study: loaded
question: What is the limit?
factors:
  sink: [{name: "null", request: 64 B}, {name: disk, request: 65 B}] # stands for two sinks
  clients: CLIENTS
topology:
  hosts:
    server: {profile: host-1g}
    client: {profile: host-1g, count: "${clients}"}
    monitor: {unused: true}
  switch: generic-deep
  link: {rate: 1 Gbit/s}
workload:
  transfer: {request: "${sink.request}"}
procedure: {measure: 2 s}
replicates: 3
noise: 2 %
"""


@dataclass(frozen=True)
class Load:
    """What a run counts."""

    mbps: float
    """Of frames that the switch receives from the server."""
    server_cpu: float = 0.3
    """Share of the server's CPUs."""
    client_cpu: float | Mapping[str, float] = 0.2
    cpus: float = 1.0
    """CPUs of each host."""
    wasted: float = 0.0
    """Share of the bytes that the receivers get twice."""
    dropped: int = 0
    """Frames at the port to the first client."""
    waits: Mapping[str, float] = field(default_factory=dict)
    """Column of the table of connections -> share of the time of each sender."""
    more: Mapping[str, Readings] = field(default_factory=dict)
    """Further counters of nodes."""
    cause: Shares = field(default_factory=dict)
    """Share of the time of ten intervals of 100 ms, or its bounds, in both views of the account;
    empty: the run has none."""


def record(run: Run, load: Load) -> RunRecord:
    """A run with that load, shared evenly by its clients."""
    clients = run.workload.roles.client
    total = round(load.mbps * 1e6 / 8 * SECONDS)
    each = total // len(clients)
    known = nodes(run, "machine")
    known = {
        name: one.model_copy(update={"cpus": load.cpus}) if one.kind == "host" else one
        for name, one in known.items()
    }
    counters: dict[str, Readings] = {"server": _cpu(load.server_cpu, load.cpus)}
    for name in clients:
        share = load.client_cpu if isinstance(load.client_cpu, float) else load.client_cpu[name]
        counters[name] = _cpu(share, load.cpus)
    for name, readings in load.more.items():
        counters[name] = counters.get(name, {}) | readings
    to_clients = {
        name: _port(out=each, dropped=load.dropped if name == clients[0] else 0) for name in clients
    }
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="ok",
        nodes=known,
        phases=(PhaseTimes(kind="measure", start_ns=0, end_ns=SECONDS * NS),),
        samples=Samples(
            connection=ConnectionSamples(
                client=clients,
                server=("server",) * len(clients),
                bytes_received=(round(each * (1 - load.wasted)) * 1448 // FRAME,) * len(clients),
                bytes_sent=(0,) * len(clients),
                busy_ns=(SECONDS * NS,) * len(clients),
                retransmissions=(0,) * len(clients),
                timeouts=(0,) * len(clients),
                **{
                    name: (round(share * SECONDS * NS),) * len(clients)
                    for name, share in load.waits.items()
                },
            ),
            time=accounts("interval", 1e12, load.cause, units=10),
        ),
        edges=edges(0, SECONDS * NS),
        counters=counters,
        ports={
            "switch": {"server": _port(in_=total), "monitor": _port(), **to_clients},
            "server": {"eth0": _interface(total)},
        },
    )


def _cpu(share: float, cpus: float) -> Readings:
    return {"host_cpu_ns": (5, 5 + round(share * cpus * SECONDS * NS))}


def _port(in_: int = 0, out: int = 0, dropped: int = 0) -> Readings:
    return {
        "bytes_received": (0, in_),
        "frames_received": (0, in_ // FRAME),
        "bytes_forwarded": (0, out),
        "frames_forwarded": (0, out // FRAME),
        "frames_dropped": (0, dropped),
    }


def _interface(sent: int) -> Readings:
    return {
        "interface_bytes_sent": (0, sent),
        "interface_bytes_received": (0, 0),
        "interface_packets_sent": (0, sent // FRAME),
        "interface_packets_received": (0, 0),
    }


Loads = Callable[[Run], Load]


def concluding(
    folder: Path, conclusions: str, loads: Loads, clients: str = "[1, 2, 4, 5]"
) -> StudyResult:
    """The study with these conclusions, and runs that carry these loads."""
    text = STUDY.replace("CLIENTS", clients) + f"conclude: {conclusions}\n"
    return analyse(from_text(folder, text, maker=lambda run: record(run, loads(run))))


def told(result: StudyResult) -> list[str]:
    """All sentences of the conclusions."""
    points = concluded_points(result)
    return [str(one).replace("\u00a0", " ") for point in points for one in point.sentences]
