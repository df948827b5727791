"""Where the runs of a cell took place: in the simulator, on one machine or on several."""

from __future__ import annotations

from netstudy.analysis.clocks import are_machines
from netstudy.analysis.gathering import Block, CellRuns


def simulated_part(block: Block) -> bool:
    """True if the simulator made at least one run of the block."""
    return any(run.record.mode is not None for run in block)


def is_simulated_in(runs: CellRuns) -> bool:
    """True if the simulator made at least one run of the cell."""
    return any(runs.gathered("simulated", simulated_part))


def machines_part(block: Block) -> bool:
    """True if at least one run of the block has machines of their own as hosts."""
    return any(are_machines(run.record, run.planned.network.hosts) for run in block)


def are_machines_in(runs: CellRuns) -> bool:
    """True if at least one run of the cell has machines of their own as hosts."""
    return any(runs.gathered("machines", machines_part))


def files_part(block: Block) -> bool:
    """True if at least one run of the block was read from files."""
    return any(run.record.measured and run.record.measured.files for run in block)


def cpus_part(block: Block) -> dict[str, float]:
    """The CPUs of each host and of the first host of each group, in the first run that knows
    them."""
    found: dict[str, float] = {}
    for run in block:
        for host, node in run.record.nodes.items():
            if node.cpus is not None:
                found.setdefault(host, node.cpus)
                found.setdefault(node.group, node.cpus)
    return found
