"""What this machine does with a network is tried in a sandbox before a plan is carried out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from pydantic import TypeAdapter

from netstudy import buffers, wire
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.capacity_probe import ideal_bps, trial_run, unit
from netstudy.testbed.netns.kernel_path import burst_bytes
from netstudy.testbed.netns.limits import Ceiling, excess
from tests.skips import or_skip
from tests.testbed.carried_out import times
from tests.testbed.conftest import User
from tests.testbed.probe_capacity import run

pytestmark = pytest.mark.quiet

_MEGABIT = 1_000_000
_CEILINGS = TypeAdapter(list[Ceiling])


@pytest.fixture
def engine() -> None:
    """The engine, where netstudy finds it."""
    with or_skip():
        find_engine()


def test_a_trial_makes_the_traffic_of_the_run_for_three_quarters_of_a_second() -> None:
    tried = trial_run(run(400 * _MEGABIT), 100 * _MEGABIT)

    # Two blocks of 100 kB take 16 ms at 100 Mbit/s, those of a trial 50 ms at least.
    asked = run(400 * _MEGABIT).workload
    assert tried.workload == asked.model_copy(update={"block_bytes": 312_500})
    assert tried.count("measure") == 15
    assert tried.count("warm-up") == 1


def test_small_requests_stay_small_in_a_trial() -> None:
    asked = run(400 * _MEGABIT)
    work = wire.Request(roles=asked.workload.roles)
    tried = trial_run(replace(asked, workload=work), 400 * _MEGABIT)

    assert tried.workload == work
    assert tried.count("measure") == 2_000


def test_what_takes_long_is_made_smaller_for_a_trial() -> None:
    asked = run(100 * _MEGABIT)
    work = wire.Transfer(roles=asked.workload.roles, size_bytes=1_000_000_000, pause_ns=10**9)
    tried = trial_run(replace(asked, workload=work), 100 * _MEGABIT)

    assert isinstance(tried.workload, wire.Transfer)
    assert unit(tried)[0] == pytest.approx(0.25)
    assert tried.workload.pause_ns == 0
    assert tried.count("measure") == 3


def test_no_disk_takes_part_in_a_trial() -> None:
    asked = run(100 * _MEGABIT)
    files = wire.Ftp(source="disk", sink="synced disk")
    work = wire.Transfer(roles=asked.workload.roles, size_bytes=1_000_000, ftp=files)
    tried = trial_run(replace(asked, workload=work), 100 * _MEGABIT)

    assert isinstance(tried.workload, wire.Transfer)
    assert tried.workload.ftp == wire.Ftp()


def test_a_trial_ends_however_much_is_asked_for() -> None:
    asked = run(10**13)
    work = wire.Transfer(roles=asked.workload.roles, size_bytes=10**12)
    tried = trial_run(replace(asked, workload=work), 10**13)

    assert unit(tried)[1] <= 128_000_000


def test_a_phase_of_a_time_is_shortened() -> None:
    asked = run(100 * _MEGABIT)
    work = wire.Transfer(roles=asked.workload.roles)
    timed = replace(asked, workload=work, phases=times(60))

    assert trial_run(timed, 100 * _MEGABIT).until("measure") == wire.UntilTime(ns=750_000_000)


def test_a_trial_scales_all_links_alike() -> None:
    asked = run(400 * _MEGABIT)
    slow = asked.network.links[1]
    end = slow.a.model_copy(update={"rate_bps": 100 * _MEGABIT})
    uneven = (asked.network.links[0], slow.model_copy(update={"a": end}), asked.network.links[2])
    network = asked.network.model_copy(update={"links": uneven})
    tried = trial_run(replace(asked, network=network), 200 * _MEGABIT)

    rates = [[end.rate_bps // _MEGABIT for end in link.ports] for link in tried.network.links]
    assert rates == [[200, 200], [50, 200], [200, 200]]


def test_nothing_can_be_lost_in_a_trial() -> None:
    tried = trial_run(run(400 * _MEGABIT), 400 * _MEGABIT).network

    (switch,) = tried.switches
    assert isinstance(switch.buffer, buffers.OutputQueued)
    under_way = sum(tried.group(host.group).tcp.send_buffer_bytes for host in tried.hosts)
    assert switch.buffer.port_buffer_bytes >= 2 * under_way


@pytest.mark.one_user
@pytest.mark.parametrize("switching", ["user-space", "kernel"])
def test_the_machine_is_tried(user: User, engine: None, switching: str) -> None:
    (ceiling,) = tried(user, 20 * _MEGABIT, switching)
    first, asked = ceiling.trials[0], trial_run(run(20 * _MEGABIT), 20 * _MEGABIT)
    # A token bucket that has filled up lets its depth go at once, at the start of each iteration.
    link = asked.network.links[0]
    ahead_bytes = burst_bytes(link.a, link) if switching == "kernel" else 0
    each_s, each_bytes = unit(asked)
    most_bps = 8 * each_bytes / (each_s * (each_bytes - ahead_bytes) / each_bytes)

    assert first.rate_bps == 20 * _MEGABIT
    assert first.ideal_bps == ideal_bps(asked)
    assert 0 < first.goodput_bps <= most_bps
    assert first.packets_per_s >= first.goodput_bps / 8 / 1448
    assert (first.lateness_us_p99 is None) == (switching == "kernel")


@pytest.mark.slow
@pytest.mark.parametrize("user", ["ordinary user"], indirect=True)
def test_no_machine_carries_10_terabits(user: User, engine: None) -> None:
    asked = run(10**13).network
    (ceiling,) = tried(user, 10**13, "user-space")
    said = excess(asked, ceiling, Fraction(1))

    assert ceiling.best is None or ceiling.best.rate_bps < 10**13
    assert said is not None
    assert said.startswith("The study asks for 10 Tbit/s at an MTU of 1500 bytes")


def tried(user: User, rate_bps: int, switching: str) -> list[Ceiling]:
    """What is reached for that user."""
    said = user.output("-m", "tests.testbed.probe_capacity", str(rate_bps), switching)
    return _CEILINGS.validate_json(said)
