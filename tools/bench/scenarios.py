"""The scenarios of the benchmarks, as runs of netstudy's own studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from netstudy import buffers, wire
from netstudy.errors import TestbedError
from netstudy.plan import make_plan, useful_packets
from netstudy.plan_lines import plan_bytes
from netstudy.study import load
from netstudy.testbed.engine import find_engine
from tools.bench import usage

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benches/peers"
INCAST = ROOT / "studies/incast"
INCAST_SERVERS = 23
CONFORMANCE = ROOT / "studies/conformance"

_RECORD: TypeAdapter[wire.Record] = TypeAdapter(wire.Record)


def peers(seed: int = 1) -> list[wire.Run]:
    """The incast that other simulators can also express: one run per cell, in the order of the
    study."""
    return _first_replicates(PEERS, seed, {})


def dumbbell(seed: int = 1) -> list[wire.Run]:
    """The second scenario that other simulators can also express: transfers over a link that all
    share."""
    return runs(PEERS / "dumbbell.yaml", seed)


def incast() -> list[wire.Run]:
    """The two switches of the incast study with their calibrated hosts, with the largest number of
    servers."""
    return _first_replicates(INCAST, 1, {"servers": [str(INCAST_SERVERS)]})


def runs(study: Path, seed: int) -> list[wire.Run]:
    """The first run of each cell of a study."""
    return _first_replicates(study, seed, {})


def first_of(study: Path) -> wire.Run:
    """The first run of a study."""
    return runs(study, 1)[0]


def _first_replicates(study: Path, seed: int, only: dict[str, list[str]]) -> list[wire.Run]:
    planned = make_plan(load(study), seed=seed, only=only)
    runs = {run.id: run for run in planned.plan.runs}
    return [runs[cell.run_ids[0]] for cell in planned.cells]


def with_iterations(run: wire.Run, iterations: int) -> wire.Run:
    """The run with the given number of iterations and no warm-up."""
    measure = wire.Phase(kind="measure", until=wire.UntilCount(count=iterations))
    return replace(run, phases=(measure,))


def with_servers(run: wire.Run, servers: int) -> wire.Run:
    """The run with the given number of servers, each like the last server of the run."""
    network, roles = run.network, run.workload.roles
    like = roles.server[-1]
    (link,) = (link for link in network.links if link.a.node == like)
    names = [f"server-{number}" for number in range(1, servers + 1)]
    others = [node for node in network.nodes if node.name not in roles.server]
    nodes = [_with_ports(node, servers + 1) for node in others]
    links = tuple(one for one in network.links if one.a.node not in roles.server)
    changed = network.model_copy(
        update={
            "nodes": (*(wire.Host(name=name, group="server") for name in names), *nodes),
            "links": links + tuple(_link_of(link, name) for name in names),
        }
    )
    asked = roles.model_copy(update={"server": tuple(names)})
    workload = run.workload.model_copy(update={"roles": asked})
    return replace(run, network=changed, workload=workload)


def _with_ports(node: wire.Node, ports: int) -> wire.Node:
    if not isinstance(node, wire.Switch):
        return node
    return node.model_copy(update={"ports": max(node.ports, ports)})


def _link_of(like: wire.Link, server: str) -> wire.Link:
    ends = {
        "a": like.a.model_copy(update={"node": server}),
        "b": like.b.model_copy(update={"name": server}),
    }
    return like.model_copy(update=ends)


def with_deep_buffer(run: wire.Run, port_buffer_bytes: int, block_bytes: int) -> wire.Run:
    """The run with the given buffer per port and the given block, so that even very many flows
    finish."""
    buffer = buffers.OutputQueued(port_buffer_bytes=port_buffer_bytes)
    nodes = tuple(
        node.model_copy(update={"buffer": buffer}) if isinstance(node, wire.Switch) else node
        for node in run.network.nodes
    )
    return replace(
        run,
        network=run.network.model_copy(update={"nodes": nodes}),
        workload=run.workload.model_copy(update={"block_bytes": block_bytes}),
    )


def with_hosts(run: wire.Run, tcp: wire.Tcp, nic: Mapping[str, object]) -> wire.Run:
    """The run in which every host has the given TCP and the given settings of its interface."""
    groups = tuple(
        group.model_copy(update={"tcp": tcp, "nic": group.nic.model_copy(update=nic)})
        for group in run.network.groups
    )
    return replace(run, network=run.network.model_copy(update={"groups": groups}))


def filled(run: wire.Run, packets: int) -> wire.Run:
    """The run with the number of iterations that comes closest to the given number of useful
    packets."""
    return with_iterations(run, iterations_for(useful_packets(with_iterations(run, 1)), packets))


def iterations_for(packets_per_iteration: int, packets: int) -> int:
    """The number of iterations that comes closest to `packets` packets; at least one."""
    return max(1, round(packets / packets_per_iteration))


def engine_job(runs: Sequence[wire.Run], threads: int = 1) -> usage.Job:
    """A job that runs the engine with a plan of these runs."""
    plan = wire.Plan("bench", 1, tuple(runs))
    command = (str(find_engine()), "sim", f"--threads={threads}")
    return usage.Job(command, plan_bytes(plan).decode())


def run_records(output: str) -> list[wire.RunRecord]:
    """The engine's run records. Raises TestbedError if a run failed or breaks a law."""
    records = [_RECORD.validate_json(line) for line in output.splitlines()]
    runs = [record for record in records if isinstance(record, wire.RunRecord)]
    for run in runs:
        if run.status != "ok":
            raise TestbedError(
                f"the run {run.treatment} is {run.status}: {run.error or run.checks}"
            )
    return runs


def simulate(runs: Sequence[wire.Run], threads: int = 1) -> usage.Usage:
    """Simulates these runs and returns the engine's usage; all runs must succeed."""
    used = usage.run(engine_job(runs, threads))
    run_records(used.output)
    return used


def name(run: wire.Run) -> str:
    """The treatment of the run as text, such as `mtu=9000 servers=23`."""
    return " ".join(f"{factor}={level}" for factor, level in run.treatment.items())
