"""The buffers of switches. A buffer has no utilisation: its limit shows in frames that it drops.

Drops at the port of a full link belong to the link. Other drops make senders reduce their
congestion windows, so that a wait for the congestion window is a wait for the buffer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from netstudy.analysis.bounds.candidates import Candidate, Resource, State
from netstudy.analysis.bounds.parts import Part
from netstudy.analysis.cells import CellRow
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.standing_queues import queues_of
from netstudy.plan.paths import direction_from
from netstudy.queues import kinds_of, queue_title
from netstudy.study.vocabulary import MetricName, Scope


def buffers(row: CellRow, found: Sequence[Candidate]) -> Iterator[Candidate]:
    """The buffer of each switch of a cell. `found`: the other candidates."""
    full = {one.resource.node for one in found if one.resource.kind == "link" and one.is_reached}
    for switch in row.planned[0].network.switches:
        metric = node_metric(MetricName(Scope(switch.name), "port_drops"))
        dropped = row.value(metric)
        title = _discipline(row, switch.name, dropped) or f"buffer of {_titled(switch.name)}"
        one = Candidate(Resource("port", switch.name, title), metric=metric)
        if dropped is None:
            yield one
            continue
        is_suspect = dropped > 0 and switch.name not in full
        note = "it dropped no frame"
        if dropped:
            note = (
                "it dropped frames" if is_suspect else "it dropped frames in front of a full link"
            )
        state: State = "may be reached" if is_suspect else "not reached"
        yield replace(one, value=dropped, state=state, note=note)


def _titled(switch: str) -> str:
    return switch if "switch" in switch else f"switch {switch}"


def _discipline(row: CellRow, switch: str, dropped: float | None) -> str | None:
    """The queue discipline that drops most at a switch, with its port; None if the frames are
    dropped elsewhere."""
    drops: Counter[str] = Counter()
    for one in queues_of(row):
        if one.node == switch:
            drops[one.port] += one.frames_dropped
    if not dropped or not drops.total():
        return None
    port, _ = drops.most_common(1)[0]
    near, far = direction_from(row.planned[0].network, switch, port)
    return f"{queue_title([*kinds_of(near.queue)])} at {near.node} to {far.node}"


def behind_drops(waits: Iterable[Part], found: Sequence[Candidate]) -> Iterator[Part]:
    """The waits of senders; where a buffer drops frames, the waits for the congestion window and
    for recovery are one wait for this buffer."""
    waits = list(waits)
    suspects = [
        one for one in found if one.resource.kind == "port" and one.state == "may be reached"
    ]
    held = [part for part in waits if part.kind == "congestion_window"]
    if not suspects or not held:
        yield from waits
        return
    yield from (part for part in waits if part not in held)
    worst = max(suspects, key=lambda one: one.value or 0.0)
    name = f"the congestion window, which drops in the {worst.name} hold down"
    yield Part("port", worst.resource.node, name, sum(part.share_pct for part in held))
