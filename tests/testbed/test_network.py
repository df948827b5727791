"""The namespace testbed's network, made for real in a sandbox."""

from __future__ import annotations

import pytest

from tests.testbed.conftest import User
from tests.testbed.networks import layout, star

_BLOCK_BYTES = 3_000_000


@pytest.mark.one_user
def test_24_hosts_come_up_and_vanish(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = user.outcome("hosts_24")

    with capsys.disabled():
        seconds = ", ".join(f"{value:.2f} s" for value in outcome["seconds"])
        print(f" [24 hosts up in {seconds}]", end="")
    assert outcome["names"] == sorted(layout(star(23)).namespaces)
    assert outcome["left"] == []


def test_what_the_study_says_is_in_effect(user: User) -> None:
    found = user.outcome("settings")
    (route,), (link,), (address,) = found["route"], found["link"], found["address"]

    assert found["sack"] == "0"
    assert found["connections"] == "16384"  # negative: the machine's table, shared
    assert found["rmem"] == ["4096", "131072", "6291456"]
    assert found["ipv6"] == "1"
    assert route["dst"] == "10.77.0.0/16"
    assert [metric["rto_min"] for metric in route["metrics"] if "rto_min" in metric] == [5]
    assert [metric["initcwnd"] for metric in route["metrics"] if "initcwnd" in metric] == [10]
    assert (link["mtu"], link["address"], link["gso_max_segs"]) == (9000, "02:00:00:00:00:02", 1)
    assert "NOARP" in link["flags"]
    assert [info["local"] for info in address["addr_info"]] == ["10.77.0.2"]
    assert {entry["dst"] for entry in found["neighbours"]} == {"10.77.0.1", "10.77.0.3"}
    assert {entry["state"][0] for entry in found["neighbours"]} == {"PERMANENT"}
    assert {name for name, on in found["offloads"].items() if on} <= {"sg"}


@pytest.mark.one_user
def test_data_crosses_the_kernels_switch_frame_by_frame(user: User) -> None:
    found = user.outcome("transfer")
    fifo = next(queue for queue in found["queues"] if queue["kind"] == "bfifo")

    assert found["received"] == _BLOCK_BYTES
    # 8948 bytes of data a frame of MTU 9000: were bursts not cut, there would be fewer
    assert fifo["packets"] >= _BLOCK_BYTES / 8948
    assert fifo["bytes"] >= _BLOCK_BYTES
    assert (found["elsewhere"], found["to_bridge"]) == (0, 0)


@pytest.mark.one_user
def test_a_program_that_forwards_sees_frames_and_not_bursts(user: User) -> None:
    found = user.outcome("forwarded")

    # Every byte arrives, so checksums were right; 1500 bytes and an Ethernet header are a frame.
    assert found == {"received": _BLOCK_BYTES, "longest": 1514}


def test_frames_are_received_on_one_processor(user: User) -> None:
    assert [int(mask, 16) for mask in user.outcome("receiving")] == [2, 2]


def test_before_linux_6_3_root_alone_can_have_that(user: User) -> None:
    found = user.outcome("receiving_before_linux_6_3")

    if user.is_root:
        assert [int(mask, 16) for mask in found] == [2, 2]
    else:
        assert "taskset -c 0" in found


@pytest.mark.one_user
def test_a_command_runs_in_its_nodes_namespace(user: User) -> None:
    (shown,) = user.outcome("commands")

    assert [info["local"] for info in shown["addr_info"]] == ["10.77.0.1"]


@pytest.mark.one_user
def test_a_command_that_fails_is_named(user: User) -> None:
    assert "ip link add name eth0" in user.outcome("failing")
