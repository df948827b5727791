"""The queue in which frames wait longest, over cells whose networks differ."""

from __future__ import annotations

import pytest

from netstudy.analysis.standing_queues import StandingQueue, standing_queue
from netstudy.wire import QueueStatistics, RunRecord
from tests.report.synthetic import FakeFolder, plan_of, pooled, record, run

MS = 1_000_000


def waited(port: str, *, mean_ms: int, frames: int) -> QueueStatistics:
    """Frames of one class that left a port of the switch after this time each."""
    return QueueStatistics(
        node="switch",
        port=port,
        dscp=0,
        frames_offered=frames,
        bytes_offered=1518 * frames,
        frames_sent=frames,
        bytes_sent=1518 * frames,
        frames_dropped_at_arrival=0,
        bytes_dropped_at_arrival=0,
        frames_dropped_at_departure=0,
        bytes_dropped_at_departure=0,
        frames_marked=0,
        sojourn_sum_ns=mean_ms * MS * frames,
        sojourn_ns=(mean_ms * MS,),
        frames=(frames,),
    )


def counting(servers: int, *queues: QueueStatistics) -> RunRecord:
    made = record(run({"servers": servers}, servers))
    samples = made.samples.model_copy(update={"queue": queues})
    return made.model_copy(update={"samples": samples})


@pytest.mark.parametrize("servers", [(1, 4), (4, 1)])
def test_a_port_that_only_some_networks_have_is_found(servers: tuple[int, int]) -> None:
    """With one server, the switch has the port `server`; with four, `server-1` to `server-4`."""
    waits = {
        1: [waited("client", mean_ms=1, frames=10), waited("server", mean_ms=2, frames=10)],
        4: [waited("client", mean_ms=1, frames=10), waited("server-3", mean_ms=7, frames=10)],
    }
    planned = [run({"servers": count}, count) for count in servers]
    records = [counting(count, *waits[count]) for count in servers]
    rows = pooled(FakeFolder(plan_of(planned), records)).rows
    assert standing_queue(rows) == StandingQueue("switch", "server-3", 7)


def test_the_waits_of_all_cells_at_a_port_are_summed() -> None:
    planned = [run({"servers": count}, count) for count in (2, 4)]
    records = [
        counting(2, waited("client", mean_ms=3, frames=10)),
        counting(
            4, waited("client", mean_ms=5, frames=30), waited("server-4", mean_ms=9, frames=5)
        ),
    ]
    rows = pooled(FakeFolder(plan_of(planned), records)).rows
    # 30 ms and 150 ms at the client, 45 ms at the server: 180 ms / 40 frames.
    assert standing_queue(rows) == StandingQueue("switch", "client", 4.5)
