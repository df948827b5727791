"""What a plan says that it takes: held against sums that are worked by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from netstudy import wire
from netstudy.plan import Estimate, is_per_hop, make_plan, useful_packets
from netstudy.plan.paths import Routes
from netstudy.plan_lines import plan_bytes
from netstudy.study import Study
from netstudy.testbed.sim import Sim

Small = Callable[..., Study]

STAR = """\
study: estimate
question: How long?
factors: {{size: [1 MB]}}
topology:
  switch: {{profile: generic-shallow, latency: 0 ns}}
  client:
    profile: host-1g
    count: {clients}
    nic: {{send_latency: 0 ns, receive_latency: 0 ns, receive_jitter: 0 ns}}
  server: {{profile: host-1g, nic: {{send_latency: 0 ns, receive_latency: 0 ns}}}}
  link: {{rate: 100 Mbit/s, delay: {delay}, mtu: 1052}}
workload: {{{workload}}}
{rest}
"""
"""Packets of 1000 bytes: an MTU of 1052 less 52 bytes of headers."""


def star(workload: str, rest: str = "", *, clients: int = 1, delay: str = "0 ns") -> str:
    return STAR.format(workload=workload, rest=rest, clients=clients, delay=delay)


def estimate(study: Study) -> Estimate:
    return make_plan(study).estimate


def test_a_transfer_takes_the_time_of_its_bytes(small: Small) -> None:
    """3 + 1 transfers of 1 MB at 100 Mbit/s take 80 ms each, in 1000 packets."""
    found = estimate(small(text=star("transfer: {size: 1 MB, repeats: 3, warmup: 1}")))
    assert found.packets == 4 * 1000
    assert found.line_seconds == pytest.approx(4 * 0.08)


def test_clients_share_the_link_of_their_server(small: Small) -> None:
    """Two clients with two flows each: 4 MB over one port. Both ways count twice the packets."""
    get = estimate(small(text=star("transfer: {size: 1 MB, flows: 2}", clients=2)))
    assert get.packets == 4000
    assert get.line_seconds == pytest.approx(0.32)
    both = estimate(
        small(text=star("transfer: {size: 1 MB, flows: 2, direction: both}", clients=2))
    )
    assert both.packets == 8000
    assert both.line_seconds == pytest.approx(0.32)


def test_a_phase_that_lasts_for_a_time_takes_it(small: Small) -> None:
    """10 + 2 s at 100 Mbit/s are 150 MB in packets of 1000 bytes; cool-down and idle carry none."""
    rest = "procedure: {warmup: 2 s, measure: 10 s, cooldown: 3 s}"
    found = estimate(small(text=star("transfer: {direction: put}", rest)))
    assert found.line_seconds == pytest.approx(15)
    assert found.packets == 150_000


def test_a_request_takes_a_round_trip(small: Small) -> None:
    """Two links of 1 ms each way; 64 + 90 bytes take 12.32 us on each of the four hops."""
    text = star("request: {requests: 10}", delay="1 ms")
    found = estimate(small(text=text))
    trip_s = 4 * 1e-3 + 4 * (64 + 90) * 8 / 100e6
    assert found.line_seconds == pytest.approx(10 * trip_s)
    assert found.packets == 20


def test_outstanding_requests_share_the_round_trip(small: Small) -> None:
    one = estimate(small(text=star("request: {requests: 10}", delay="1 ms")))
    four = estimate(small(text=star("request: {requests: 10, outstanding: 4}", delay="1 ms")))
    assert four.line_seconds == pytest.approx(one.line_seconds / 4)


def test_an_open_loop_takes_its_interval(small: Small) -> None:
    found = estimate(small(text=star("request: {requests: 10, every: 20 ms}")))
    assert found.line_seconds == pytest.approx(0.2)


def test_a_probe_adds_its_packets(small: Small) -> None:
    """12 s of a probe each 10 ms, a request and a response each."""
    rest = "procedure: {idle: 2 s, measure: 10 s}"
    plain = estimate(small(text=star("transfer: {}", "procedure: {measure: 10 s}")))
    probed = estimate(small(text=star("transfer: {}, probe: 10 ms", rest)))
    assert plain.packets is not None
    assert probed.packets == plain.packets + 2 * 1200
    assert probed.line_seconds == pytest.approx(12)


def test_samplers_and_histograms_make_records_larger(small: Small) -> None:
    def record_bytes(workload: str, rest: str) -> int:
        found = estimate(small(text=star(workload, rest))).record_bytes
        assert found is not None
        return found

    measured = "procedure: {measure: 10 s}"
    plain = record_bytes("transfer: {}", measured)
    sampled = record_bytes(
        "transfer: {}", f"{measured}\ninstruments: [{{tcp: client, every: 1 ms}}]"
    )
    probed = record_bytes("transfer: {}, probe: 1 ms", measured)
    assert sampled > plain + 10_000 * 20, "10,000 samples of some counters"
    assert probed > plain


def test_a_star_is_computed_in_closed_form_and_any_other_graph_is_not(small: Small) -> None:
    def per_hop(text: str) -> bool:
        return is_per_hop(make_plan(small(text=text)).plan.runs[0].network)

    plain = star("transfer: {size: 1 MB}")
    link = "  link: {rate: 100 Mbit/s, delay: 0 ns, mtu: 1052}"
    to_switch = "{between: [client, switch]}, {between: [server, switch]}"
    assert not per_hop(plain)
    assert not per_hop(plain.replace(link, f"  links: [{to_switch}]"))
    assert per_hop(
        plain.replace(link, f"  links: [{to_switch}, {{between: [client, switch], unused: true}}]")
    )
    assert per_hop(
        plain.replace(link, f"  links: [{to_switch}, {{between: [client, server], unused: true}}]")
    )
    assert per_hop(plain.replace(link, "  links: [{between: [client, server]}]"))
    assert per_hop(plain.replace("nic: {send_latency: 0 ns, receive_latency: 0 ns}}", WORKS))


WORKS = "cpu: {cpus: 2, send_per_packet: 100 us, send_per_byte: 50 ns/B, per_call: 0 ns}}"


def test_a_host_that_works_takes_the_time_of_its_busiest_place(small: Small) -> None:
    """1000 packets of 100 us in the CPU of their interface take longer than 50 ns a byte in the
    process, and than both in two CPUs; at twice the speed the link takes longer."""
    slow = star("transfer: {size: 1 MB}").replace(
        "nic: {send_latency: 0 ns, receive_latency: 0 ns}}", WORKS
    )
    assert estimate(small(text=slow)).line_seconds == pytest.approx(0.1)
    fast = slow.replace("cpus: 2", "cpus: 2, speed: 200 %")
    assert estimate(small(text=fast)).line_seconds == pytest.approx(0.08)
    copies = slow.replace("50 ns/B", "150 ns/B")
    assert estimate(small(text=copies)).line_seconds == pytest.approx(0.15)
    calls = slow.replace("per_call: 0 ns", "per_call: 10 ms")
    assert estimate(small(text=calls)).line_seconds == pytest.approx(0.05 + 16 * 0.01)


def test_a_file_on_a_disk_takes_the_time_of_the_disk(small: Small) -> None:
    """1 MB at 40 Mbit/s: 200 ms, where it is stored; none where it is discarded."""
    text = star("transfer: {protocol: ftp, size: 1 MB, to: disk}").replace(
        "    count: 1\n", "    count: 1\n    disk: {rate: 40 Mbit/s}\n"
    )
    assert estimate(small(text=text)).line_seconds == pytest.approx(0.2)
    discarded = text.replace("to: disk", "to: 'null'")
    assert estimate(small(text=discarded)).line_seconds == pytest.approx(0.08)


def test_a_phase_of_a_fixed_duration_is_told_apart(small: Small) -> None:
    timed = estimate(small(text=star("transfer: {size: 1 MB}", "procedure: {measure: 7 s}")))
    assert (timed.line_seconds, timed.timed_seconds) == (7.0, 7.0)
    counted = estimate(small(text=star("transfer: {size: 1 MB}")))
    assert (round(counted.line_seconds, 6), counted.timed_seconds) == (0.08, 0.0)


def test_useful_packets_are_those_of_one_run(small: Small) -> None:
    run = make_plan(small(("iterations: 10", "iterations: 10, warmup: 2"))).plan.runs[0]
    servers = len(run.workload.roles.server)
    assert useful_packets(run) == servers * 12 * 112


def test_a_route_leads_over_the_trunks(small: Small) -> None:
    """1000 bytes and 90 of headers on three hops of 8.72 us at 1 Gbit/s, and 3 us of delay."""
    text = star("transfer: {size: 1 MB}").replace(
        "  switch: {profile: generic-shallow, latency: 0 ns}",
        "  switches:\n"
        "    a: {profile: generic-shallow, latency: 0 ns}\n"
        "    b: {profile: generic-shallow, latency: 500 ns}",
    ).replace(
        "  link: {rate: 100 Mbit/s, delay: 0 ns, mtu: 1052}",
        "  links:\n"
        "  - {between: [client, a], rate: 1 Gbit/s, delay: 1 us, mtu: 1052}\n"
        "  - {between: [b, a], rate: 1 Gbit/s, delay: 1 us, mtu: 9000}\n"
        "  - {between: [server, b], rate: 1 Gbit/s, delay: 1 us, mtu: 1500}",
    )  # fmt: skip
    routes = Routes(make_plan(small(text=text)).plan.runs[0].network)
    route = routes.route("client", "server")
    assert [port.node for port, _ in route.hops] == ["client", "a", "b"]
    assert [port.node for port, _ in routes.route("server", "client").hops] == ["server", "b", "a"]
    assert (route.mtu_bytes, route.delay_ns) == (1052, 3000)
    assert routes.time_ns("client", "server", 1000) == pytest.approx(3 * 8720 + 3000 + 500)


def test_hand_made_plans_can_be_estimated_too(small: Small) -> None:
    run = make_plan(small(text=star("transfer: {size: 1 MB, repeats: 3}"))).plan.runs[0]
    longer = replace(run, phases=(wire.Phase(kind="measure", until=wire.UntilCount(count=30)),))
    assert useful_packets(longer) == 10 * useful_packets(run)


def test_connections_are_counted_and_not_listed(small: Small) -> None:
    """A thousand million flows of two clients: twice as many connections, and packets for each."""
    most = 1_000_000_000
    found = estimate(small(text=star(f"transfer: {{size: 1 MB, flows: {most}}}", clients=2)))
    assert found.connections == 2 * most
    assert found.packets == 2 * most * 1000
    assert [one.connections for one in found.sizes] == [2 * most]
    asked = estimate(small(text=star(f"request: {{requests: 1, connections: {most}}}")))
    assert (asked.connections, asked.packets) == (most, 2 * most)


def test_replicates_multiply_an_estimate_and_are_not_made_for_it(small: Small) -> None:
    text = star("transfer: {size: 1 MB}")
    one = make_plan(small(text=text))
    many = make_plan(small(text=text + "replicates: 100\n"))
    assert "_first" not in many.__dict__
    assert many.estimate.runs == 100 * one.estimate.runs
    assert many.estimate.record_bytes == 100 * (one.estimate.record_bytes or 0)
    assert many.estimate.nodes == 100 * one.estimate.nodes == 300
    assert len(many.plan.runs) == 100


def test_the_size_of_a_plan_is_known_without_its_runs(small: Small) -> None:
    planned = make_plan(small(text=star("transfer: {size: 1 MB}") + "replicates: 50\n"))
    assert planned.estimate.plan_bytes == pytest.approx(len(plan_bytes(planned.plan)), rel=0.1)


SHOP = """\
study: shop
question: How many users?
factors: {n: [1]}
topology:
  hosts: {app: {profile: host-1g, cpus: 2}, client: {profile: host-1g}}
  switch: generic-deep
  links: [{between: [app, switch]}, {between: [client, switch]}]
workload:
  transactions:
    application: brokerage
    engine: sqlite
    population: {users: POPULATION}
    closed: {users: USERS}
procedure: {measure: 1 s}
"""


def test_users_and_registered_users_are_counted(small: Small) -> None:
    def of(users: int, population: int) -> Estimate:
        text = SHOP.replace("USERS", str(users)).replace("POPULATION", str(population))
        return estimate(small(text=text))

    few, many = of(10, 10**9), of(10**9, 10**9)
    assert (few.connections, few.users) == (10, 10**9)
    assert (many.connections, many.users) == (10**9, 10**9)
    sim = Sim()
    assert sim.seconds(many, threads=1) > 100 * sim.seconds(few, threads=1) > 5_000
    memory = [sim.memory(one, threads=1) for one in (of(10, 15_000), few, many)]
    used = [one.bytes_alone for one in memory if one is not None]
    assert used[1] - used[0] == pytest.approx(4e9, rel=0.01)
    assert used[2] > 1e12
