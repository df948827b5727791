"""Records of runs whose hosts have clocks of their own, a thousand seconds apart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from netstudy import wire
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.samples import RunSample
from netstudy.analysis.workloads.transfer import TIMES
from netstudy.study.vocabulary import split_metric
from netstudy.testbed.real.assemble import run_record
from netstudy.testbed.real.clocks import NoBoundError
from netstudy.testbed.real.conduct import carry_out
from netstudy.testbed.real.setting import Setting
from tests.testbed.apart import STEP_NS, Apart
from tests.testbed.golden_runs import CASES, Golden

_MS = 1_000_000


def together(name: str) -> wire.RunRecord:
    """The record of the same run with one clock."""
    return wire.RunRecord.model_validate_json(Golden.stored(name).record)


def apart(name: str, *, is_compared: bool = True) -> wire.RunRecord:
    place = Apart.of(Golden.stored(name))
    place.is_compared = is_compared
    setting = Setting(place.stored.run, place)
    return run_record(asyncio.run(carry_out(setting, {})), {})


def client(name: str) -> str:
    """The first client of a run."""
    return Golden.stored(name).run.workload.roles.client[0]


def times(name: str, record: wire.RunRecord) -> Iterator[tuple[str, int]]:
    """Each time of a record, with the node whose clock it is of."""
    for of, node in record.nodes.items():
        yield from ((of, at_ns) for at_ns in node.read_at_ns or ())
    for series in record.series:
        yield from ((series.node, at_ns) for at_ns in series.at_ns)
    first = client(name)
    for phase in record.phases:
        yield from ((first, at_ns) for at_ns in (phase.start_ns, phase.end_ns))
    for edge in record.edges:
        yield from ((first, at_ns) for at_ns in (edge.at_ns, edge.quiet_ns) if at_ns is not None)
    table, moved = record.samples.connection, record.samples.transfer
    if table is not None and moved is not None:
        for row, start_ns, end_ns in zip(
            moved.connection, moved.start_ns, moved.end_ns, strict=True
        ):
            yield from ((table.client[row], at_ns) for at_ns in (start_ns, end_ns))


@pytest.mark.parametrize("name", CASES)
def test_every_time_is_of_the_clock_of_its_node(name: str) -> None:
    record, usual = apart(name), together(name)
    since_ns = usual.edges[0].at_ns
    clocks = Apart.of(Golden.stored(name)).ahead_ns
    assert len({node.clock for node in record.nodes.values()}) > 2
    for node, at_ns in times(name, record):
        passed_ns = at_ns - clocks[record.nodes[node].clock] - since_ns
        assert abs(passed_ns) < STEP_NS / 100, (node, at_ns)


@pytest.mark.parametrize("name", CASES)
def test_the_record_has_bounds_of_each_clock(name: str) -> None:
    record, place = apart(name), Apart.of(Golden.stored(name))
    first = record.nodes[client(name)].clock
    assert set(record.clocks) == {one.clock for one in record.nodes.values()} - {first}
    for clock, bounds in record.clocks.items():
        true_ns = place.ahead_ns[clock] - place.ahead_ns[first]
        assert bounds.offset_low_ns <= true_ns <= bounds.offset_high_ns
        assert bounds.drift_low_ppm <= 0 <= bounds.drift_high_ppm
        assert bounds.uncertainty_ns < 0.2 * _MS
    assert not together(name).clocks


def test_an_incast_is_the_same_but_for_drops_by_iteration() -> None:
    """The switch notes drops by its own clock."""
    record, usual = apart("incast"), together("incast")
    found, known = record.samples.iteration, usual.samples.iteration
    assert found is not None
    assert known is not None
    assert known.dropped_packets is not None
    assert found == known.model_copy(update={"dropped_packets": None})
    assert record.samples.connection == usual.samples.connection
    assert record.reconciliation == usual.reconciliation
    assert record.ports == usual.ports
    length = [one.end_ns - one.start_ns for one in record.phases]
    assert length == [one.end_ns - one.start_ns for one in usual.phases]


@pytest.mark.parametrize("name", ["incast", "transfer"])
def test_accounts_of_time_have_wider_bounds_that_still_hold(name: str) -> None:
    record, usual = apart(name), together(name)
    (law,) = [check for check in record.checks if check.law == "time bounds hold"]
    assert law.holds, law.detail
    assert [one.whole_ps for one in record.samples.time] == [
        one.whole_ps for one in usual.samples.time
    ]
    for found, known in zip(record.samples.time, usual.samples.time, strict=True):
        assert sum(found.low_ps) <= sum(known.low_ps)
        assert sum(found.high_ps or ()) >= sum(known.high_ps or ())


def test_clients_with_two_clocks_share_a_measuring_phase() -> None:
    record, usual = apart("transfer"), together("transfer")
    assert record.measure is not None
    assert usual.measure is not None
    first_ns = Apart.of(Golden.stored("transfer")).ahead_ns["client-1"]
    start_ns, end_ns = record.measure.start_ns - first_ns, record.measure.end_ns - first_ns
    assert usual.measure.start_ns < start_ns < usual.measure.start_ns + 50 * _MS
    assert usual.measure.end_ns - 50 * _MS < end_ns < usual.measure.end_ns
    assert record.bytes_received == usual.bytes_received
    assert [check.law for check in record.checks if not check.holds] == []


def test_each_machine_has_its_counters_series_and_limits() -> None:
    record, usual = apart("request"), together("request")
    of_machine = set(usual.counters["machine"])
    for host in ("server", "client"):
        assert set(record.counters[host]) == of_machine | set(usual.counters[host])
    assert "machine" not in record.counters
    steal = [one.name for one in record.limits if "other machines" in one.name]
    assert [name.rpartition(" ")[2] for name in steal] == ["(client)", "(server)"]
    (series,) = [one for one in record.series if one.node == "server" and one.port is None]
    assert "cpu_user_ms" in series.values
    assert "segments_sent" in series.values


def test_without_a_bound_an_incast_has_no_account_of_time() -> None:
    record = apart("incast", is_compared=False)
    assert record.samples.time == ()
    assert record.clocks == {}
    assert record.samples.iteration is not None


def test_without_a_bound_clients_with_two_clocks_have_no_common_phase() -> None:
    with pytest.raises(NoBoundError, match="was not compared with another one"):
        apart("transfer", is_compared=False)


@pytest.mark.parametrize(
    "metric",
    ["machine.cpu_pct", "machine.busiest_cpu_pct", "client.cpu_pct", "client.network_mbps"],
)
def test_metrics_of_several_machines_are_close_to_those_of_one(metric: str) -> None:
    """Each machine counts what the one machine counted, at nearly the same times."""
    planned = Golden.stored("transfer").run
    name = split_metric(metric)

    def value(record: wire.RunRecord) -> float:
        found = node_metric(name).reading.estimate([RunSample(planned, record)])
        assert found is not None
        return found.value

    assert value(apart("transfer")) == pytest.approx(value(together("transfer")), rel=0.1)


def test_transfers_of_several_clocks_stay_in_the_order_of_the_record() -> None:
    planned = Golden.stored("transfer").run
    assert TIMES.values is not None
    found, known = (
        TIMES.values(RunSample(planned, record))
        for record in (apart("transfer"), together("transfer"))
    )
    assert found is not None
    assert known is not None
    assert list(found) == list(known)
