"""The plan: the same bytes each time, runs that keep their identity, the network on the wire."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy import testbed, wire
from netstudy.buffers import IngressQueued, OutputQueued, SharedMemory
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan import (
    Estimate,
    PlannedStudy,
    make_plan,
    make_round,
    run_id,
    run_seed,
    stated,
    unsupported,
)
from netstudy.plan.identity import canonical
from netstudy.plan.loops import CaseTreatment
from netstudy.plan_lines import plan_bytes
from netstudy.store.invocation import InventoryCopy
from netstudy.study import Study, apply_overrides, load, parse_only
from netstudy.study.vocabulary import HOSTS, TESTBEDS

ROOT = Path(__file__).parents[2]
Small = Callable[..., Study]


def plan_text(planned: PlannedStudy) -> str:
    return plan_bytes(planned.plan).decode()


def test_the_same_study_and_seed_give_the_same_bytes(small: Small) -> None:
    assert plan_text(make_plan(small(), seed=7)) == plan_text(make_plan(small(), seed=7))
    assert plan_text(make_plan(small(), seed=7)) != plan_text(make_plan(small(), seed=8))


def test_the_bytes_do_not_depend_on_the_process() -> None:
    """Python's own hashes differ from process to process; none of them may reach the plan."""
    program = (
        "from pathlib import Path; from netstudy.plan_lines import plan_bytes;"
        "from netstudy.plan import make_plan;"
        "from netstudy.study import load; import hashlib;"
        f"plan = make_plan(load(Path({str(ROOT / 'studies/incast')!r}))).plan;"
        "print(hashlib.sha256(plan_bytes(plan)).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_the_seed_of_the_study_is_used_where_none_is_given(small: Small) -> None:
    study = small(("study: small", "study: small\nseed: 42"))
    assert make_plan(study).seed == 42
    assert make_plan(study, seed=7).plan.seed == 7


def test_identities_are_hashes_that_anyone_can_compute() -> None:
    treatment: wire.Treatment = {"switch": "a", "servers": 2}
    text = '{"servers":2,"switch":"a"}'
    assert (
        run_id(canonical(treatment), 3)
        == hashlib.sha256(f"run\n{text}\n3".encode()).hexdigest()[:12]
    )
    assert (
        run_seed(canonical(treatment), 3, 7)
        == hashlib.sha256(f"seed\n7\n{text}\n3".encode()).hexdigest()[:16]
    )


def identities(planned: PlannedStudy) -> dict[str, str]:
    return {run.id: run.seed for run in planned.plan.runs}


def test_leaving_runs_out_shifts_nothing(small: Small) -> None:
    study = small(("study: small", "study: small\nreplicates: 3"))
    whole = make_plan(study, seed=7)
    part = make_plan(study, seed=7, only=parse_only(["servers=2,3"], study))
    kept = {run.id for run in part.plan.runs}
    assert identities(part).items() <= identities(whole).items()
    assert [run.id for run in part.plan.runs] == [
        run.id for run in whole.plan.runs if run.id in kept
    ]
    assert len(part.plan.runs) == 12


def test_changing_a_value_shifts_no_identity(small: Small) -> None:
    study = small()
    changed = apply_overrides(study, {"workload.incast.iterations": "20"})
    assert identities(make_plan(changed, seed=7)) == identities(make_plan(study, seed=7))


def test_levels_of_different_kinds_are_different_treatments() -> None:
    assert run_id(canonical({"x": 1}), 1) != run_id(canonical({"x": "1"}), 1)
    assert run_id(canonical({"x": 1}), 1) != run_id(canonical({"x": True}), 1)


def test_the_order_of_factors_does_not_matter_to_an_identity() -> None:
    assert run_id(canonical({"a": 1, "b": 2}), 1) == run_id(canonical({"b": 2, "a": 1}), 1)


def test_runs_come_in_blocks_of_one_replicate_each_in_its_own_order(small: Small) -> None:
    study = small(("study: small", "study: small\nreplicates: 3"))
    runs = make_plan(study, seed=7).plan.runs
    assert [run.replicate for run in runs] == [1] * 6 + [2] * 6 + [3] * 6
    orders = [
        [json.dumps(run.treatment) for run in runs[start : start + 6]] for start in (0, 6, 12)
    ]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert len({tuple(order) for order in orders}) == 3


def test_cells_keep_the_order_of_the_study(small: Small) -> None:
    study = small(("study: small", "study: small\nreplicates: 2"))
    planned = make_plan(study)
    assert [tuple(cell.treatment.values()) for cell in planned.cells] == [
        (switch, "1 MB", servers)
        for switch in ("generic-shallow", "generic-deep")
        for servers in (1, 2, 3)
    ]
    for cell in planned.cells:
        assert cell.run_ids == tuple(run_id(canonical(cell.treatment), n) for n in (1, 2))
    assert {one for cell in planned.cells for one in cell.run_ids} == set(identities(planned))


def test_a_choice_that_leaves_nothing_is_refused(small: Small) -> None:
    with pytest.raises(StudyError, match="nothing is left to run"):
        make_plan(small(), only={"servers": []})


def test_cases_share_the_run_where_their_treatments_coincide() -> None:
    planned = make_plan(load(ROOT / "studies/trade"))
    shared = [run for run in planned.plan.runs if len(run.cases) > 1]
    assert planned.most.runs == 3 * len({cell.run_ids for cell in planned.cells})
    common: dict[str, wire.Level] = {
        "release": "6.1.0.11",
        "disk": "F20",
        "buffers": 16,
        "db_cpus": 4,
        "system": "RHEL 4.5",
        "cpus": 8,
        "users": 60,
    }
    found = [run for run in shared if run.treatment == common]
    assert [run.replicate for run in found] == [1, 2, 3]
    assert found[0].cases == ("disk", "buffers")
    cells = [cell for cell in planned.cells if found[0].id in cell.run_ids]
    assert [(cell.case, cell.treatment) for cell in cells] == [
        ("disk", {"disk": "F20", "users": 60}),
        ("buffers", {"buffers": 16}),
    ]
    # The database has other processors where the application server's are studied.
    other = run_id(canonical(common | {"buffers": 128}), replicate=1)
    assert [cell.case for cell in planned.cells if other in cell.run_ids] == ["buffers"]


def only_run(study: Study, **levels: int) -> wire.Run:
    only = {name: [level] for name, level in levels.items()}
    return make_plan(study, only=only | {"switch": ["generic-shallow"]}).plan.runs[0]


def the_switch(run: wire.Run) -> wire.Switch:
    (switch,) = run.network.switches
    return switch


def test_the_network_has_the_levels_in_it(small: Small) -> None:
    run = only_run(small(), servers=3)
    assert [host.name for host in run.network.hosts] == [
        "client", "server-1", "server-2", "server-3",
    ]  # fmt: skip
    assert run.network.group("server").profile == "host-10g"
    assert the_switch(run).buffer == OutputQueued(port_buffer_bytes=512_000)
    assert [(link.a.node, link.a.name, link.b.node, link.b.name) for link in run.network.links] == [
        ("client", "eth0", "switch", "client"),
        ("server-1", "eth0", "switch", "server-1"),
        ("server-2", "eth0", "switch", "server-2"),
        ("server-3", "eth0", "switch", "server-3"),
    ]
    for link in run.network.links:
        assert {port.rate_bps for port in link.ports} == {10**10}
        assert (link.delay_ns, link.mtu_bytes) == (1000, 9000)
    assert run.workload == wire.Incast(
        roles=wire.Roles(client=("client",), server=("server-1", "server-2", "server-3")),
        block_bytes=1_000_000,
    )
    assert run.phases == (wire.Phase(kind="measure", until=wire.UntilCount(count=10)),)


def test_the_two_published_switches_on_the_wire() -> None:
    study = load(ROOT / "studies/incast")
    runs = make_plan(study, only={"servers": [2]}).plan.runs
    buffers = {the_switch(run).profile: the_switch(run).buffer for run in runs}
    assert buffers["arista-7124s"] == SharedMemory(
        pool_bytes=1_240_000,
        port_reserve_bytes=20_000,
        cell_bytes=512,
        alpha=0.4,
        ingress_guarantee_frames=2,
    )
    figures = HardwareLibrary.default().switch("nexus-5010").figures
    assert figures.ingress_buffer
    assert figures.ingress_cell
    assert figures.ingress_reserve
    assert figures.egress_buffer
    assert figures.random_arbitration
    assert buffers["nexus-5010"] == IngressQueued(
        ingress_buffer_bytes=figures.ingress_buffer.value,
        ingress_cell_bytes=int(figures.ingress_cell.value),
        ingress_reserve_frames=int(figures.ingress_reserve.value),
        egress_buffer_bytes=figures.egress_buffer.value,
        random_arbitration_pct=int(figures.random_arbitration.value),
    )
    tcp = runs[0].network.groups[0].tcp
    assert (tcp.min_rto_ns, tcp.clock_tick_ns) == (200_000_000, 1_000_000)
    assert (tcp.delayed_ack_ns, tcp.quick_ack_segments) == (40_000_000, 16)
    assert tcp.initial_window_segments is None
    incast = runs[0].workload
    assert isinstance(incast, wire.Incast)
    assert incast.start_jitter == wire.ExponentialJitter(mean_ns=75_000)
    assert incast.request_spacing_ns == 5_000
    assert (runs[0].count("warm-up"), runs[0].count("measure")) == (10, 200)


def test_the_study_wins_over_the_profile(small: Small) -> None:
    study = small(
        ("server: {profile: host-10g,",
         "server: {profile: host-10g, tcp: {min_rto: 1 ms, sack: false, initial_window: 4}, "
         "nic: {send_latency: 3 us},"),
        ('switch: "${switch}"', 'switch: {profile: "${switch}", port_buffer: 10 kB, ports: 5}'),
    )  # fmt: skip
    run = only_run(study, servers=2)
    client, server = run.network.groups
    assert (server.tcp.min_rto_ns, server.tcp.sack) == (1_000_000, False)
    assert server.tcp.initial_window_segments == 4
    assert server.nic.send_latency_ns == 3_000
    assert (client.tcp.min_rto_ns, client.nic.send_latency_ns) == (200_000_000, 10_000)
    assert the_switch(run).buffer == OutputQueued(port_buffer_bytes=10_000)
    assert the_switch(run).ports == 5


def test_a_knob_may_be_a_factor(small: Small) -> None:
    study = small(
        ("  servers: 1..3", "  servers: [2]\n  rto: [1 ms, 200 ms]"),
        ("server: {profile: host-10g,", 'server: {profile: host-10g, tcp: {min_rto: "${rto}"},'),
    )
    runs = make_plan(study).plan.runs
    found = {run.treatment["rto"]: run.network.group("server").tcp.min_rto_ns for run in runs}
    assert found == {"1 ms": 1_000_000, "200 ms": 200_000_000}


def test_pause_and_the_receive_ring_are_knobs(small: Small) -> None:
    study = small(
        ("  servers: 1..3", "  servers: [2]\n  pause: [false, true]"),
        ("client: {profile: host-10g}",
         "client: {profile: host-10g, nic: {receive_ring: 512, pause_high: 400, packet_rate: "
         "900000 packets/s, interrupt_delay: 30 us, poll_weight: 64, receive_merge: 64 KiB}}"),
        ('switch: "${switch}"',
         'switch: {profile: "${switch}", honours_pause: "${pause}", pause_high: 40 kB, '
         "pause_low: 10 kB, pause_quanta: 1000}"),
    )  # fmt: skip
    runs = make_plan(study).plan.runs
    found = {run.treatment["pause"]: the_switch(run).honours_pause for run in runs}
    assert found == {False: False, True: True}
    switch, nic = the_switch(runs[0]), runs[0].network.groups[0].nic
    assert (switch.pause_high_bytes, switch.pause_low_bytes) == (40_000, 10_000)
    assert switch.pause_quanta == 1000
    assert (nic.receive_ring_frames, nic.pause_high_frames) == (512, 400)
    assert nic.pause_low_frames is None
    assert (nic.packet_rate_pps, nic.interrupt_delay_ns) == (900_000, 30_000)
    assert (nic.poll_weight_frames, nic.receive_merge_bytes) == (64, 65_536)


def test_runs_that_need_an_event_a_hop_are_counted_apart(small: Small) -> None:
    def estimate(*changes: tuple[str, str]) -> Estimate:
        return make_plan(small(*changes), only={"servers": [2]}).estimate

    nic = "client: {profile: host-10g, nic: {%s}}"
    client = "client: {profile: host-10g}"
    plain = estimate()
    assert (plain.per_hop_runs, plain.per_hop_packets) == (0, 0)
    ring = estimate((client, nic % "receive_ring: 512, interrupt_delay: 30 us"))
    assert replace(ring, plan_bytes=plain.plan_bytes) == plain, "a ring has a closed form"
    for knob in ("honours_pause: true", "pause_high: 400", "receive_merge: 64 KiB"):
        slower = estimate((client, nic % knob))
        assert slower.per_hop_runs == slower.runs
        assert slower.per_hop_packets == slower.packets


def test_the_first_replicate_of_each_treatment_is_traced_in_every_round(small: Small) -> None:
    growing = "servers: {grow: [1, 2, 4], until: no gain}\nnoise: 2 %"
    study = small(("study: small", "study: small\nreplicates: 3"), ("servers: 1..3", growing))
    planned = make_plan(study, traces=True)
    loop, *_ = planned.loops
    assert all(run.trace == (run.replicate == 1) for run in planned.whole_plan.runs)
    later = make_round(planned, [CaseTreatment(loop.case, loop.steps[-1], loop.steps[-1])])
    assert [run.trace for run in later.runs] == [True, False, False]
    assert not any(run.trace for run in make_plan(study).whole_plan.runs)


def test_a_traced_run_needs_an_event_a_hop(small: Small) -> None:
    study = small(("study: small", "study: small\nreplicates: 3"))
    plain, traced = (make_plan(study, traces=traces).estimate for traces in (False, True))
    assert (plain.per_hop_runs, plain.traced_runs) == (0, 0)
    assert traced.packets == plain.packets
    assert traced.per_hop_runs == traced.traced_runs == traced.runs // 3
    assert traced.per_hop_packets == traced.traced_packets
    assert 3 * traced.traced_packets == traced.packets
    assert traced.record_bytes is not None
    assert plain.record_bytes is not None
    assert traced.record_bytes > plain.record_bytes


def test_links_and_hosts_at_length_say_the_same_as_the_short_form(small: Small) -> None:
    at_length = small(
        ("  client: {profile: host-10g}\n", "  hosts:\n    client: host-10g\n"),
        ("  server: {", "    server: {"),
        ("  link: {rate: 10 Gbit/s, delay: 1 us, mtu: \"${mtu}\"}",
         "  links:\n"
         "  - {between: [client, switch], rate: 10 Gbit/s, delay: 1 us, mtu: \"${mtu}\"}\n"
         "  - {between: [switch, server], rate: 10 Gbit/s, delay: 1 us, mtu: \"${mtu}\"}"),
    )  # fmt: skip
    assert plan_text(make_plan(at_length)) == plan_text(make_plan(small()))


def test_a_link_without_a_rate_takes_what_both_its_ends_carry(small: Small) -> None:
    study = small(
        ("rate: 10 Gbit/s, ", ""), ("server: {profile: host-10g", "server: {profile: host-1g")
    )
    rates = {link.a.node: link.a.rate_bps for link in only_run(study, servers=1).network.links}
    assert rates == {"client": 10**10, "server": 10**9}


def test_an_interface_of_a_host_brings_its_own_figures(small: Small, tmp_path: Path) -> None:
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "slow-nic.yaml").write_text(
        "profile: slow-nic\nkind: nic\ntitle: A slow one\nfigures:\n"
        "  rate: {value: 100 Mbit/s, source: assumed, from: an example}\n"
        "  send_latency: {value: 50 us, source: assumed, from: an example}\n",
        encoding="utf-8",
    )
    study = small(
        ("rate: 10 Gbit/s, ", ""),
        ("server: {profile: host-10g,", "server: {profile: host-10g, nic: slow-nic,"),
    )
    network = only_run(study, servers=2).network
    assert network.group("server").nic.send_latency_ns == 50_000
    assert network.group("server").nic.receive_latency_ns == 10_000
    assert network.links[1].a.rate_bps == 100_000_000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("servers: 1..3", "servers: [1, 60]"),
         '11:38: topology.server.count: 61 hosts (1 client and 60 server) need as many ports, '
         "and generic-shallow has 48"),
        (("servers: 1..3", "servers: [1000000000]"),
         "11:38: topology.server.count: 1,000,000,001 hosts (1 client and 1,000,000,000 server) "
         "need as many ports, and generic-shallow has 48"),
        (("10 Gbit/s", "40 Gbit/s"),
         "12:16: topology.link.rate: 40 Gbit/s is above the 10 Gbit/s of host-10g"),
        (("client: {profile: host-10g}", "client: {}"),
         "10:11: topology.client: needs a profile to be simulated"),
        (("client: {profile: host-10g}", "client: {profile: host-10g, count: 2}"),
         "10:38: topology.client.count: an incast has one client"),
        (('switch: "${switch}"', 'switch: {profile: "${switch}", pool: 1 MB}'),
         "9:40: topology.switch.pool: is only for a switch that is shared-memory; "
         "generic-shallow is output-queued"),
        (('block: "${block}"', "block: 2 B, striped: true"),
         "14:19: workload.incast.block: 2 bytes leave less than one byte for each of 3 servers"),
        (('block: "${block}"', "block: 0 B"),
         "14:19: workload.incast.block: 0 bytes leave less than one byte for each of 1 servers"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused_with_its_place(
    change: tuple[str, str], said: str, small: Small, tmp_path: Path
) -> None:
    study = small(change)
    with pytest.raises(StudyError) as caught:
        make_plan(study)
    assert str(caught.value) == f"{tmp_path}/study.yaml:{said}"


def test_the_estimate_counts_full_packets(small: Small) -> None:
    """1 MB in packets of 9000 - 52 bytes of payload is 112 of them."""
    study = small(("iterations: 10", "iterations: 10, warmup: 2"))
    estimate = make_plan(study).estimate
    assert estimate.runs == 6
    assert estimate.packets == 2 * (1 + 2 + 3) * (10 + 2) * 112


def test_a_striped_block_is_divided_before_it_is_counted(small: Small) -> None:
    """1 MB over 1, 2 and 3 servers: 112, 2 x 56 and 3 x 38 packets."""
    study = small(('block: "${block}"', "block: 1 MB, striped: true"))
    assert make_plan(study).estimate.packets == 2 * 10 * (112 + 2 * 56 + 3 * 38)


def test_the_incast_study_can_be_carried_out_in_the_simulator() -> None:
    study = load(ROOT / "studies/incast")
    assert unsupported(study, "sim") == []
    (said,) = unsupported(study, "moon")
    assert (
        said
        == "This version has no testbed moon; it has sim, netns, netns-kernel, hosts, published, "
        "measured."
    )
    (said,) = unsupported(study, "netn")
    assert said == 'This version has no testbed netn; did you mean "netns"?'
    planned = make_plan(study)
    assert (len(planned.cells), planned.estimate.runs) == (138, 138 * study.replicates)


def test_every_testbed_that_studies_can_name_is_there() -> None:
    hosts = InventoryCopy(path="hosts.yaml", text="hosts: {a: {ssh: a, address: 192.0.2.1}}")
    found = [testbed.named(name, hosts if name == HOSTS else None) for name in TESTBEDS]
    assert [one.name for one in found] == list(TESTBEDS)


@pytest.mark.parametrize("name", ["ethernet", "trade"])
def test_the_simulator_carries_transactions_out(name: str) -> None:
    study = load(ROOT / "studies" / name)
    assert not any("not supported" in part for part in unsupported(study, "sim"))
    planned = make_plan(study)
    assert planned.estimate.packets
    assert all(run.workload.kind == "transactions" for run in planned.plan.runs)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("from: ram", "is only for files, and protocol tcp has none"),
        ("data path: copying", "is only for files, and protocol tcp has none"),
        ("protocol: ftp, direction: both", "ftp carries a file one way"),
        ("protocol: ftp, request: 64 B", "ftp has requests of its own"),
        ("protocol: ftp, data path: sendfile", "sendfile sends a file; write from"),
    ],
)
def test_what_ftp_cannot_do_is_refused(keys: str, said: str, small: Small) -> None:
    work = f"transfer: {{size: 1 MB, {keys}}}"
    with pytest.raises(StudyError, match=said):
        make_plan(small(('incast: {block: "${block}", iterations: 10}', work)))


def test_files_of_a_study_are_in_its_plan(small: Small) -> None:
    work = (
        "transfer: {size: 1 MB, protocol: ftp, from: cache, to: synced disk, data path: sendfile}"
    )
    planned = make_plan(small(('incast: {block: "${block}", iterations: 10}', work)))
    lowered = planned.plan.runs[0].workload
    assert isinstance(lowered, wire.Transfer)
    assert lowered.ftp == wire.Ftp(source="cache", sink="synced disk", data_path="sendfile")


def test_a_sink_of_files_is_refused_where_there_are_none(small: Small) -> None:
    """What a factor says decides level by level."""
    study = small(
        ("  servers: 1..3", "  servers: [1]\n  sink: ['null', disk]"),
        ('incast: {block: "${block}", iterations: 10}', 'transfer: {size: 1 MB, to: "${sink}"}'),
    )
    with pytest.raises(StudyError, match="is only for files, and protocol tcp has none"):
        make_plan(study)


def test_a_growing_factor_is_planned_up_to_its_first_level(small: Small) -> None:
    growing = "servers: {grow: [1, 2, 4], until: no gain}\nnoise: 2 %"
    planned = make_plan(small(("servers: 1..3", growing)))
    assert {run.treatment["servers"] for run in planned.plan.runs} == {1}
    assert {run.treatment["servers"] for run in planned.whole_plan.runs} == {1, 2, 4}
    assert (planned.estimate.runs, planned.most.runs, planned.rounds_at_most) == (2, 6, 3)
    assert [loop.held["switch"] for loop in planned.loops] == ["generic-shallow", "generic-deep"]


def test_a_link_inside_a_machine_has_larger_packets_and_no_line_rate(small: Small) -> None:
    study = small(
        ("link: {rate: 10 Gbit/s", "link: {kind: hipersocket"),
        (', mtu: "${mtu}"', ""),
        (", mtu: 9000", ""),
    )
    links = make_plan(study).plan.runs[0].network.links
    assert {(link.mtu_bytes, link.a.rate_bps) for link in links} == {(8_192, 10_000_000_000)}


def test_buffers_of_a_link_are_frames_that_wait_at_hosts(small: Small) -> None:
    study = small(("link: {", "link: {buffers: 16, "))
    links = make_plan(study).plan.runs[0].network.links
    nics = [port.nic for link in links for port in link.ports if port.nic is not None]
    assert {nic.transmit_queue_frames for nic in nics} == {16}


def test_buffers_that_are_said_twice_are_refused(small: Small) -> None:
    study = small(("link: {", "link: {buffers: 16, nic: {buffers: 16}, "))
    with pytest.raises(StudyError, match="buffers: is set twice"):
        make_plan(study)


def test_what_the_simulator_only_states_is_said(small: Small) -> None:
    keys = "memory: 1 GiB, nic: {checksum_offload: false}, local_path: {latency: 1 us}"
    study = small(("server: {", f"server: {{{keys}, "))
    parts = [
        "memory of host server",
        "local_path of host server, which has no zones,",
        "checksum_offload of host server",
    ]
    said = "The {} is not modelled by the simulator and changes no result there."
    assert stated(study) == [said.format(part) for part in parts]
