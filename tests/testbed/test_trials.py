"""What this machine does with a network is tried in a sandbox before a plan is carried out."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from netstudy import wire
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.kernel_path import burst_bytes
from netstudy.testbed.netns.limits import Ceiling, excess, ideal_goodput_bps
from netstudy.testbed.netns.trials import trial_run
from tests.skips import or_skip
from tests.testbed.conftest import User
from tests.testbed.tried import run

_MEGABIT = 1_000_000
_CEILINGS = TypeAdapter(list[Ceiling])


@pytest.fixture
def engine() -> None:
    """The engine, where netstudy finds it."""
    with or_skip():
        find_engine()


def test_a_trial_fills_the_link_for_a_quarter_of_a_second() -> None:
    tried = trial_run(run(400 * _MEGABIT), 100 * _MEGABIT)

    assert tried.workload.block_bytes * 8 == 100 * _MEGABIT // 4
    assert tried.workload.striped


def test_a_trial_ends_however_much_is_asked_for() -> None:
    assert trial_run(run(10**13), 10**13).workload.block_bytes == 128_000_000


def test_a_trial_scales_all_links_alike() -> None:
    asked = run(400 * _MEGABIT)
    uneven = tuple(
        link.model_copy(update={"rate_bps": rate * _MEGABIT})
        for link, rate in zip(asked.network.links, (400, 100), strict=True)
    )
    network = asked.network.model_copy(update={"links": uneven})
    tried = trial_run(asked.model_copy(update={"network": network}), 200 * _MEGABIT)

    assert [link.rate_bps for link in tried.network.links] == [200 * _MEGABIT, 50 * _MEGABIT]


def test_nothing_can_be_lost_in_a_trial() -> None:
    tried = trial_run(run(400 * _MEGABIT), 400 * _MEGABIT).network

    assert isinstance(tried.switch.buffer, wire.OutputQueued)
    under_way = sum(group.count * group.tcp.send_buffer_bytes for group in tried.hosts)
    assert tried.switch.buffer.port_buffer_bytes >= 2 * under_way


@pytest.mark.parametrize("switching", ["user-space", "kernel"])
def test_the_machine_is_tried(user: User, engine: None, switching: str) -> None:
    (ceiling,) = tried(user, 20 * _MEGABIT, switching)
    first, asked = ceiling.trials[0], trial_run(run(20 * _MEGABIT), 20 * _MEGABIT)
    # A token bucket that has filled up lets its depth go at once, at the start of each iteration.
    ahead_bytes = burst_bytes(asked.network.links[0]) if switching == "kernel" else 0
    block_bytes = asked.workload.block_bytes
    ideal_bps = ideal_goodput_bps(first.rate_bps, asked.network)

    assert first.rate_bps == 20 * _MEGABIT
    assert 0 < first.goodput_bps <= ideal_bps * block_bytes / (block_bytes - ahead_bytes)
    assert first.packets_per_s >= first.goodput_bps / 8 / 1448
    assert (first.lateness_us_p99 is None) == (switching == "kernel")


@pytest.mark.parametrize("user", ["ordinary user"], indirect=True)
def test_no_machine_carries_10_terabits(user: User, engine: None) -> None:
    asked = run(10**13).network
    (ceiling,) = tried(user, 10**13, "user-space")
    said = excess(asked, ceiling)

    assert ceiling.best is None or ceiling.best.rate_bps < 10**13
    assert said is not None
    assert said.startswith("The study asks for 10 Tbit/s at an MTU of 1500 bytes")


def tried(user: User, rate_bps: int, switching: str) -> list[Ceiling]:
    """What is reached for that user."""
    said = user.output("-m", "tests.testbed.tried", str(rate_bps), switching)
    return _CEILINGS.validate_json(said)
