"""Where frames wait: the queue discipline at which they wait longest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from netstudy import wire
from netstudy.analysis.cells import CellRow
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


def standing_queue(cells: Sequence[CellRow]) -> StandingQueue | None:
    """The queue in which the frames of the measuring phases waited longest; None: no port has a
    discipline, or no frame left one."""
    waited_ns: Counter[tuple[str, str]] = Counter()
    frames: Counter[tuple[str, str]] = Counter()
    networks: dict[tuple[str, str], wire.Network] = {}
    # Each from a run that counted at the port, since other cells may lack it: a group of one host
    # has other names than a group of several.
    for cell in cells:
        for run in cell.runs:
            for one in run.record.samples.queue:
                waited_ns[one.node, one.port] += one.sojourn_sum_ns
                frames[one.node, one.port] += one.frames_sent
                networks[one.node, one.port] = run.planned.network
    if not frames.total():
        return None
    place = max(waited_ns, key=lambda place: waited_ns[place])
    near, far = direction_from(networks[place], *place)
    return StandingQueue(near.node, far.node, waited_ns[place] / max(frames[place], 1) / _NS_PER_MS)
