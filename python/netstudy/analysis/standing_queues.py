"""Where frames wait: the queue discipline at which they wait longest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from netstudy import wire
from netstudy.analysis.cells import CellRow
from netstudy.analysis.gathering import Block
from netstudy.plan.paths import direction_from

_NS_PER_MS = 1e6


@dataclass(frozen=True)
class StandingQueue:
    """The port with a queue discipline at which the frames of some runs wait longest in all."""

    node: str
    to: str
    """The node at the other end of its link."""
    mean_ms: float
    """Mean time in the queue of the frames that left it."""


@dataclass(frozen=True)
class PortQueues:
    """The queue disciplines of a port, over the measuring phases of some runs."""

    node: str
    port: str
    frames_sent: int
    frames_dropped: int
    sojourn_sum_ns: int
    """Sum of the times in the queues of the frames that left them."""


def queues_of(row: CellRow) -> Iterator[PortQueues]:
    """The ports of a cell that have disciplines; a port may come several times."""
    return chain.from_iterable(row.runs.gathered("queues", queues_part))


def queues_part(block: Block) -> list[PortQueues]:
    """Gathers the disciplines of a block of runs, one entry for each port."""
    found: dict[tuple[str, str], list[int]] = {}
    for run in block:
        for one in run.record.samples.queue:
            sums = found.setdefault((one.node, one.port), [0, 0, 0])
            sums[0] += one.frames_sent
            sums[1] += one.frames_dropped_at_arrival + one.frames_dropped_at_departure
            sums[2] += one.sojourn_sum_ns
    return [PortQueues(*place, *sums) for place, sums in found.items()]


def standing_queue(cells: Sequence[CellRow]) -> StandingQueue | None:
    """The queue in which the frames of the measuring phases waited longest; None: no port has a
    discipline, or no frame left one."""
    waited_ns: Counter[tuple[str, str]] = Counter()
    frames: Counter[tuple[str, str]] = Counter()
    networks: dict[tuple[str, str], wire.Network] = {}
    # Each from a run that counted at the port, since other cells may lack it: a group of one host
    # has other names than a group of several.
    for cell in cells:
        for one in queues_of(cell):
            waited_ns[one.node, one.port] += one.sojourn_sum_ns
            frames[one.node, one.port] += one.frames_sent
            networks[one.node, one.port] = cell.planned[0].network
    if not frames.total():
        return None
    place = max(waited_ns, key=lambda place: waited_ns[place])
    near, far = direction_from(networks[place], *place)
    return StandingQueue(near.node, far.node, waited_ns[place] / max(frames[place], 1) / _NS_PER_MS)
