"""The engine's switch between real hosts, in a sandbox."""

from __future__ import annotations

import json
from statistics import linear_regression

import pytest

from tests.skips import needs_programs
from tests.testbed.conftest import User

pytestmark = [pytest.mark.one_user, pytest.mark.quiet]

_FRAME = 1518
_CASES = "tests.testbed.inside_switch"


def test_a_link_carries_its_rate(user: User) -> None:
    found = user.outcome("rate", cases=_CASES)

    # 1518 bytes, and 20 more of preamble, delimiter and gap.
    received_ns = [at - found["received_ns"][0] for at in found["received_ns"]]
    frame_ns, _ = linear_regression(range(600), received_ns)
    assert frame_ns == pytest.approx(8 * 1538 * 100, rel=0.02)
    assert found["clock"]["departures"] == 600
    assert found["clock"]["frames_lost"] == 0


@pytest.mark.parametrize(
    ("architecture", "room", "beside"),
    [("output_queued", 20, 0), ("shared_memory", 30, 0), ("ingress_queued", 20, 1)],
)
def test_a_burst_is_dropped_where_the_buffer_ends(
    user: User, architecture: str, room: int, beside: int
) -> None:
    found = user.outcome(f"burst_{architecture}", cases=_CASES)
    counted = found["counted"]

    # A frame takes 12 ms: no more than a few leave while 100 come.
    assert room + beside <= counted["frames_forwarded"] <= room + beside + 5
    assert counted["frames_forwarded"] + counted["frames_dropped"] == 100
    assert counted["bytes_dropped"] == counted["frames_dropped"] * _FRAME
    assert counted["queue_bytes_max"] == room * _FRAME
    assert found["received"] == counted["frames_forwarded"]
    times = found["drops"]["at_ns"]
    assert len(times) == counted["frames_dropped"]
    assert times == sorted(times)
    assert set(found["drops"]["egress"]) == {0}
    assert found["clock"]["departures"] == counted["frames_forwarded"]


def test_frames_that_come_at_the_rate_of_a_link_make_no_queue(user: User) -> None:
    found = user.outcome("paced", cases=_CASES)

    assert found["received"] == [1472] * 100
    assert found["counted"]["frames_dropped"] == 0
    # The one on the wire, and the one that comes as it leaves.
    assert found["counted"]["queue_bytes_max"] <= 2 * _FRAME


def test_frames_that_meet_a_long_queue_are_marked(user: User) -> None:
    found = user.outcome("marks", cases=_CASES)
    understood, not_understood = found["fields"]

    # The eleventh met ten, which is not above the threshold.
    assert understood[:11] == [0b10] * 11
    assert understood.count(0b11) == found["counted"]["frames_marked"] >= 10
    assert set(not_understood) == {0}


def test_the_delay_of_each_link_is_part_of_the_round_trip_time(user: User) -> None:
    without, with_delay = user.outcome("delay", cases=_CASES)

    assert without < 5
    # Two links there, and two back.
    assert 20 <= with_delay < 25


def test_a_frame_for_nobody_goes_nowhere_and_is_counted(user: User) -> None:
    found = user.outcome("elsewhere", cases=_CASES)

    counted = {node: ports["frames_unaddressed"] for node, ports in found["counted"].items()}
    assert counted == {"client": 3, "server-1": 0, "server-2": 0}
    assert {ports["frames_forwarded"] for ports in found["counted"].values()} == {0}
    assert found["clock"]["departures"] == 0


def test_of_two_switches_the_one_before_the_narrow_link_drops(user: User) -> None:
    found = user.outcome("in_a_row", cases=_CASES)
    before, behind = found["counted"]["right"], found["counted"]["left"]
    middle = before["left"]

    # Frames come at 100 Mbit/s and leave at 10: while 22 come, room for 20 and 2 that have left.
    assert middle["frames_forwarded"] + middle["frames_dropped"] == 60
    assert 20 <= middle["frames_forwarded"] <= 27
    assert before["server-1"]["frames_received"] == 60
    assert behind["right"]["frames_received"] == middle["frames_forwarded"]
    assert behind["client-1"]["frames_forwarded"] == middle["frames_forwarded"]
    assert behind["client-1"]["frames_dropped"] == 0
    assert middle["queue_bytes_max"] <= 20 * 1518
    # 1538 bytes at 10 Mbit/s; a late frame makes none behind it late.
    received = found["received_ns"]
    assert len(received) == middle["frames_forwarded"]
    each_ns = (received[-1] - received[0]) / (len(received) - 1)
    assert each_ns == pytest.approx(1_230_400, rel=0.2)
    (samples,) = found["samples"]
    assert (samples["switch"], samples["port"]) == ("right", "left")
    assert samples["values"]["frames_forwarded"][-1] == middle["frames_forwarded"]
    assert samples["values"]["frames_forwarded"] == sorted(samples["values"]["frames_forwarded"])


def test_a_wire_between_hosts_has_the_rate_of_each_end_and_its_delay(user: User) -> None:
    found = user.outcome("wire_between_hosts", cases=_CASES)
    there, back = found["received_ns"]

    assert (there[-1] - there[0]) / 39 == pytest.approx(1_230_400, rel=0.1)
    # A tenth of that: later by what the machine has to do besides, and never earlier.
    assert 0.95 * 123_040 <= (back[-1] - back[0]) / 39 < 3 * 123_040
    assert 10 <= found["trip_ms"] < 15


def test_it_ends_with_its_controller_and_with_its_time(user: User) -> None:
    found = user.outcome("ends", cases=_CASES)

    assert found["SIGTERM"] == [0, ""]
    assert found["input"] == [0, ""]
    code, output = found["limit"]
    assert code == 3
    error = {"kind": "error", "message": "the time limit of 100 ms is over"}
    assert json.loads(output) == error


@needs_programs("snmpbulkwalk")
def test_net_snmps_programs_walk_the_switch_over_the_port_of_an_idle_host(user: User) -> None:
    found = user.outcome("walked", cases=_CASES)

    system = dict(_object(line) for line in found["system"])
    assert system[".1.3.6.1.2.1.1.5.0"] == 'STRING: "switch"'
    assert system[".1.3.6.1.2.1.1.1.0"].startswith('STRING: "netstudy user-space switch ')
    assert [line for line in found["all"] if " = " not in line] == []
    assert _names(found["all"][:-1]) == _names(found["one by one"][:-1])
    seen = dict(_object(line) for line in found["all"])
    if_x, ether = ".1.3.6.1.2.1.31.1.1.1", ".1.3.6.1.2.1.16.1.1.1"
    names = [seen[f"{if_x}.1.{port}"] for port in (1, 2, 3)]
    assert names == ['STRING: "client"', 'STRING: "server-1"', 'STRING: "server-2"']
    # 50 frames of 1518 bytes, 5 of 64: 10 bytes of data are padded.
    octets = 50 * _FRAME + 5 * 64
    assert [_object(line)[1] for line in found["octets"]][:2] == [
        "Counter64: 0",
        f"Counter64: {octets}",
    ]
    assert seen[f"{if_x}.10.1"] == f"Counter64: {octets}"
    assert (seen[f"{if_x}.7.2"], seen[f"{if_x}.11.1"]) == ("Counter64: 55", "Counter64: 55")
    assert [seen[f"{ether}.{column}.2"] for column in range(14, 20)] == [
        "Counter32: 5",
        *["Counter32: 0"] * 4,
        "Counter32: 50",
    ]
    assert seen[f"{if_x}.15.1"] == "Gauge32: 100"
    # The idle host's port carries requests and answers alone, and those of a wrong community none.
    own = found["counted"]["server-2"]
    assert own["frames_received"] == own["frames_consumed"] == own["frames_originated"] + 1
    assert own["frames_forwarded"] == own["frames_originated"]
    assert found["wrong"][0].startswith("Timeout")
    assert found["mac"] in found["arp"]
    assert found["clock"]["frames_lost"] == 0


def _object(line: str) -> tuple[str, str]:
    name, _, value = line.partition(" = ")
    return name, value


def _names(lines: list[str]) -> list[str]:
    return [_object(line)[0] for line in lines]
