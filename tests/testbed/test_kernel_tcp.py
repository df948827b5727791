"""What a study's TCP becomes on a kernel, and what is said of the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netstudy import wire
from netstudy.documents.fields import Choice
from netstudy.hardware import HardwareLibrary
from netstudy.knobs import Knob, knobs
from netstudy.plan.network import whole_tcp
from netstudy.testbed.netns.kernel_tcp import departures, kernel_tcp, missing_control
from tests.testbed.networks import LINUX_6, MODERN


def changed(**values: object) -> wire.Tcp:
    return LINUX_6.model_copy(update=values)


def test_the_profile_of_this_kernel_departs_in_nothing() -> None:
    assert departures(LINUX_6, MODERN) == []


def test_the_hardware_librarys_linux_6_is_the_kernels_own() -> None:
    assert departures(whole_tcp(HardwareLibrary.default(), "linux-6"), MODERN) == []


@pytest.mark.parametrize(
    ("field", "value", "sysctl", "text"),
    [
        ("sack", False, "tcp_sack", "0"),
        ("sack", False, "tcp_dsack", "0"),
        ("sack", False, "tcp_early_retrans", "0"),
        ("timestamps", False, "tcp_timestamps", "0"),
        ("ecn", True, "tcp_ecn", "1"),
        ("congestion_control", "dctcp", "tcp_ecn", "1"),
        ("rack", False, "tcp_recovery", "0"),
        ("tail_loss_probe", False, "tcp_early_retrans", "0"),
        ("restart_after_idle", False, "tcp_slow_start_after_idle", "0"),
        ("max_rto_ns", 2_000_000_000, "tcp_rto_max_ms", "2000"),
        ("receive_buffer_bytes", 1_000_000, "tcp_rmem", "4096 131072 1000000"),
        ("receive_buffer_bytes", 65_536, "tcp_rmem", "4096 65536 65536"),
        ("send_buffer_bytes", 2_000_000, "tcp_wmem", "4096 16384 2000000"),
        ("limit_output_bytes", 131_072, "tcp_limit_output_bytes", "131072"),
    ],
)
def test_a_setting_reaches_its_sysctl(field: str, value: object, sysctl: str, text: str) -> None:
    usual = kernel_tcp(LINUX_6, 1500, MODERN).sysctls[f"ipv4/{sysctl}"]
    set_to = kernel_tcp(changed(**{field: value}), 1500, MODERN).sysctls[f"ipv4/{sysctl}"]

    assert (set_to, usual != text) == (text, True)


def test_connections_learn_nothing_from_earlier_ones() -> None:
    assert kernel_tcp(LINUX_6, 1500, MODERN).sysctls["ipv4/tcp_no_metrics_save"] == "1"


def test_a_sysctl_that_the_kernel_lacks_is_not_written() -> None:
    older = replace(MODERN, sysctls=MODERN.sysctls - {"ipv4/tcp_rto_max_ms"})

    assert "ipv4/tcp_rto_max_ms" not in kernel_tcp(LINUX_6, 1500, older).sysctls


@pytest.mark.parametrize("name", sorted(kernel_tcp(LINUX_6, 1500, MODERN).sysctls))
def test_a_sysctl_that_the_kernel_lacks_is_told_where_a_run_departs_for_want_of_it(
    name: str,
) -> None:
    older = replace(MODERN, sysctls=MODERN.sysctls - {name})
    said = " ".join(departures(changed(max_rto_ns=60_000_000_000), older))

    if name == "ipv4/tcp_no_ssthresh_metrics_save":
        assert said == "", "tcp_no_metrics_save says it too"
    elif name == "ipv4/tcp_rto_max_ms":
        assert said == "Linux 6.18 has a largest timeout of 120000 ms, not 60000 ms."
    else:
        assert said.startswith(f"Linux 6.18 has no net.{name.replace('/', '.')} that can be set")
        assert said.endswith(f"is not set to {kernel_tcp(LINUX_6, 1500, MODERN).sysctls[name]}.")


@pytest.mark.parametrize(
    ("mtu_bytes", "segments"),
    [(1500, 3), (9000, 2), (576, 4)],  # 4380 / 1448 = 3.02; two of 8948; four of 524
)
def test_the_initial_window_is_that_of_rfc_3390_unless_told(mtu_bytes: int, segments: int) -> None:
    tcp = changed(initial_window_segments=None)

    assert f"initcwnd {segments}" in kernel_tcp(tcp, mtu_bytes, MODERN).route


def test_the_minimum_timeout_goes_into_the_route_in_whole_milliseconds() -> None:
    assert "rto_min 5ms" in kernel_tcp(changed(min_rto_ns=5_000_000), 1500, MODERN).route
    assert "rto_min 1ms" in kernel_tcp(changed(min_rto_ns=200_000), 1500, MODERN).route


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"recovery": "fack"}, "no forward acknowledgment and no rate halving"),
        ({"recovery": "rfc"}, "not RFC 6675"),
        ({"rack": False}, "always finds losses by time"),
        ({"delayed_ack_ns": 100_000_000}, "40 ms, not by 100 ms"),
        ({"min_rto_ns": 1_000_000}, "1 ms is rounded up to a tick of 4 ms"),
        ({"min_rto_ns": 5_500_000}, "5.5 ms is set as 6 ms"),
        ({"clock_tick_ns": 1_000_000}, "tick of 4 ms here, not 1 ms"),
        ({"initial_rto_ns": 3_000_000_000}, "starts with a timeout of 1 s, not 3000 ms"),
        ({"max_rto_ns": 500_000_000}, "largest timeout of 1000 ms, not 500 ms"),
        ({"rto_rule": "rfc-6298"}, "not the timeout as RFC 6298"),
        ({"window_rule": "buffer"}, "the payload that fits into its receive buffer"),
        ({"congestion_control": "reno-ack-counting"}, "has no reno-ack-counting"),
        ({"congestion_control": "cubic"}, "HyStart is on for the whole machine"),
        ({"quick_ack_segments": 0}, "not the first 0"),
        ({"quick_ack_disorder": True}, "not acknowledge quickly because of data out of order"),
        ({"ack_pushed": False}, "as soon as it is read"),
        ({"ack_every_segments": 1}, "every 2 segments, not every 1"),
        ({"offload_rule": "deferral"}, "sizes its bursts by the pacing rate"),
        ({"offload_burst_bytes": 262_144}, "65536 bytes at most"),
        ({"offload_request_bytes": 16_384}, "requests of 16384 bytes are not imposed"),
        ({"limit_output_bytes": 0}, "holds a connection back while a millisecond of its own data"),
    ],
)
def test_what_the_kernel_cannot_do_is_one_sentence(values: dict[str, object], words: str) -> None:
    (said,) = departures(changed(**values), MODERN)

    assert words in said
    assert said.endswith(".")


def others(knob: Knob) -> list[object]:
    """Values of a setting that the profile of this kernel does not have."""
    own = getattr(LINUX_6, knob.wired)
    if isinstance(knob.scalar, Choice):
        return [value for value in knob.scalar.options if value != own]
    return [not own] if knob.type is bool else [2 * own + 1]


@pytest.mark.parametrize("knob", knobs(wire.Tcp).values(), ids=lambda knob: knob.name)
def test_a_setting_of_tcp_reaches_the_kernel_or_is_said_not_to(knob: Knob) -> None:
    def done(tcp: wire.Tcp) -> object:
        return kernel_tcp(tcp, 1500, MODERN), departures(tcp, MODERN)

    for value in others(knob):
        assert done(changed(**{knob.wired: value})) != done(LINUX_6), value


@pytest.mark.parametrize("name", ["bic", "dctcp", "bbr", "vegas"])
def test_a_congestion_control_that_is_not_here_is_missed_by_name(name: str) -> None:
    said = missing_control(changed(congestion_control=name), MODERN)
    assert said == f"Linux 6.18 has no {name} here; it has cubic, reno."
    assert missing_control(changed(congestion_control="cubic-hystart"), MODERN) is None


@pytest.mark.parametrize("name", ["bbr", "vegas"])
def test_a_congestion_control_is_the_kernel_s_where_the_kernel_has_it(name: str) -> None:
    having = replace(MODERN, congestion_controls=MODERN.congestion_controls | {name})
    tcp = changed(congestion_control=name)
    assert missing_control(tcp, having) is None
    assert kernel_tcp(tcp, 1500, having).congestion_control == name
    assert departures(tcp, having) == departures(LINUX_6, having)


def test_rack_can_be_turned_off_before_6_17_and_without_sack() -> None:
    assert departures(changed(rack=False), replace(MODERN, release="6.12.1")) == []
    assert departures(changed(rack=False, sack=False), MODERN) == []


def test_a_congestion_control_that_is_not_there_gives_way_to_reno() -> None:
    assert kernel_tcp(changed(congestion_control="bic"), 1500, MODERN).congestion_control == "reno"
    assert kernel_tcp(LINUX_6, 1500, MODERN).congestion_control == "cubic"
