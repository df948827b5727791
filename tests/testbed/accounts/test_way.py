"""The planned way of data: links of 100 Mbit/s and 1 ms of delay, and a switch of 5 us."""

from __future__ import annotations

import pytest

from netstudy.plan.paths import Routes
from netstudy.testbed.real.accounts.bounds import Part
from netstudy.testbed.real.accounts.course import RoundTrip
from netstudy.testbed.real.accounts.round_trips import LATENCY, QUEUE, Rate, rate, shares
from netstudy.testbed.real.accounts.way import Way, way
from tests.testbed.networks import host, link, network, switch

US = 1_000


def planned(*, is_kept: bool = True) -> Way:
    graph = network(
        [
            host("client"),
            host("server"),
            switch("switch", 2).model_copy(update={"latency_ns": 5 * US}),
        ],
        [
            link("client.eth0", "switch.client", delay_ns=1_000 * US),
            link("server.eth0", "switch.server", delay_ns=1_000 * US),
        ],
    )
    return way(Routes(graph), "server", "client", is_kept=is_kept)


FULL_NS = (1500 + 38) * 80
"""A frame of 1500 bytes with its framing at 100 Mbit/s."""
ACK_NS = (52 + 38) * 80
"""An acknowledgment with timestamps."""


def test_each_link_and_the_switch_take_their_times_there_and_back() -> None:
    found = planned()
    assert found.parts == {
        Part("own", "propagation", "server", "switch"): (1_000 * US,) * 2,
        Part("own", "serialization", "server", "switch"): (ACK_NS, FULL_NS),
        Part("own", "switch-latency", "switch"): (10 * US,) * 2,
        Part("own", "propagation", "switch", "client"): (1_000 * US,) * 2,
        Part("own", "serialization", "switch", "client"): (ACK_NS, FULL_NS),
        Part("own", "propagation", "client", "switch"): (1_000 * US,) * 2,
        Part("own", "serialization", "client", "switch"): (ACK_NS,) * 2,
        Part("own", "propagation", "switch", "server"): (1_000 * US,) * 2,
        Part("own", "serialization", "switch", "server"): (ACK_NS,) * 2,
    }
    assert found.least_ns == 4_010 * US + 4 * ACK_NS
    assert found.most_ns == 4_010 * US + 2 * ACK_NS + 2 * FULL_NS
    assert found.full[Part("own", "serialization", "server", "switch")] == (FULL_NS, FULL_NS)
    assert sum(bounds.low for bounds in found.there.values()) == 2_005 * US + 2 * ACK_NS


def test_the_queue_of_a_kernel_need_not_delay_a_frame() -> None:
    found = planned(is_kept=False)
    assert found.least_ns == 0
    assert found.most_ns == planned().most_ns


def test_a_rate_of_round_trips_lies_between_those_of_its_deviations() -> None:
    """Samples of 10 ms +- 2 ms, and of 40 ms exactly."""
    samples = [RoundTrip(10_000 * US, 2_000 * US), RoundTrip(40_000 * US, 0)]
    found = rate(samples, 1_000 * US)
    assert found.low == pytest.approx((1 / 12 + 1 / 40) / 2 / (1_000 * US))
    assert found.high == pytest.approx((1 / 8 + 1 / 40) / 2 / (1_000 * US))
    assert rate([RoundTrip(3_000 * US, 2_500 * US)], 1_000 * US).high == 1 / (1_000 * US)
    assert rate([], 1_000 * US) == (0.0, 1 / (1_000 * US))


def test_round_trips_above_the_least_one_are_spent_in_queues() -> None:
    """10 ms +- 2 ms, of which 5 ms are the least: 4.01 ms of propagation and latency, some
    serialization, and the rest in the hosts."""
    found = planned()
    trips, least_ns = Rate(1 / (12_000 * US), 1 / (8_000 * US)), 5_000 * US
    parts = shares(found, trips, least_ns, full=trips.low)

    propagation = parts[Part("own", "propagation", "switch", "client")]
    assert propagation == pytest.approx((1 / 12, 1 / 8))
    serialization = parts[Part("own", "serialization", "switch", "client")]
    assert serialization == pytest.approx((FULL_NS / (12_000 * US), FULL_NS / (8_000 * US)))
    idle_ns = least_ns + 2 * FULL_NS - 2 * ACK_NS
    assert parts[QUEUE].low == pytest.approx(1 - idle_ns / (8_000 * US))
    assert parts[LATENCY].low == pytest.approx((least_ns - found.most_ns) / (12_000 * US))
    assert sum(share.low for share in parts.values()) < 1 < sum(one.high for one in parts.values())


def test_without_samples_nothing_is_known_but_that_trips_are_not_shorter_than_the_least() -> None:
    found, least_ns = planned(), 5_000 * US
    parts = shares(found, rate([], least_ns), least_ns, full=0.0)
    assert {share.low for share in parts.values()} == {0.0}
    assert parts[QUEUE].high == 1
    assert parts[Part("own", "propagation", "switch", "client")].high == pytest.approx(1 / 5)
