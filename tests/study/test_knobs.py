"""Settings of TCPs, interfaces, switches and links: declared once, and refused where senseless."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import BaseModel

from netstudy import buffers, wire
from netstudy.errors import StudyError
from netstudy.hardware import LocalPathFigures, NicFigures, SwitchFigures, TcpFigures
from netstudy.knobs import knobs
from netstudy.plan import make_plan, unsupported
from netstudy.study import Study, load
from netstudy.study.topology import LocalPath, Nic, Switch, TcpKnobs

Small = Callable[..., Study]
Write = Callable[..., Path]
BUFFERS = (buffers.OutputQueued, buffers.SharedMemory, buffers.IngressQueued)

SERVER = "server: {profile: host-10g,"
LINK = "link: {rate: 10 Gbit/s, delay: 1 us,"
INCAST = 'incast: {block: "${block}",'
SHALLOW = 'switch: "${switch}"'


@pytest.mark.parametrize(
    ("model", "study", "profile"),
    [
        (wire.Tcp, TcpKnobs, TcpFigures),
        (wire.Nic, Nic, NicFigures),
        (wire.LocalPath, LocalPath, LocalPathFigures),
        (wire.Switch, Switch, SwitchFigures),
        *((buffer, Switch, SwitchFigures) for buffer in BUFFERS),
    ],
)
def test_what_the_wire_carries_can_be_said_in_a_study_and_in_a_profile(
    model: type[BaseModel], study: type[BaseModel], profile: type[BaseModel]
) -> None:
    for said in (study, profile):
        shown = said.model_json_schema(by_alias=True)["properties"]
        for name, knob in knobs(model).items():
            assert knob.description
            assert shown[name]["description"].endswith(knob.description)


def test_a_setting_that_grows_says_what_gets_worse() -> None:
    quantities = [knob for knob in knobs(wire.Tcp).values() if knob.type is int]
    silent = [
        knob.name
        for knob in quantities
        if not any(word in knob.description for word in ("Longer:", "Larger:", "More:"))
    ]
    assert quantities
    assert silent == []


def test_the_one_name_that_is_not_the_wire_s_without_its_unit() -> None:
    others = [
        (knob.name, knob.wired)
        for model in (wire.Tcp, wire.Nic, wire.Switch, *BUFFERS)
        for knob in knobs(model).values()
        if not knob.wired.startswith(knob.name)
    ]
    assert others == [("receive_per_frame", "receive_frame_ns")]


def refused(write: Write, *changes: tuple[str, str], scale: str = "1") -> str:
    """What is said of the small study with some text replaced, once it is planned."""
    folder = write(*changes)
    with pytest.raises(StudyError) as caught:
        make_plan(load(folder), scale=Fraction(scale))
    return str(caught.value).replace(f"{folder}/", "")


TCP = "study.yaml:11:{column}: topology.server.tcp.{knob}: {said}"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("max_rto: 0 s", "must be at least 1 ms, not 0 s"),
        ("max_rto: 2 h", "must be at most 1 h, not 2 h"),
        ("min_rto: 2 h", "must be at most 1 h, not 2 h"),
        ("initial_rto: 0 s", "must be at least 1 ns, not 0 s"),
        ("initial_window: 0", "must be at least 1, not 0"),
        ("clock_tick: 2 s", "must be at most 1 s, not 2 s"),
        ("ack_every: 0", "must be at least 1, not 0"),
        ("offload_burst: 5 GB", "must be at most 1 GiB, not 5 GB"),
        ("send_buffer: 0 B", "must be at least 576 B, not 0 B"),
        ("receive_buffer: 1 B", "must be at least 576 B, not 1 B"),
        ("send_buffer: 2 GiB", "must be at most 1 GiB, not 2 GiB"),
    ],
)
def test_a_senseless_setting_of_tcp_is_refused_by_name(
    setting: str, said: str, write: Write
) -> None:
    knob = setting.partition(":")[0]
    column = len("  server: {profile: host-10g, tcp: {") + len(f"{knob}: ") + 1
    told = refused(write, (SERVER, f"{SERVER} tcp: {{{setting}}},"))
    assert told == TCP.format(column=column, knob=knob, said=said)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("send_latency: 2 min", "must be at most 60 s, not 2 min"),
        ("receive_latency: 2 min", "must be at most 60 s, not 2 min"),
        ("receive_jitter: 2 s", "must be at most 1 s, not 2 s"),
        ("receive_per_frame: 1 min", "must be at most 1 s, not 1 min"),
        ("receive_rate: 1 bit/s", "must be at least 1 kbit/s, not 1 bit/s"),
        ("interrupt_delay: 1 h", "must be at most 1 s, not 1 h"),
        ("transmit_queue: 0", "must be at least 1, not 0"),
        ("receive_ring: 0", "must be at least 1, not 0"),
        ("poll_weight: 0", "must be at least 1, not 0"),
        ("receive_merge: 4 GiB", "must be at most 1 GiB, not 4 GiB"),
    ],
)
def test_a_senseless_setting_of_an_interface_is_refused_by_name(
    setting: str, said: str, write: Write
) -> None:
    told = refused(write, (SERVER, f"{SERVER} nic: {{{setting}}},"))
    assert told.endswith(f"topology.server.nic.{setting.partition(':')[0]}: {said}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (SHALLOW, 'switch: {profile: "${switch}", latency: 2 min}',
         "topology.switch.latency: must be at most 60 s, not 2 min"),
        (SHALLOW, 'switch: {profile: "${switch}", port_buffer: 1000 B}',
         "topology.switch.port_buffer: the empty buffer of generic-shallow has no room for the "
         "largest frame, of 9018 bytes"),
        (SHALLOW, "switch: {profile: generic-shared, pool: 9 kB, port_reserve: 0 B}",
         "topology.switch.pool: the empty buffer of generic-shared has no room for the largest "
         "frame, of 9018 bytes"),
        (SHALLOW, "switch: {profile: generic-shared, alpha: 0}",
         "topology.switch.alpha: must be above 0, not 0"),
        (SHALLOW, "switch: {profile: generic-shared, cell: 0 B}",
         "topology.switch.cell: must be at least 1 B, not 0 B"),
        (SHALLOW, "switch: {profile: generic-voq, ingress_buffer: 0 B}",
         "topology.switch.ingress_buffer: the empty buffer of generic-voq has no room for the "
         "largest frame, of 9018 bytes"),
        (SHALLOW, "switch: {profile: generic-voq, random_arbitration: 200 %}",
         "topology.switch.random_arbitration: must be at most 100 %, not 200 %"),
        (LINK, "link: {rate: 10 bit/s, delay: 1 us,",
         "topology.link.rate: must be at least 1 kbit/s, not 10 bit/s"),
        (LINK, "link: {rate: 10 Gbit/s, delay: 1 h,",
         "topology.link.delay: must be at most 60 s, not 1 h"),
        (INCAST, f"{INCAST} request: 0 B,",
         "workload.incast.request: must be at least 1 B, not 0 B"),
        (INCAST, f"{INCAST} spacing: 1 h,",
         "workload.incast.spacing: must be at most 60 s, not 1 h"),
        (INCAST, f"{INCAST} jitter: {{exponential: 1 h}},",
         "workload.incast.jitter.exponential: must be at most 60 s, not 1 h"),
    ],
)  # fmt: skip
def test_a_senseless_network_is_refused_by_name(
    old: str, new: str, said: str, write: Write
) -> None:
    varied = ("[generic-shallow, generic-deep]", "[generic-shallow]")  # some leave it unused
    assert refused(write, varied, (old, new)).endswith(f": {said}")


def test_a_small_block_may_have_a_small_buffer(small: Small) -> None:
    study = small(
        ("block: 1 MB", "block: 500 B"),
        (SHALLOW, 'switch: {profile: "${switch}", port_buffer: 600 B}'),
    )
    assert make_plan(study).plan.runs


def test_a_scale_that_leaves_nothing_of_a_link_is_refused(write: Write) -> None:
    assert refused(write, scale="1/100000000").endswith(
        "topology.link.rate: 10 Gbit/s at 1/100000000: must be at least 1 kbit/s, not 100 bit/s"
    )


@pytest.mark.parametrize(
    ("knobs_said", "place", "said"),
    [
        ("tcp: {min_rto: 2 s, max_rto: 1 s}", "11:60: topology.server.tcp.max_rto",
         "max_rto, 1 s, is below min_rto, 2 s"),
        ("tcp: {max_rto: 100 ms}", "11:46: topology.server.tcp.max_rto",
         "max_rto, 100 ms, is below min_rto, 200 ms"),
        ("tcp: {profile: rfc, min_rto: 61 s}", "11:60: topology.server.tcp.min_rto",
         "max_rto, 60 s, is below min_rto, 61 s"),
        ("tcp: {initial_rto: 3 min}", "11:50: topology.server.tcp.initial_rto",
         "max_rto, 2 min, is below initial_rto, 3 min"),
        ("nic: {pause_high: 5, pause_low: 6}", "11:49: topology.server.nic.pause_high",
         "pause_high, 5, is below pause_low, 6"),
    ],
)  # fmt: skip
def test_settings_that_do_not_go_together_are_refused_at_the_one_that_the_study_says(
    knobs_said: str, place: str, said: str, write: Write
) -> None:
    told = refused(write, (SERVER, f"{SERVER} {knobs_said},"))
    assert told == f"study.yaml:{place}: {said}; it must be at least that"


@pytest.mark.parametrize("setting", ["pause_low: 6", "pause_quanta: 10"])
def test_a_setting_of_pauses_that_nobody_asks_for_is_refused(setting: str, write: Write) -> None:
    told = refused(write, (SERVER, f"{SERVER} nic: {{{setting}}},"))
    name = setting.partition(":")[0]
    assert told.endswith(f"topology.server.nic.{name}: has no effect without pause_high")


@pytest.mark.parametrize(
    ("server", "link", "said"),
    [
        ("nic: {}", "nic: {pause_low: 2}",
         "topology.link.nic.pause_low: has no effect without pause_high"),
        ("nic: {receive_ring: 8}", "nic: {receive_refill: 64}",
         "topology.server.nic.receive_ring: receive_ring, 8, is below receive_refill, 64; it must "
         "be at least that"),
        ("nic: {pause_high: 10}", "nic: {pause_low: 20}",
         "topology.server.nic.pause_high: pause_high, 10, is below pause_low, 20; it must be at "
         "least that"),
        ("nic: {pause_low: 20}", "nic: {pause_high: 10}",
         "topology.link.nic.pause_high: pause_high, 10, is below pause_low, 20; it must be at "
         "least that"),
        ("cpu: {receive_per_packet: 1 us}", "nic: {receive_per_frame: 1 us}",
         "topology.link.nic: received packets cost CPU time at the interface (receive_per_frame, "
         "receive_rate) and at the CPUs; say it once"),
        ("cpu: {receive_per_packet: 1 us}, nic: {receive_ring: 8}", "nic: {receive_latency: 1 us}",
         "topology.server.nic.receive_ring: has no effect without a packet_rate or an "
         "interrupt_delay where its host has CPUs with packet costs, or buses: frames wait "
         "for these behind the ring, not in it. To fill the ring, say what receiving costs by "
         "receive_per_frame and receive_rate instead"),
        ("nic: {receive_refill: 4}", "nic: {receive_latency: 1 us}",
         "topology.server.nic.receive_refill: has no effect without receive_ring"),
        ("nic: {buffer: 64 KiB}", "nic: {receive_latency: 1 us}",
         "topology.server.nic.buffer: has no effect without buffers"),
        ("nic: {}", "nic: {buffer: 64 KiB}",
         "topology.link.nic.buffer: has no effect without buffers"),
    ],
)  # fmt: skip
def test_settings_of_a_host_and_of_its_link_go_together(
    server: str, link: str, said: str, write: Write
) -> None:
    told = refused(write, (SERVER, f"{SERVER} {server},"), (LINK, f"{LINK} {link},"))
    assert told.endswith(said)


def test_a_ring_in_which_frames_wait_for_an_interrupt_may_have_an_end_beside_cpus(
    small: Small,
) -> None:
    nic = "{receive_ring: 8, interrupt_delay: 30 us}"
    study = small((SERVER, f"{SERVER} cpu: {{receive_per_packet: 1 us}}, nic: {nic},"))
    assert make_plan(study).plan.runs


@pytest.mark.parametrize(
    ("server", "link", "frames"),
    [
        ("nic: {buffer: 15140 B}", "buffers: 4", 40),
        ("nic: {buffer: 15140 B}", "nic: {buffers: 4}", 40),
        ("nic: {buffers: 4}", "nic: {buffer: 15140 B}", 40),
        ("nic: {buffers: 4, buffer: 30280 B}", "nic: {buffer: 15140 B}", 40),
        ("nic: {buffers: 4}", "nic: {transmit_queue: 7}", 7),
        ("nic: {transmit_queue: 7}", "buffers: 4", 4),
    ],
)
def test_buffers_and_their_size_may_be_said_at_host_and_link(
    server: str, link: str, frames: int, small: Small
) -> None:
    study = small((SERVER, f"{SERVER} {server},"), (LINK, f"{LINK} {link},"))
    run = make_plan(study).plan.runs[0]
    nics = [port.nic for one in run.network.links for port in one.ports if "server" in port.node]
    assert [nic.transmit_queue_frames for nic in nics if nic] == [frames] * len(nics)


def test_a_threshold_of_the_host_and_one_of_its_link_pause_together(small: Small) -> None:
    study = small(
        (SERVER, f"{SERVER} nic: {{pause_low: 2}},"), (LINK, f"{LINK} nic: {{pause_high: 9}},")
    )
    assert make_plan(study).plan.runs


@pytest.mark.parametrize(
    ("other", "needed"),
    [("profile: linux-6", "recovery: fack"), ("offload_burst: 0 B", "offload_burst")],
)
def test_requests_of_an_adapter_that_nothing_cuts_are_refused(
    other: str, needed: str, write: Write
) -> None:
    base = "profile: linux-2.6.18, " if "profile" not in other else ""
    told = refused(write, (SERVER, f"{SERVER} tcp: {{{base}{other}, offload_request: 16 KiB}},"))
    assert told.endswith(f"server.tcp.offload_request: has no effect without {needed}")


@pytest.mark.parametrize("setting", ["rack: false", "tail_loss_probe: true"])
@pytest.mark.parametrize("base", ["recovery: rfc", "profile: linux-2.6.18"])
def test_what_belongs_to_another_loss_recovery_is_not_simulated(
    base: str, setting: str, small: Small
) -> None:
    study = small((SERVER, f"{SERVER} tcp: {{{base}, {setting}}},"))
    name = setting.partition(":")[0]
    assert unsupported(study, "sim") == [
        f"The {name} of host server has no effect in the simulator without recovery: prr; leave it "
        "out, or set recovery: prr too."
    ]
    assert unsupported(study, "netns-kernel") == unsupported(small(), "netns-kernel")


@pytest.mark.parametrize("base", ["recovery: prr", "profile: linux-6", 'recovery: "${way}"'])
def test_a_setting_of_a_loss_recovery_is_for_hosts_that_may_have_it(
    base: str, small: Small
) -> None:
    ways = ("  servers: 1..3", "  servers: 1..3\n  way: [rfc, prr]")
    varied = (ways,) if "way" in base else ()
    study = small((SERVER, f"{SERVER} tcp: {{{base}, rack: false}},"), *varied)
    assert unsupported(study, "sim") == []


def test_quick_acknowledgments_after_disorder_that_are_none_are_refused(write: Write) -> None:
    asks = f"{SERVER} tcp: {{quick_ack: 0, quick_ack_disorder: true}},"
    told = refused(write, (SERVER, asks))
    assert told.endswith("server.tcp.quick_ack_disorder: has no effect without quick_ack")


def test_bbr_without_the_recovery_that_measures_its_rates_is_refused(write: Write) -> None:
    asks = f"{SERVER} tcp: {{profile: rfc, congestion_control: bbr}},"
    told = refused(write, (SERVER, asks))
    assert told.endswith(
        "server.tcp.congestion_control: congestion_control: bbr needs recovery: prr, not rfc"
    )
    says_both = "tcp: {congestion_control: bbr, recovery: fack}"
    told = refused(write, (SERVER, f"{SERVER} {says_both},"))
    assert told.endswith("congestion_control: bbr needs recovery: prr, not fack")


def test_pauses_are_set_beside_the_threshold_of_a_profile(write: Write) -> None:
    asks = f"{SERVER} nic: {{pause_high: 60, pause_low: 6, pause_quanta: 10}},"
    assert make_plan(load(write((SERVER, asks)))).plan.runs


def test_levels_that_do_not_go_together_are_refused(write: Write) -> None:
    told = refused(
        write,
        ("  servers: 1..3", "  servers: 1..3\n  rto: [1 s, 10 min]"),
        (SERVER, f'{SERVER} tcp: {{min_rto: "${{rto}}"}},'),
    )
    assert told.endswith("max_rto, 2 min, is below min_rto, 600 s; it must be at least that")


OWN_TCP = """\
profile: mine
kind: tcp
title: My TCP
figures:
  min_rto: {value: 1 s, source: assumed, from: an example}
  max_rto: {value: 2 s, source: assumed, from: an example}
  recovery: {value: rfc, source: assumed, from: an example}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("min_rto", "min_rot", '5:3: figures.min_rot: unknown key; did you mean "min_rto"?'),
        ("value: 2 s", "value: 0 s",
         "6:20: figures.max_rto.value: must be at least 1 ms, not 0 s"),
        ("value: 2 s", "value: 500 ms",
         "6:20: figures.max_rto.value: max_rto, 500 ms, is below min_rto, 1 s; it must be at least "
         "that"),
        ("value: rfc", "value: tahoe",
         '7:21: figures.recovery.value: "tahoe" is not a way of loss recovery; known: rfc, fack, '
         "prr"),
        ("title: My TCP", "titel: My TCP", '3:1: titel: unknown key; did you mean "title"?'),
    ],
)  # fmt: skip
def test_a_mistake_in_a_user_s_own_tcp_profile_has_its_place(
    old: str, new: str, said: str, write: Write
) -> None:
    folder = write((SERVER, f"{SERVER} tcp: mine,"))
    (folder / "hardware").mkdir()
    own = folder / "hardware" / "mine.yaml"
    own.write_text(OWN_TCP, encoding="utf-8")
    assert make_plan(load(folder)).plan.runs
    own.write_text(OWN_TCP.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        load(folder)
    assert f"{own}:{said}" in str(caught.value).splitlines()


def test_two_profiles_that_do_not_go_together_are_refused(write: Write) -> None:
    """A host that names a TCP, and says of itself what that TCP does not go with."""
    folder = write((SERVER, "server: {profile: slow,"))
    (folder / "hardware").mkdir()
    (folder / "hardware" / "slow.yaml").write_text(
        "profile: slow\nkind: host\ntitle: A slow host\n"
        "tcp:\n  profile: rfc\n"
        "  min_rto: {value: 2 min, source: assumed, from: an example}\n"
    )
    with pytest.raises(StudyError) as caught:
        make_plan(load(folder))
    assert str(caught.value).endswith(
        "study.yaml:11:11: topology.server.tcp: "
        "max_rto, 60 s, is below min_rto, 2 min; it must be at least that"
    )
