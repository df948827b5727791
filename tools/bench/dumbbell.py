"""The dumbbell scenario: bulk transfers between hosts at two switches, over the link that joins the
switches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from netstudy import wire
from netstudy.units import header_bytes
from tools.bench import programs, scenarios
from tools.bench.programs import Outcome, Program
from tools.bench.usage import Job

PAIRS = 4
NS3_PROGRAM = scenarios.ROOT / ".cache/peers/ns3_dumbbell"
NS2_SCRIPT = scenarios.PEERS / "ns2_dumbbell.tcl"


@dataclass(frozen=True)
class Cell:
    """One size of the scenario. Here, an iteration means one full segment of each transfer."""

    mtu: int

    def packets(self, iterations: int) -> int:
        """Useful data packets: each segment of each transfer once."""
        return PAIRS * iterations

    @property
    def segment_bytes(self) -> int:
        """Payload of a full segment."""
        return self.mtu - header_bytes(timestamps=True)


def cells() -> list[Cell]:
    """The cells of the study, in its order."""
    return [Cell(int(run.treatment["mtu"])) for run in scenarios.dumbbell()]


def engine_run(cell: Cell, segments: int, seed: int) -> wire.Run:
    """The run of the study for this cell, with the given number of full segments in each
    transfer."""
    (run,) = (run for run in scenarios.dumbbell(seed) if run.treatment["mtu"] == cell.mtu)
    size = {"size_bytes": segments * cell.segment_bytes}
    return replace(run, workload=run.workload.model_copy(update=size))


def _engine_job(cell: Cell, segments: int, seed: int) -> Job:
    return scenarios.engine_job([engine_run(cell, segments, seed)])


def _ns3_job(cell: Cell, segments: int, seed: int) -> Job:
    sizes = (f"--pairs={PAIRS}", f"--mtu={cell.mtu}", f"--packets={segments}")
    return Job((str(NS3_PROGRAM), *sizes, f"--seed={seed}"))


def _ns2_job(cell: Cell, segments: int, seed: int) -> Job:
    numbers = (PAIRS, cell.mtu, segments, seed)
    return Job(("ns", str(NS2_SCRIPT), *map(str, numbers)))


def engine_outcome(output: str) -> Outcome:
    """The outcome in the engine's records of one run, in which all transfers begin at once."""
    (record,) = scenarios.run_records(output)
    return from_record(record)


def from_record(record: wire.RunRecord) -> Outcome:
    """The outcome in a record. Goodput is computed until the last transfer has ended."""
    transfers, connections = record.samples.transfer, record.samples.connection
    assert transfers is not None, "a run that is ok has transfers"
    assert connections is not None, "a run that is ok has connections"
    took_ns = max(transfers.end_ns) - min(transfers.start_ns)
    drops = sum(
        readings["frames_dropped"][-1] or 0
        for ports in record.ports.values()
        for readings in ports.values()
        if "frames_dropped" in readings
    )
    assert connections.timeouts is not None, "the simulator counts timeouts"
    return Outcome(
        goodput_mbps=8_000 * sum(transfers.bytes_received) / took_ns,
        drops=drops,
        timeouts=sum(connections.timeouts),
    )


NETSTUDY = Program(programs.NETSTUDY.name, 8_000_000, _engine_job, engine_outcome)
NS3 = Program(programs.NS3.name, 60_000, _ns3_job, programs.peer_outcome)
NS2 = Program(programs.NS2.name, 2_500_000, _ns2_job, programs.peer_outcome)
PROGRAMS = (NETSTUDY, NS3, NS2)
