"""Whole TCPs by their names: what a host, a study and its factors make of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from netstudy import wire
from netstudy.hardware import HardwareLibrary
from netstudy.plan import make_plan
from netstudy.study import Study

Small = Callable[..., Study]
Refusal = Callable[..., list[str]]

SERVER = 'server: {profile: host-10g, count: "${servers}"}'
PROFILES = ("linux-2.6.18", "linux-6", "rfc")
PARTS = (
    "congestion_control", "recovery", "sack", "timestamps", "ecn", "rto_rule", "initial_rto",
    "min_rto", "max_rto", "clock_tick", "delayed_ack", "ack_every", "quick_ack",
    "quick_ack_disorder", "ack_pushed", "restart_after_idle", "offload_burst", "limit_output",
    "send_buffer", "receive_buffer", "window_rule",
)  # fmt: skip
"""What a whole TCP says; the initial window has a rule of its own (RFC 3390)."""


def with_tcp(text: str, profile: str = "host-10g") -> tuple[str, str]:
    return SERVER, f'server: {{profile: {profile}, count: "${{servers}}", tcp: {text}}}'


def server_tcps(study: Study) -> list[wire.Tcp]:
    """The servers' TCPs in the plan, each once."""
    runs = make_plan(study, seed=1).plan.runs
    return list(dict.fromkeys(run.network.group("server").tcp for run in runs))


@pytest.mark.parametrize("name", PROFILES)
def test_a_whole_tcp_says_every_part(name: str) -> None:
    figures = HardwareLibrary.default().tcp(name).figures
    assert [part for part in PARTS if getattr(figures, part) is None] == []


def test_generic_hosts_have_the_tcp_of_linux_6(small: Small) -> None:
    (tcp,) = server_tcps(small())
    assert (tcp.profile, tcp.congestion_control, tcp.recovery) == (
        "linux-6",
        "cubic-hystart",
        "prr",
    )
    assert (tcp.rack, tcp.tail_loss_probe, tcp.initial_window_segments) == (True, True, 10)
    assert tcp.min_rto_ns == 200_000_000


@pytest.mark.parametrize("text", ["rfc", "{profile: rfc}"])
def test_a_study_names_another_tcp(text: str, small: Small) -> None:
    (tcp,) = server_tcps(small(with_tcp(text)))
    assert (tcp.profile, tcp.congestion_control, tcp.recovery) == ("rfc", "reno", "rfc")
    assert (tcp.rto_rule, tcp.min_rto_ns, tcp.offload_burst_bytes) == (
        "rfc-6298", 1_000_000_000, 0,
    )  # fmt: skip


def test_nothing_is_left_of_the_tcp_that_another_replaces(small: Small) -> None:
    (tcp,) = server_tcps(small(with_tcp("linux-2.6.18")))
    assert tcp.initial_window_segments is None, "RFC 3390, not the 10 segments of Linux 6"


def test_what_is_special_about_a_host_stays_where_another_tcp_says_nothing(small: Small) -> None:
    (own,) = server_tcps(small(with_tcp("{}", "ucs-c200-rhel54")))
    (other,) = server_tcps(small(with_tcp("linux-6", "ucs-c200-rhel54")))
    assert (own.profile, own.offload_request_bytes) == ("linux-2.6.18", 16_384)
    assert own.offload_rule == "deferral"
    assert (other.profile, other.offload_request_bytes) == ("linux-6", 16_384)
    assert (other.offload_burst_bytes, other.offload_rule) == (65_536, "autosizing")


def test_a_tcp_is_a_factor(small: Small) -> None:
    study = small(
        ("  servers: 1..3", f"  servers: 1..3\n  tcp: [{', '.join(PROFILES)}]"),
        with_tcp('"${tcp}"'),
    )
    assert {tcp.profile for tcp in server_tcps(study)} == set(PROFILES)


@pytest.mark.parametrize("profile", PROFILES)
def test_each_part_is_a_factor_with_every_profile(profile: str, small: Small) -> None:
    knobs: dict[str, tuple[str, str, list[object]]] = {
        "min_rto": ("[200 ms, 1 ms]", "min_rto_ns", [200_000_000, 1_000_000]),
        "initial_window": ("[2, 10]", "initial_window_segments", [2, 10]),
        "delayed_ack": ("[0 ns, 40 ms]", "delayed_ack_ns", [0, 40_000_000]),
        "send_buffer": ("[64 KiB, 4 MiB]", "send_buffer_bytes", [65_536, 4_194_304]),
        "receive_buffer": ("[64 KiB, 4 MiB]", "receive_buffer_bytes", [65_536, 4_194_304]),
        "rack": ("[true, false]", "rack", [True, False]),
        "tail_loss_probe": ("[true, false]", "tail_loss_probe", [True, False]),
        "recovery": ("[rfc, fack, prr]", "recovery", ["rfc", "fack", "prr"]),
        "congestion_control": ("[reno, dctcp]", "congestion_control", ["reno", "dctcp"]),
        "offload_rule": ("[deferral, autosizing]", "offload_rule", ["deferral", "autosizing"]),
        "window_rule": ("[buffer, scaling-ratio]", "window_rule", ["buffer", "scaling-ratio"]),
        "limit_output": ("[0 B, 1 MiB]", "limit_output_bytes", [0, 1_048_576]),
    }
    for knob, (levels, wired, values) in knobs.items():
        study = small(
            ("  servers: 1..3", f"  servers: 1..3\n  level: {levels}"),
            with_tcp(f'{{profile: {profile}, {knob}: "${{level}}"}}'),
        )
        found = server_tcps(study)
        assert {getattr(tcp, wired) for tcp in found} == set(values), knob
        assert {tcp.profile for tcp in found} == {profile}


def test_an_unknown_tcp_is_refused_with_the_nearest(refusal: Refusal) -> None:
    (said,) = refusal(with_tcp("linux-5"))
    assert said.endswith(
        'no tcp profile "linux-5"; did you mean "linux-6"? (tcp profiles: linux-2.6.18, linux-6, '
        "rfc)"
    )
