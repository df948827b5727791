"""Queue disciplines and links that are not perfect, on real namespaces.

The tests compare counters of the run with each other, and times only with those that no machine can
undercut.
"""

from __future__ import annotations

import pytest

from netstudy import buffers, queues, wire
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.samples import RunSample
from netstudy.study.vocabulary import split_metric
from netstudy.testbed.engine import find_engine
from tests.skips import or_skip
from tests.testbed.carried_out import a_run, broken, counts, record_of, roles, times
from tests.testbed.conftest import User
from tests.testbed.networks import direct, dumbbell

pytestmark = [pytest.mark.one_user, pytest.mark.quiet]

MEGABIT = 1_000_000
MS = 1_000_000
DEEP = buffers.OutputQueued(port_buffer_bytes=4_000_000)
"""1.6 s at 20 Mbit/s: the discipline drops frames long before this is full."""


@pytest.fixture(autouse=True)
def engine() -> None:
    """The engine, where netstudy finds it."""
    with or_skip():
        find_engine()


def value(run: wire.Run, record: wire.RunRecord, name: str) -> float:
    estimate = node_metric(split_metric(name)).reading.estimate([RunSample(run, record)])
    assert estimate is not None, name
    return estimate.value


def through(queue: queues.Queue) -> wire.Run:
    """Two downloads for a second over a dumbbell whose middle link has this discipline."""
    graph = dumbbell(middle_bps=20 * MEGABIT, delay_ns=5 * MS, buffer=DEEP)
    *others, middle = graph.links
    ends = {"a": middle.a, "b": middle.b}
    queued = {name: end.model_copy(update={"queue": queue}) for name, end in ends.items()}
    graph = graph.model_copy(update={"links": (*others, middle.model_copy(update=queued))})
    pairs = roles(["client-1", "client-2"], ["server-1", "server-2"])
    return a_run(graph, wire.Transfer(roles=pairs), times(1.5, warm_up_s=0.5))


def test_fq_codel_at_the_port_of_a_switch_drops_frames_as_they_leave(user: User) -> None:
    run = through(queues.FqCoDel())
    record = record_of(user, run)
    assert not broken(record)
    of_port = {(one.node, one.port): one for one in record.samples.queue}
    assert set(of_port) == {("left", "right"), ("right", "left")}

    for (node, port), counted in of_port.items():
        grown = record.growth(record.ports[node][port])
        dropped = counted.frames_dropped_at_arrival + counted.frames_dropped_at_departure
        # Nothing waits at either end of the phase.
        assert counted.frames_offered == counted.frames_sent + dropped
        assert (counted.frames_sent, dropped) == (
            grown["frames_forwarded"],
            grown["frames_dropped"],
        )
        assert counted.bytes_sent == grown["bytes_forwarded"]
        assert sum(counted.frames) == counted.frames_sent
        # A bucket has its highest time, and is at most 1/128 of its values wide.
        highest_ns = sum(ns * n for ns, n in zip(counted.sojourn_ns, counted.frames, strict=True))
        assert highest_ns <= (1 + 1 / 128) * counted.sojourn_sum_ns
        assert counted.sojourn_sum_ns <= highest_ns
    # The downloads come from the right, and are more than the link carries.
    down = of_port["right", "left"]
    assert down.frames_dropped_at_departure > 0
    assert down.frames_dropped_at_arrival == 0
    assert value(run, record, "right@left.port_departure_drops") == down.frames_dropped_at_departure
    mean_ms = value(run, record, "right@left.port_sojourn_ms")
    assert mean_ms == pytest.approx(down.sojourn_sum_ns / down.frames_sent / MS)
    p50_ms, p99_ms = (value(run, record, f"right@left.port_sojourn_p{p}_ms") for p in (50, 99))
    assert 0 < p50_ms <= p99_ms


def test_a_fifo_drops_no_frame_as_it_leaves(user: User) -> None:
    record = record_of(user, through(queues.Fifo(limit_packets=20)))
    assert not broken(record)
    (down,) = [one for one in record.samples.queue if one.node == "right"]
    assert down.frames_dropped_at_departure == 0
    assert down.frames_dropped_at_arrival > 0
    # 20 frames of 1,518 bytes, with 20 of preamble and gap each, and the frame on the wire.
    assert down.sojourn_sum_ns / down.frames_sent < 21 * 8e9 * 1538 / (20 * MEGABIT)


def over(up: wire.LinkPath | None, down: wire.LinkPath | None, *, delay_ns: int) -> wire.Network:
    """A client and a server over a link whose directions are not perfect."""
    graph = direct(rate_bps=50 * MEGABIT, delay_ns=delay_ns)
    (one,) = graph.links
    ends = {"a": (one.a, up), "b": (one.b, down)}
    given = {name: end.model_copy(update={"path": path}) for name, (end, path) in ends.items()}
    return graph.model_copy(update={"links": (one.model_copy(update=given),)})


def test_a_link_loses_frames_of_one_direction_only(user: User) -> None:
    lossy = wire.LinkPath(loss=wire.IndependentLoss(share_ppm=20_000))
    graph = over(lossy, None, delay_ns=MS)
    size = 1_000_000
    work = wire.Transfer(roles=roles("client", "server"), direction="put", size_bytes=size)
    run = a_run(graph, work, counts(3))
    record = record_of(user, run)
    assert not broken(record)
    laws = [one.law for one in record.checks]
    assert "each link loses the share of frames that it was asked to lose" in laws

    client, server = (record.growth(record.ports[node]["eth0"]) for node in ("client", "server"))
    lost = client["link_frames_lost"]
    # 3 MB are at least 2,072 frames; the chance that a right link loses none of them is 0.98^2072.
    assert lost > 0
    assert client["interface_packets_sent"] == server["interface_packets_received"] + lost
    assert server["interface_packets_sent"] == client["interface_packets_received"]
    assert "link_frames_lost" not in record.ports["server"]["eth0"]
    table = record.samples.connection
    assert table is not None
    # All bytes arrived, so whatever was lost of them was sent again.
    assert table.bytes_sent == (3 * size,)
    assert table.retransmissions is not None
    assert sum(table.retransmissions) > 0


def test_each_direction_has_its_own_delay(user: User) -> None:
    up = wire.LinkPath(extra_delay_ns=15 * MS)
    work = wire.Request(
        roles=roles("client", "server"), connections=1, request_bytes=100, response_bytes=100
    )
    record = record_of(user, a_run(over(up, None, delay_ns=5 * MS), work, times(0.5)))
    assert not broken(record)
    assert record.samples.request
    # 5 and 15 ms there, 5 ms back.
    assert all(one.min_ns >= 25 * MS for one in record.samples.request if one.count)
