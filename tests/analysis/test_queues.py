"""Metrics of queue disciplines and of links that lose frames, and where the time goes there.

The oracles are worked by hand. A server sends at 1 Gbit/s to a switch, whose port to the client has
100 Mbit/s and a queue discipline. A frame of 1,538 bytes with its preamble and gap takes 12.304 us
on the first link and 123.04 us on the second, so each frame of a burst waits for 110.736 us longer
than the one before it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from netstudy import buffers, queues, wire
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.samples import RunSample
from netstudy.study.vocabulary import split_metric
from tests.testbed.carried_out import a_run, counts, roles, simulated
from tests.testbed.networks import LINUX_6, host, link, network, switch

pytestmark = pytest.mark.engine

US = 1_000
MS = 1_000_000
IN_US, OUT_US = 12.304, 123.04
LATER_MS = (OUT_US - IN_US) / 1000
SEGMENT = 1448
"""Bytes of a full segment with timestamps."""
DEEP = buffers.OutputQueued(port_buffer_bytes=4_000_000)
BUCKET = 1 / 128
"""Width of a bucket of times, as a share of its values."""


def narrow(
    queue: queues.Queue | None = None,
    *,
    path: wire.LinkPath | None = None,
    segments: int = 10,
    delay_ns: int = 0,
) -> wire.Network:
    """A client behind a slow port with this discipline, whose frames have this path."""
    tcp = LINUX_6.model_copy(update={"initial_window_segments": segments, "clock_tick_ns": 0})
    slow = link("client.eth0", "switch.client", rate_bps=100_000_000, delay_ns=delay_ns)
    port = slow.b.model_copy(update={"queue": queue, "path": path})
    return network(
        [host("client"), host("server"), switch("switch", 2, DEEP)],
        [
            slow.model_copy(update={"b": port}),
            link("server.eth0", "switch.server", rate_bps=1_000_000_000),
        ],
        tcp,
    )


def at_client(run: wire.Run, record: wire.RunRecord, metric: str) -> float | None:
    """The metric of the port to the client."""
    name = split_metric(f"switch@client.{metric}")
    estimate = node_metric(name).reading.estimate([RunSample(run, record)])
    return None if estimate is None else estimate.value


def fetched(segments: int) -> wire.Transfer:
    """Downloads of so many full segments."""
    return wire.Transfer(roles=roles("client", "server"), size_bytes=segments * SEGMENT)


def test_the_times_in_a_queue_are_those_of_a_burst() -> None:
    # A response of ten segments fits the initial window: frame k waits for k times 110.736 us.
    run = a_run(narrow(queues.CoDel()), fetched(10), counts(5))
    record = simulated(run)
    (counted,) = record.samples.queue
    assert counted.frames_sent == 50
    mean_ms = at_client(run, record, "port_sojourn_ms")
    assert mean_ms == pytest.approx(LATER_MS * sum(range(10)) / 10, rel=1e-4)
    # Five of ten frames wait no longer than the fifth.
    p50_ms = at_client(run, record, "port_sojourn_p50_ms")
    assert p50_ms == pytest.approx(4 * LATER_MS, rel=BUCKET)
    p99_ms = at_client(run, record, "port_sojourn_p99_ms")
    assert p99_ms == pytest.approx(9 * LATER_MS, rel=BUCKET)
    assert at_client(run, record, "port_departure_drops") == 0


def test_codel_drops_as_rfc_8289_says() -> None:
    """A burst of 100 frames, of which frame k (from 0) waits for k times 110.736 us and leaves at k
    times 123.04 us. Frame 10 is the first to wait for 1 ms, at 1,230.4 us; 5 ms after it, at
    6,230.4 us, the first drop is due: frame 51, at 6,275.04 us. The next one is due 5 ms later, at
    11,275.04 us; since one frame is missing, frame k leaves at (k - 1) times 123.04 us: it is frame
    93. The third would be due after the last frame."""
    codel = queues.CoDel(target_ns=MS, interval_ns=5 * MS)
    run = a_run(narrow(codel, segments=100), fetched(100), counts(1)[1:])
    record = simulated(run)
    assert at_client(run, record, "port_departure_drops") == 2
    assert at_client(run, record, "port_drops") == 2
    (counted,) = record.samples.queue
    # The handshake's answer, 100 segments, and the two that are sent again.
    assert (counted.frames_offered, counted.frames_sent) == (103, 101)
    # Of 101 frames, 99 and 98 waited longest; two before them were dropped.
    p99_ms = at_client(run, record, "port_sojourn_p99_ms")
    assert p99_ms == pytest.approx((96 * OUT_US - 98 * IN_US) / 1000, rel=BUCKET)


def test_a_port_without_a_discipline_has_no_times_and_a_perfect_link_no_losses() -> None:
    run = a_run(narrow(), fetched(10), counts(5))
    record = simulated(run)
    for metric in ("sojourn_ms", "sojourn_p50_ms", "sojourn_p99_ms", "departure_drops", "lost"):
        assert at_client(run, record, f"port_{metric}") is None, metric


def test_a_link_that_loses_every_second_frame_loses_half_of_them() -> None:
    alternating = wire.GilbertElliottLoss(
        to_bad_ppm=1_000_000, to_good_ppm=1_000_000, in_bad_ppm=1_000_000, in_good_ppm=0
    )
    run = a_run(narrow(path=wire.LinkPath(loss=alternating)), fetched(40), counts(2))
    record = simulated(run)
    sent = record.growth(record.ports["switch"]["client"])["frames_forwarded"]
    # The link begins in a random state, so the first frame is lost or the second.
    assert at_client(run, record, "port_lost") in (sent // 2, sent - sent // 2)
    # Half of the frames are 80 segments and more.
    assert sent >= 2 * 80


ACCOUNTED: dict[str, dict[str, Any]] = {
    "codel": {"queue": queues.CoDel(target_ns=MS, interval_ns=5 * MS), "segments": 100},
    "fq-codel": {"queue": queues.FqCoDel(target_ns=MS, interval_ns=5 * MS), "segments": 100},
    "shaper": {"queue": queues.Shaper(rate_bps=20_000_000, burst_bytes=3_000)},
    "policer": {"queue": queues.Policer(rate_bps=80_000_000, burst_bytes=30_000)},
    "loss": {"path": wire.LinkPath(loss=wire.IndependentLoss(share_ppm=20_000)), "delay_ns": MS},
    "jitter": {
        "path": wire.LinkPath(
            jitter=wire.UniformJitter(max_ns=MS), extra_delay_ns=MS, reorders=True
        ),
        "delay_ns": MS,
    },
    "loss behind a queue": {
        "queue": queues.CoDel(target_ns=MS, interval_ns=5 * MS),
        "path": wire.LinkPath(loss=wire.IndependentLoss(share_ppm=10_000), duplicate_ppm=10_000),
        "segments": 100,
    },
}
"""The port to the client, and its link."""


@pytest.mark.parametrize("name", ACCOUNTED)
def test_the_parts_of_the_time_of_each_transfer_add_up(name: str) -> None:
    run = a_run(narrow(**ACCOUNTED[name]), fetched(100), counts(10), trace=True)
    record = simulated(run)
    assert {(one.view, one.group) for one in record.samples.time} >= {
        ("journey", "all"),
        ("cause", "all"),
    }
    for account in record.samples.time:
        assert sum(account.low_ps) == account.whole_ps
    rows = record.samples.transfer
    assert rows is not None
    whole_ns = sum(rows.end_ns) - sum(rows.start_ns)
    for account in record.samples.time:
        if account.group == "all":
            # The record of a transfer has whole nanoseconds.
            assert abs(account.whole_ps - whole_ns * 1000) <= 1000 * account.units
    plain = simulated(replace(run, trace=False))
    assert plain.samples.transfer == rows


def spent_ns(record: wire.RunRecord, view: str, place: str) -> float:
    """The time of all units between the switch and the client, in a place."""
    (account,) = (one for one in record.samples.time if (one.view, one.group) == (view, "all"))
    rows = [(at, node, to, ps) for _, at, node, to, ps, _ in account.rows()]
    return sum(ps for *where, ps in rows if where == [place, "switch", "client"]) / 1000


def test_the_account_of_a_port_that_is_never_idle_is_of_its_wire_alone() -> None:
    """CoDel drops frames of each transfer, but others wait while they are sent again: the last of
    100 segments arrives when the wire has carried 100 frames."""
    run = a_run(narrow(**ACCOUNTED["codel"]), fetched(100), counts(10), trace=True)
    record = simulated(run)
    assert (at_client(run, record, "port_departure_drops") or 0) > 0
    assert spent_ns(record, "cause", "serialization") == 10 * 100 * OUT_US * US
    assert spent_ns(record, "cause", "queue") == 0


def test_the_account_of_a_shaper_is_the_time_of_its_tokens() -> None:
    """In the long run, a transfer takes the time in which the tokens for its frames come; what the
    wire does not need of it is a wait in the queue."""
    run = a_run(narrow(**ACCOUNTED["shaper"]), fetched(100), counts(10), trace=True)
    record = simulated(run)
    rows = record.samples.transfer
    assert rows is not None
    taken_ns = {end - start for start, end in zip(rows.start_ns, rows.end_ns, strict=True)}
    tokens_ns = round(100 * 1518 * 8 / 20_000_000 * 1e9)
    assert taken_ns == {tokens_ns}
    on_wire_ns = 10 * 100 * OUT_US * US
    assert spent_ns(record, "cause", "serialization") == on_wire_ns
    waited_ns = spent_ns(record, "cause", "queue")
    # All but the way of the request and of the first frame, less than 0.1 ms of 60.
    assert waited_ns == pytest.approx(10 * tokens_ns - on_wire_ns, rel=2e-3)
