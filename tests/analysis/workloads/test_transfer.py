"""Metrics of transfers, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from netstudy.analysis.causes import causes
from netstudy.analysis.cells import CellRow
from netstudy.analysis.ideal import capacity_bps
from netstudy.analysis.layout import layout
from netstudy.analysis.workloads.transfer import (
    DROPS,
    FAIRNESS,
    GOODPUT,
    GOODPUT_GET,
    GOODPUT_PUT,
    MOVED,
    RETRANSMISSIONS,
    TIMEOUTS,
    TRANSFER,
    TRANSFER_P50,
    TRANSFERS,
)
from netstudy.wire import (
    ConnectionSamples,
    Host,
    Link,
    Network,
    Phase,
    PhaseTimes,
    Port,
    Roles,
    Run,
    RunRecord,
    Samples,
    SecondSamples,
    Transfer,
    TransferSamples,
    UntilTime,
    Zone,
)
from tests.report.synthetic import (
    FakeFolder,
    edges,
    link,
    network,
    nodes,
    plan_of,
    planned,
    pooled,
)

SECOND = 1_000_000_000
Direction = Literal["get", "put", "both"]


def transfer(
    replicate: int = 1, direction: Direction = "get", size_bytes: int | None = 1_000_000
) -> Run:
    """Two flows of one pair for two seconds."""
    roles = Roles(client=("client",), server=("server",))
    return planned(
        {},
        replicate,
        network=network("arista-7124s", 1),
        workload=Transfer(roles=roles, direction=direction, size_bytes=size_bytes, flows=2),
        phases=(Phase(kind="measure", until=UntilTime(ns=2 * SECOND)),),
    )


def outcome(run: Run, **tables: Any) -> RunRecord:
    """Two flows that move 6 and 2 MB in two seconds, and the same back where they go both ways."""
    moved, none = (6_000_000, 2_000_000), (0, 0)
    assert isinstance(run.workload, Transfer)
    way = run.workload.direction
    connection = ConnectionSamples(
        client=("client", "client"),
        server=("server", "server"),
        bytes_received=none if way == "put" else moved,
        bytes_sent=none if way == "get" else moved,
        busy_ns=(2 * SECOND, SECOND),
        retransmissions=(3, 1),
        timeouts=(1, 0),
    )
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="ok",
        nodes=nodes(run),
        phases=(PhaseTimes(kind="measure", start_ns=SECOND, end_ns=3 * SECOND),),
        samples=Samples(connection=connection, **tables),
        edges=edges(SECOND, 3 * SECOND),
        ports={"switch": {"client": {"frames_dropped": (5, 13)}}},
    )


def cell_of(*records: tuple[Run, RunRecord]) -> CellRow:
    plan = plan_of(run for run, _ in records)
    return pooled(FakeFolder(plan, [record for _, record in records])).rows[0]


def one_run(run: Run | None = None, **tables: Any) -> CellRow:
    run = run or transfer()
    return cell_of((run, outcome(run, **tables)))


@pytest.mark.parametrize(
    ("direction", "min_rto_ms"), [("get", 200.0), ("put", 5.0), ("both", None)]
)
def test_the_minimum_rto_is_that_of_the_ends_that_send(
    direction: Direction, min_rto_ms: float | None
) -> None:
    run = transfer(direction=direction)
    client, server = run.network.groups
    hasty = client.model_copy(
        update={"tcp": client.tcp.model_copy(update={"min_rto_ns": 5_000_000})}
    )
    net = run.network.model_copy(update={"groups": (hasty, server)})
    run = replace(run, network=net, cases=("main",))
    table = pooled(FakeFolder(plan_of([run]), [outcome(run)]))
    (panel,) = layout(table, "main", None).panels
    assert causes(panel, None, TRANSFERS).min_rto_ms == min_rto_ms


def test_goodput_is_all_bytes_over_the_measuring_phase() -> None:
    # 8 MB in 2 s
    assert one_run().value(GOODPUT) == pytest.approx(32)
    assert one_run().value(MOVED) == 8


@pytest.mark.parametrize(("direction", "factor"), [("get", 1), ("put", 1), ("both", 2)])
def test_both_directions_are_summed_and_told_apart(direction: Direction, factor: int) -> None:
    cell = one_run(transfer(direction=direction))
    assert cell.value(GOODPUT) == pytest.approx(32 * factor)
    each = None if direction != "both" else pytest.approx(32)
    assert (cell.value(GOODPUT_GET), cell.value(GOODPUT_PUT)) == (each, each)


def test_losses_are_counted_by_the_bytes_that_were_moved() -> None:
    cell = one_run()
    # 8 MB are 0.008 GB: 8 drops, 4 retransmissions, 1 timeout
    assert cell.value(DROPS) == pytest.approx(1000)
    assert cell.value(RETRANSMISSIONS) == pytest.approx(500)
    assert cell.value(TIMEOUTS) == pytest.approx(125)
    assert [cell.value(metric) for metric in TRANSFERS.metrics[-3:]] == [8, 4, 1]


@pytest.mark.parametrize("direction", ["get", "put", "both"])
def test_fairness_compares_what_each_flow_moved_while_it_was_busy(direction: Direction) -> None:
    # 3 MB/s and 2 MB/s: 25 ÷ (2 × 13)
    assert one_run(transfer(direction=direction)).value(FAIRNESS) == pytest.approx(25 / 26)


def test_fairness_of_both_directions_is_over_their_sum() -> None:
    run = transfer(direction="both")
    made = outcome(run)
    assert made.samples.connection is not None
    connection = made.samples.connection.model_copy(update={"bytes_sent": (0, 1_000_000)})
    made = made.model_copy(update={"samples": Samples(connection=connection)})
    # (6 + 0) MB in 2 s and (2 + 1) MB in 1 s
    assert cell_of((run, made)).value(FAIRNESS) == pytest.approx(1)


def test_times_of_transfers_are_told_where_they_have_a_size() -> None:
    ends = tuple(SECOND + n * SECOND // 10 for n in range(1, 11))
    table = TransferSamples(
        connection=(0,) * 10,
        start_ns=tuple(end - n * 10_000_000 for n, end in enumerate(ends, start=1)),
        end_ns=ends,
        bytes_received=(1_000_000,) * 10,
        bytes_sent=(0,) * 10,
    )
    cell = one_run(transfer=table)
    assert cell.value(TRANSFER) == pytest.approx(0.055)
    assert cell.value(TRANSFER_P50) == pytest.approx(0.055)
    endless = transfer(size_bytes=None)
    assert one_run(endless, transfer=table).value(TRANSFER) is None


def seconds(first: int, second: int) -> SecondSamples:
    """What both flows together moved in each of two seconds, the one three times the other."""
    return SecondSamples(
        connection=(0, 1, 0, 1),
        start_ns=(0, 0, SECOND, SECOND),
        bytes_received=(first * 3 // 4, first // 4, second * 3 // 4, second // 4),
        bytes_sent=(0,) * 4,
    )


def test_the_seconds_of_a_run_are_its_course() -> None:
    run = transfer()
    record = outcome(run, second=seconds(2_000_000, 6_000_000))
    assert cell_of((run, record)).value(GOODPUT) == pytest.approx(32)
    (sample,) = cell_of((run, record)).runs
    terms = GOODPUT.reading.terms(sample)
    assert terms is not None
    assert [list(column) for column in terms] == [[16, 48], [1, 1]]


def test_seconds_that_do_not_add_up_say_nothing_of_spread() -> None:
    run = transfer()
    record = outcome(run, second=seconds(2_000_000, 4_000_000))
    (sample,) = cell_of((run, record)).runs
    terms = GOODPUT.reading.terms(sample)
    assert terms is not None
    assert [column.size for column in terms] == [1, 1]
    assert GOODPUT.reading.of_run(sample) == pytest.approx(32)


def test_one_run_has_no_interval_and_several_have_one_from_their_spread() -> None:
    alone = one_run().estimate(GOODPUT)
    assert alone is not None
    assert alone.interval is None
    first, second = transfer(1), transfer(2)
    slower = outcome(second)
    slower = slower.model_copy(
        update={"phases": (PhaseTimes(kind="measure", start_ns=0, end_ns=4 * SECOND),)}
    )
    both = cell_of((first, outcome(first)), (second, slower)).estimate(GOODPUT)
    assert both is not None
    # 16 MB in 6 s: a ratio of sums, not the mean of 32 and 16 Mbit/s
    assert both.value == pytest.approx(128 / 6)
    assert both.unit == "run"
    assert both.interval is not None


def test_the_bound_is_the_narrowest_place_less_the_headers() -> None:
    star = transfer()
    bound = TRANSFERS.bound(star)
    assert bound is not None
    assert bound.line_rate_bps == 10_000_000_000
    assert bound.goodput_mbps == pytest.approx(10_000 * 8948 / 9038)


def dumbbell(trunk_bps: int) -> Network:
    """Two hosts on either side of a trunk between two switches."""
    star = network("arista-7124s", 2)
    (switch,) = star.switches
    west = switch.model_copy(update={"name": "switch-west"})
    east = switch.model_copy(update={"name": "switch-east"})
    hosts = ("a", "b", "c", "d")
    return Network(
        groups=star.groups,
        nodes=(*(Host(name=name, group="server") for name in hosts), west, east),
        links=(
            link("a", "switch-west"),
            link("b", "switch-west"),
            link("c", "switch-east"),
            link("d", "switch-east"),
            link("switch-west", "switch-east", rate_bps=trunk_bps),
        ),
    )


def test_the_most_that_a_graph_carries_is_its_smallest_cut() -> None:
    gbps = 10**9
    assert capacity_bps(dumbbell(3 * gbps), ["a", "b"], ["c", "d"]) == 3 * gbps
    assert capacity_bps(dumbbell(50 * gbps), ["a", "b"], ["c", "d"]) == 20 * gbps
    assert capacity_bps(dumbbell(50 * gbps), ["a", "b"], ["c"]) == 10 * gbps
    assert capacity_bps(dumbbell(3 * gbps), ["a"], ["b"]) == 10 * gbps


def test_zones_of_one_host_need_no_link() -> None:
    one = Host(name="box", group="server")
    zones = tuple(
        Zone(name=name, group="server", host="box", interface="eth0") for name in ("east", "west")
    )
    other = Host(name="far", group="server")
    wire = Link(
        a=Port(node="box", name="eth0", rate_bps=10**9),
        b=Port(node="far", name="eth0", rate_bps=10**9),
        delay_ns=0,
        mtu_bytes=1500,
    )
    groups = network("arista-7124s", 1).groups
    placed = Network(groups=groups, nodes=(one, *zones, other), links=(wire,))
    assert capacity_bps(placed, ["east"], ["west"]) is None
    assert capacity_bps(placed, ["east"], ["far"]) == 10**9
