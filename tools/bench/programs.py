"""The simulators that are compared, how each is called, and how its output is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from netstudy import wire
from netstudy.analysis.workloads.incast import dropped_in_all
from netstudy.units import header_bytes
from tools.bench import scenarios
from tools.bench.usage import Job

NS3_PROGRAM = scenarios.ROOT / ".cache/peers/ns3_incast"
NS2_SCRIPT = scenarios.PEERS / "ns2_incast.tcl"


class Sized(Protocol):
    """A cell of a scenario, for which runs of any number of iterations can be made."""

    def packets(self, iterations: int) -> int:
        """Number of useful data packets in the given number of iterations."""
        ...


C = TypeVar("C", bound=Sized)


@dataclass(frozen=True)
class Cell:
    """One size of the incast."""

    mtu: int
    servers: int

    def packets(self, iterations: int) -> int:
        """Number of useful data packets: the full-sized segments that must be carried at least."""
        return (
            self.servers
            * iterations
            * -(-_block_bytes() // (self.mtu - header_bytes(timestamps=True)))
        )


@dataclass(frozen=True)
class Outcome:
    """The result of a simulator: its goodput, and the drops and timeouts in all iterations
    together."""

    goodput_mbps: float
    drops: int
    timeouts: int


@dataclass(frozen=True)
class Program(Generic[C]):
    """A simulator. `packets` is roughly the number of packets that it simulates in two seconds."""

    name: str
    packets: int
    job: Callable[[C, int, int], Job]
    """Makes the job for a cell, a number of iterations and a seed."""
    outcome: Callable[[str], Outcome]
    """Reads the outcome from the program's output."""

    def iterations(self, cell: C) -> int:
        """How many iterations take about two seconds."""
        return scenarios.iterations_for(cell.packets(1), self.packets)


def cells() -> list[Cell]:
    """The cells of the study, in its order."""
    return [
        Cell(int(run.treatment["mtu"]), int(run.treatment["servers"])) for run in scenarios.peers()
    ]


def _block_bytes() -> int:
    incast = scenarios.peers()[0].workload
    assert isinstance(incast, wire.Incast), "the scenario is an incast"
    return incast.block_bytes


def _engine_job(cell: Cell, iterations: int, seed: int) -> Job:
    run = next(
        run
        for run in scenarios.peers(seed)
        if (run.treatment["mtu"], run.treatment["servers"]) == (cell.mtu, cell.servers)
    )
    return scenarios.engine_job([scenarios.with_iterations(run, iterations)])


def _ns3_job(cell: Cell, iterations: int, seed: int) -> Job:
    sizes = (f"--servers={cell.servers}", f"--mtu={cell.mtu}", f"--iterations={iterations}")
    return Job((str(NS3_PROGRAM), *sizes, f"--seed={seed}"))


def _ns2_job(cell: Cell, iterations: int, seed: int) -> Job:
    numbers = (cell.servers, cell.mtu, iterations, seed)
    return Job(("ns", str(NS2_SCRIPT), *map(str, numbers)))


def engine_outcome(output: str) -> Outcome:
    """The outcome in the engine's records of one run."""
    (record,) = scenarios.run_records(output)
    return from_record(record)


def from_record(record: wire.RunRecord) -> Outcome:
    """The outcome in a record. Goodput is a ratio of sums: all bytes divided by all time."""
    assert record.samples.iteration is not None, "a run that is ok has iterations"
    assert record.samples.iteration.timeouts is not None, "the simulator counts timeouts"
    assert record.bytes_received is not None, "a run that is ok has received"
    drops = dropped_in_all(record)
    assert drops is not None, "the simulator counts drops"
    return Outcome(
        goodput_mbps=record.bytes_received * 8_000 / sum(record.samples.iteration.completion_ns),
        drops=drops,
        timeouts=sum(record.samples.iteration.timeouts),
    )


def peer_outcome(output: str) -> Outcome:
    """The outcome in the JSON object that a program of benches/peers prints."""
    return Outcome(**json.loads(output))


NETSTUDY = Program("netstudy", 20_000_000, _engine_job, engine_outcome)
NS3 = Program("ns-3", 100_000, _ns3_job, peer_outcome)
NS2 = Program("ns-2", 4_000_000, _ns2_job, peer_outcome)
PROGRAMS = (NETSTUDY, NS3, NS2)
