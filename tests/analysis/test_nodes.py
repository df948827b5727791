"""Metrics of nodes: by hand-made counters, whose results are computed by hand beside them.

The network is a star: client and three servers at 10 Gbit/s. A phase of two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes import course, node_metric, node_metrics
from netstudy.analysis.samples import RunSample
from netstudy.study.vocabulary import split_metric
from netstudy.units import FRAMING_BYTES
from netstudy.wire import Instrument, PhaseTimes, RecordNode, RunRecord, Series
from tests.report.synthetic import edges, from_samples, nodes, run

TWO_SECONDS_NS = 2_000_000_000
PLANNED = run({"servers": 3})


def value(record: RunRecord, name: str, instruments: tuple[Instrument, ...] = ()) -> float | None:
    planned = replace(PLANNED, instruments=instruments)
    estimate = node_metric(split_metric(name)).reading.estimate([RunSample(planned, record)])
    return None if estimate is None else estimate.value


def counted(
    counters: Mapping[str, Any] | None = None,
    ports: Mapping[str, Any] | None = None,
    **more: Any,
) -> RunRecord:
    """A run of two seconds with these counters."""
    made = from_samples(PLANNED, [1.0], [0], [0], [0])
    return made.model_copy(
        update={
            "phases": (PhaseTimes(kind="measure", start_ns=0, end_ns=TWO_SECONDS_NS),),
            "edges": edges(0, TWO_SECONDS_NS),
            "counters": dict(counters or {}),
            "ports": dict(ports or {}),
            **more,
        }
    )


def interface(sent: int, received: int = 0, packets: int = 0) -> dict[str, Any]:
    """What an interface counted in the phase; it had counted 500 before."""
    grown = {
        "interface_bytes_sent": sent,
        "interface_bytes_received": received,
        "interface_packets_sent": packets,
        "interface_packets_received": 0,
    }
    return {"eth0": {name: (500, 500 + by) for name, by in grown.items()}}


def test_a_rate_is_what_was_counted_by_time() -> None:
    record = counted(ports={"client": interface(sent=1_000_000, received=250_000)})
    assert value(record, "client.send_mbps") == pytest.approx(4.0)  # 8 Mbit in 2 s
    assert value(record, "client.receive_mbps") == pytest.approx(1.0)
    assert value(record, "client.network_mbps") == pytest.approx(5.0)


def test_time_in_which_nothing_is_in_flight_belongs_to_no_rate() -> None:
    """Counters are read 10 ms before the phase begins, and 90 ms after its last byte."""
    begins_ns, ends_ns = 10_000_000, 10_000_000 + TWO_SECONDS_NS
    before, after = edges(0, ends_ns + 90_000_000)
    record = counted(
        {"machine": {"disk_busy_ms": (0, 1050)}},
        ports={"client": interface(sent=1_000_000)},
        phases=(PhaseTimes(kind="measure", start_ns=begins_ns, end_ns=ends_ns),),
        edges=(before, after.model_copy(update={"quiet_ns": ends_ns})),
    )
    assert value(record, "client.send_mbps") == pytest.approx(4.0)  # 8 Mbit in 2 s
    # What else the machine does goes on: 1.05 s of the whole 2.1 s.
    assert value(record, "machine.disk_busy_pct") == pytest.approx(50.0)


def test_the_rate_of_a_group_is_the_sum_of_its_hosts_and_one_host_has_its_own() -> None:
    ports = {f"server-{n}": interface(sent=n * 1_000_000) for n in (1, 2, 3)}
    record = counted(ports=ports)
    assert value(record, "server.send_mbps") == pytest.approx(4.0 + 8.0 + 12.0)
    assert value(record, "server-3.send_mbps") == pytest.approx(12.0)


def test_the_percentage_of_a_group_is_the_mean_of_its_hosts() -> None:
    """One processor each: 1 s of 2 s, 0.5 s, none; and one that may use half a processor."""
    busy = {"server-1": 1_000_000_000, "server-2": 500_000_000, "server-3": 0}
    known = {
        name: RecordNode(kind="host", group="server", clock="simulation", cpus=1.0) for name in busy
    }
    record = counted(
        {name: {"host_cpu_ns": (7, 7 + ns)} for name, ns in busy.items()},
        nodes={**nodes(PLANNED), **known},
    )
    assert value(record, "server.cpu_pct") == pytest.approx((50 + 25 + 0) / 3)
    half = known["server-1"].model_copy(update={"cpus": 0.5})
    record = record.model_copy(update={"nodes": {**record.nodes, "server-1": half}})
    assert value(record, "server-1.cpu_pct") == pytest.approx(100.0)


def test_the_packets_of_a_group_have_a_mean_size_over_all_of_them() -> None:
    """900 packets of 100 bytes and 100 of 1,000: not the mean of two means."""
    record = counted(
        ports={
            "server-1": interface(sent=90_000, packets=900),
            "server-2": interface(sent=100_000, packets=100),
            "server-3": interface(sent=0, packets=0),
        }
    )
    assert value(record, "server.packet_bytes_mean") == pytest.approx(190.0)


def test_what_one_host_did_not_count_is_missing_for_its_group() -> None:
    ports = {f"server-{n}": interface(sent=1_000_000) for n in (1, 2)}
    record = counted(ports={**ports, "server-3": {"eth0": {}}})
    assert value(record, "server.send_mbps") is None
    assert value(record, "server-2.send_mbps") == pytest.approx(4.0)
    assert value(record, "nobody.send_mbps") is None


def test_an_interface_is_named_by_what_it_leads_to_or_by_its_name() -> None:
    record = counted(ports={"client": interface(sent=1_000_000)})
    for name in ("client@switch", "client@server", "client@server-2", "client@eth0"):
        assert value(record, f"{name}.send_mbps") == pytest.approx(4.0)
    assert value(record, "client@elsewhere.send_mbps") is None


def frames(**grown: int) -> dict[str, Any]:
    return {name: (0, by) for name, by in grown.items()}


def test_the_port_of_a_switch_is_that_which_leads_there() -> None:
    record = counted(
        ports={
            "switch": {
                "client": frames(bytes_forwarded=1_000_000, bytes_received=500, frames_dropped=7),
                **{f"server-{n}": frames(bytes_received=250_000 * n) for n in (1, 2, 3)},
            }
        }
    )
    assert value(record, "switch@client.port_out_mbps") == pytest.approx(4.0)
    assert value(record, "switch@server.port_in_mbps") == pytest.approx(1.0 + 2.0 + 3.0)
    assert value(record, "switch@server-2.port_in_mbps") == pytest.approx(2.0)
    assert value(record, "switch@client.port_drops") == 7
    assert value(record, "switch@server.port_drops") is None


def test_the_longest_queue_of_several_ports_is_the_largest() -> None:
    ports = {"switch": {f"server-{n}": frames(queue_bytes_max=n * 100) for n in (1, 2, 3)}}
    assert value(counted(ports=ports), "switch@server.port_queue_bytes_max") == 300


def test_a_port_that_an_instrument_watches_is_meant_where_none_is_named() -> None:
    ports = {"switch": {name: frames(bytes_forwarded=1_000_000 * (1 + at)) for at, name in
                        enumerate(("client", "server-1", "server-2", "server-3"))}}  # fmt: skip
    watched = (Instrument(kind="ports", node="switch", port="server-1", every_ns=1),)
    assert value(counted(ports=ports), "switch.port_mbps", watched) == pytest.approx(8.0)


def test_a_full_line_is_used_by_a_hundred_per_cent() -> None:
    """As many frames of 1,514 bytes as 10 Gbit/s carry in two seconds, gaps included."""
    on_wire = 1500 + FRAMING_BYTES
    full = 10_000_000_000 * 2 // (on_wire * 8)
    record = counted(ports={"client": interface(sent=full * 1514, packets=full)})
    assert value(record, "client.send_utilisation_pct") == pytest.approx(100.0, abs=1e-3)
    assert value(record, "client.receive_utilisation_pct") == 0
    assert value(record, "client.utilisation_pct") == pytest.approx(100.0, abs=1e-3)


def test_the_interval_of_a_share_of_the_line_ends_at_the_whole_of_it() -> None:
    """2.5 GB in 2 s are all of 10 Gbit/s; a run that sends less makes the interval wide."""
    runs = [
        RunSample(PLANNED, counted(ports={"client": interface(sent=sent)}))
        for sent in (2_450_000_000, 2_300_000_000)
    ]
    estimate = node_metric(split_metric("client.send_utilisation_pct")).reading.estimate(runs)
    assert estimate is not None
    assert estimate.interval is not None
    assert estimate.interval.high == 100.0
    assert 0 < estimate.interval.low < 95


def test_the_link_is_as_full_as_its_fullest_direction_as_the_switch_counted_it() -> None:
    """A frame of 1,518 bytes has 20 more on the wire, preamble and gap. What hosts handed over is
    not asked for."""
    ends = ("client", "server-1", "server-2", "server-3")
    ports: dict[str, Any] = {
        **{name: interface(sent=9_000_000, received=500, packets=1) for name in ends},
        "switch": {
            name: frames(
                bytes_received=1_000_000 * at,
                frames_received=at,
                bytes_forwarded=4_000_000,
                frames_forwarded=1,
                queue_bytes=3_500_000,
            )
            for at, name in enumerate(ends)
        },
    }
    rate = (3_000_000 + 3 * 20) * 8 / 2
    expected = 100 * rate / 10_000_000_000
    assert value(counted(ports=ports), "link.utilisation_pct") == pytest.approx(expected)


def test_what_waits_in_a_port_has_not_left_between_two_samples() -> None:
    """A megabyte was forwarded in a second, half of which is still in the queue."""
    samples = Series(
        node="switch",
        port="client",
        instrument="ports",
        at_ns=(0, 1_000_000_000),
        values={"bytes_forwarded": (0, 1_000_000), "queue_bytes": (0, 500_000)},
    )
    record = counted(series=(samples,))
    assert value(record, "switch@client.port_out_mbps_max") == pytest.approx(4.0)


def test_the_machine_tells_its_soft_interrupts_beside_its_busy_share() -> None:
    spent = {"user": 300, "nice": 0, "system": 200, "irq": 0, "softirq": 100, "steal": 50,
             "idle": 340, "iowait": 10}  # fmt: skip
    machine = {f"cpu_{name}_ms": (0, ms) for name, ms in spent.items()}
    record = counted({"machine": machine})
    assert value(record, "machine.cpu_pct") == pytest.approx(60.0)
    assert value(record, "machine.softirq_pct") == pytest.approx(10.0)
    assert value(record, "machine.steal_pct") == pytest.approx(5.0)
    assert value(record, "server.disk_mb_per_s") is None


def test_a_node_that_was_read_later_is_divided_by_its_own_time() -> None:
    """Read 1 s after the phase, at both edges: four seconds lie between its readings."""
    late = RecordNode(kind="host", group="client", clock="other", read_at_ns=(5_000, 4_000_005_000))
    record = counted(
        ports={"client": interface(sent=1_000_000)},
        nodes={**nodes(PLANNED), "client": late},
    )
    assert value(record, "client.send_mbps") == pytest.approx(2.0)


def test_a_metric_may_be_of_another_phase_whose_edges_were_read() -> None:
    """Warm-up ends where the measuring phase begins; its own start was read behind the idle one."""
    times = [("idle", 0, 1), ("warm-up", 1, 3), ("measure", 3, 5)]
    record = counted(
        ports={"client": {"eth0": {"interface_bytes_sent": (0, 1_000_000, 3_000_000)}}},
        phases=tuple(
            PhaseTimes(kind=kind, start_ns=start * 10**9, end_ns=end * 10**9)  # type: ignore[arg-type]
            for kind, start, end in times
        ),
        edges=tuple(
            edge.model_copy(update={"name": name, "at_ns": at * 10**9})
            for edge, (name, at) in zip(
                (edges(0, 1)[0],) * 3,
                [("warm-up-start", 1), ("measure-start", 3), ("measure-end", 5)],
                strict=True,
            )
        ),
    )
    assert value(record, "client.send_mbps in warm-up") == pytest.approx(4.0)
    assert value(record, "client.send_mbps") == pytest.approx(8.0)
    assert value(record, "client.send_mbps in idle") is None


def sampled(node: str, at_s: list[float], sent: list[int]) -> Series:
    return Series(
        node=node,
        port="eth0",
        instrument="host",
        at_ns=tuple(round(at * 1e9) for at in at_s),
        values={"interface_bytes_sent": tuple(sent)},
    )


def test_the_course_of_the_longest_queue_is_what_it_was_so_far_and_not_how_it_grew() -> None:
    samples = Series(
        node="switch",
        port="client",
        instrument="ports",
        at_ns=(0, 500_000_000, 1_000_000_000, 1_500_000_000),
        values={"queue_bytes_max": (300, 300, 700, 700)},
    )
    sample = RunSample(PLANNED, counted(series=(samples,)))
    found = course(sample, split_metric("switch@client.port_queue_bytes_max"))
    assert found is not None
    assert found[0].tolist() == [0.5, 1.0, 1.5]
    assert found[1].tolist() == [300.0, 700.0, 700.0]


def test_extremes_are_of_the_rates_between_two_samples_in_the_phase() -> None:
    """The sample behind the phase does not count."""
    series = (sampled("client", [0.0, 1.0, 2.0, 3.0], [0, 125_000, 1_125_000, 9_000_000]),)
    record = counted(series=series)
    assert value(record, "client.send_mbps_max") == pytest.approx(8.0)
    assert value(record, "client.send_mbps_min") == pytest.approx(1.0)
    found = course(RunSample(PLANNED, record), split_metric("client.send_mbps"))
    assert found is not None
    assert list(found[0]) == [1.0, 2.0]
    assert list(found[1]) == pytest.approx([1.0, 8.0])


def test_a_mean_is_of_the_phase_though_its_last_reading_waited_for_a_transfer_to_end() -> None:
    """8 Mbit/s in the phase's two seconds, a tail of 1 Mbit/s in the second behind it."""
    series = (sampled("client", [0.0, 0.9, 1.9, 3.0], [0, 900_000, 1_900_000, 2_125_000]),)
    ports = {"client": interface(sent=2_125_000)}
    late = edges(0, 3 * TWO_SECONDS_NS // 2)
    record = counted(ports=ports, edges=late, series=series)
    assert value(record, "client.send_mbps") == pytest.approx(8.0)
    without = counted(ports=ports, edges=late)
    assert value(without, "client.send_mbps") == pytest.approx(17 / 3)
    soon = counted(ports=ports, edges=edges(0, TWO_SECONDS_NS + 10_000_000), series=series)
    assert value(soon, "client.send_mbps") == pytest.approx(17 / 2.01)


def test_a_share_of_the_line_is_of_the_phase_too() -> None:
    """Full for 2 s, and then for 1 s nothing: the reading behind the phase came at 3 s."""
    full = 10_000_000_000 // ((1500 + FRAMING_BYTES) * 8)
    packets = [0, full, 2 * full, 2 * full]
    series = Series(
        node="client",
        port="eth0",
        instrument="host",
        at_ns=(0, 900_000_000, 1_900_000_000, 3_000_000_000),
        values={
            "interface_bytes_sent": tuple(1514 * n for n in packets),
            "interface_packets_sent": tuple(packets),
        },
    )
    ports = {"client": interface(sent=2 * full * 1514, packets=2 * full)}
    record = counted(ports=ports, edges=edges(0, 3_000_000_000), series=(series,))
    assert value(record, "client.send_utilisation_pct") == pytest.approx(200 / 1.9, abs=0.01)


def test_hosts_of_a_group_that_were_sampled_at_other_instants_are_added_at_the_first_ones() -> None:
    """Steady rates of 1 and 2 Mbit/s are 3 together, whenever each was read."""
    rate = {"server-1": 125_000, "server-2": 250_000, "server-3": 0}
    series = tuple(
        sampled(node, times := [offset, 1 + offset, 2.0], [round(t * rate[node]) for t in times])
        for offset, node in zip((0.0, 0.3, 0.1), rate, strict=True)
    )
    found = course(RunSample(PLANNED, counted(series=series)), split_metric("server.send_mbps"))
    assert found is not None
    assert found[1][-1] == pytest.approx(3.0, rel=1e-6)


def test_a_port_that_two_samplers_read_has_the_course_of_the_finer_one() -> None:
    """All ports were read at both edges, one of them each half second too: all together have a
    course no finer than the rest of them."""

    def of(port: str, at_s: list[float], sent: list[int]) -> Series:
        return Series(
            node="switch",
            port=port,
            instrument="ports",
            at_ns=tuple(round(at * 1e9) for at in at_s),
            values={"bytes_forwarded": tuple(sent), "queue_bytes": (0,) * len(sent)},
        )

    names = ("client", "server-1", "server-2", "server-3")
    coarse = [of(name, [0.0, 1.0, 2.0], [0, 125_000, 250_000]) for name in names]
    fine = of("client", [0.0, 0.5, 1.0, 1.5, 2.0], [0, 125_000, 125_000, 125_000, 250_000])
    for series in ((fine, *coarse), (*coarse, fine)):
        run = RunSample(PLANNED, counted(series=series))
        one, every = (
            course(run, split_metric(f"switch{at}.port_out_mbps")) for at in ("@client", "")
        )
        assert one is not None
        assert list(one[1]) == pytest.approx([2.0, 0.0, 0.0, 2.0])
        assert every is not None
        assert list(every[1]) == pytest.approx([4.0, 4.0])


def test_a_queue_is_what_waits_at_the_samples_and_not_how_it_grew() -> None:
    """A megabyte for the first half second, and nothing for the other three."""
    samples = Series(
        node="switch",
        port="client",
        instrument="ports",
        at_ns=(0, 500_000_000, 2_000_000_000),
        values={"queue_bytes": (4_000, 1_000_000, 0)},
    )
    edges_alone = {"switch": {"client": {"queue_bytes": (4_000, 0)}}}
    record = counted(series=(samples,), ports=edges_alone)
    assert value(record, "switch@client.port_queue_bytes") == pytest.approx(250_000)
    assert value(record, "switch@client.port_queue_bytes_min") == 0
    found = course(RunSample(PLANNED, record), split_metric("switch@client.port_queue_bytes"))
    assert found is not None
    assert list(found[1]) == [1_000_000, 0]
    assert value(counted(ports=edges_alone), "switch@client.port_queue_bytes") is None


def test_percentiles_need_as_many_intervals_as_show_them() -> None:
    rng = np.random.default_rng(5)
    sent = np.concatenate([[0], rng.integers(1, 10_000, 2_000)]).cumsum()
    at = np.linspace(0, 2, sent.size)
    few, many = (
        counted(series=(sampled("client", list(at[::step]), [int(v) for v in sent[::step]]),))
        for step in (500, 1)
    )
    assert value(few, "client.send_mbps_p99") is None
    assert value(many, "client.send_mbps_p99") == pytest.approx(
        np.quantile(np.diff(sent) * 8 / 1e6 / 0.001, 0.99), rel=1e-6
    )


def test_a_node_that_nobody_sampled_has_no_course() -> None:
    assert value(counted(), "client.send_mbps_max") is None
    assert course(RunSample(PLANNED, counted()), split_metric("client.send_mbps")) is None


def test_a_plan_has_the_metrics_of_its_groups_switches_links_and_machine() -> None:
    names = [metric.name for metric in node_metrics([PLANNED])]
    assert len(names) == len(set(names))
    expected = {
        "client.cpu_pct",
        "server.send_mbps",
        "switch@client.port_in_mbps",
        "switch@server.port_drops",
        "link.utilisation_pct",
        "machine.softirq_pct",
    }
    assert expected <= set(names)
    assert not [name for name in names if name.startswith(("client@", "server-"))]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("app.cpu_pct", "CPU of app"),
        ("app@client.send_mbps_p99", "99th percentile of the traffic sent of app towards client"),
        ("switch@a.port_in_mbps in warm-up", "Incoming traffic of switch towards a, warm-up"),
    ],
)
def test_a_metric_says_what_where_and_when(name: str, title: str) -> None:
    metric = node_metric(split_metric(name))
    assert isinstance(metric, Metric)
    assert (metric.name, metric.title) == (name, title)


def test_what_is_busy_is_told_by_the_time_that_it_was() -> None:
    """1.5 s and 0.5 s of two seconds: in ms as a kernel counts disks, in ns as the simulator."""
    counters = {
        "client": {"disk_busy_ns": (7, 500_000_007), "io_bus_busy_ns": (0, 1_000_000_000)},
        "machine": {"disk_busy_ms": (100, 1600)},
    }
    record = counted(counters)
    assert value(record, "machine.disk_busy_pct") == pytest.approx(75)
    assert value(record, "client.disk_busy_pct") == pytest.approx(25)
    assert value(record, "client.io_bus_busy_pct") == pytest.approx(50)
    assert value(record, "client.memory_bus_busy_pct") is None


def test_frames_at_a_port_have_a_mean_size_each_way_and_fill_a_share_of_the_line() -> None:
    """1,000 frames of 1,518 bytes come in and 500 of 64 leave. 10 Gbit/s in 2 s are 2.5 GB."""
    port = frames(
        bytes_received=1_518_000, frames_received=1000, bytes_forwarded=32_000, frames_forwarded=500
    )
    record = counted(ports={"switch": {"client": port}})
    assert value(record, "switch@client.port_in_frame_bytes_mean") == 1518
    assert value(record, "switch@client.port_out_frame_bytes_mean") == 64
    assert value(record, "switch@client.port_in_utilisation_pct") == pytest.approx(
        100 * 1000 * 1538 / 2.5e9
    )


def test_a_metric_of_a_node_that_no_run_has_is_none_for_the_whole_cell() -> None:
    runs = [RunSample(PLANNED, counted()) for _ in range(2)]
    assert node_metric(split_metric("nobody.cpu_pct")).reading.estimate(runs) is None
