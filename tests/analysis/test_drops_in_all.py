"""Drops that are known for a run and not for its iterations, as queues of a kernel count them."""

from __future__ import annotations

import pytest

from netstudy.analysis.causes import causes
from netstudy.analysis.cells import CellRow
from netstudy.analysis.layout import layout
from netstudy.analysis.workloads.incast import COMPLETION, DROPS, INCAST, RETRANSMISSIONS
from netstudy.wire import Readings
from tests.report.synthetic import FakeFolder, from_samples, plan_of, pooled, run

Ports = dict[str, dict[str, Readings]]
PORTS: Ports = {
    "switch": {"client": {"frames_dropped": (4, 10)}, "server": {"frames_dropped": (0, 2)}}
}
OTHER: Ports = {"switch": {"all": {"frames_dropped": (0, 12)}}}


def made_with(*counters: Ports) -> FakeFolder:
    """Runs of four iterations in one cell, whose records have these counters."""
    planned = [run({"servers": 4}, n + 1, iterations=4) for n in range(len(counters))]
    times = [10.0, 20.0, 30.0, 40.0]
    records = []
    for one, counted in zip(planned, counters, strict=True):
        record = from_samples(one, times, [0] * 4, [1, 2, 3, 4], [0] * 4)
        assert record.samples.iteration is not None
        unknown = record.samples.iteration.model_copy(update={"dropped_packets": None})
        samples = record.samples.model_copy(update={"iteration": unknown})
        records.append(record.model_copy(update={"samples": samples, "ports": counted}))
    return FakeFolder(plan_of(planned), records)


def cell_with(*counters: Ports) -> CellRow:
    return pooled(made_with(*counters)).rows[0]


def test_the_counters_of_all_ports_together_by_the_iterations() -> None:
    assert cell_with(PORTS).value(DROPS) == 2
    with_a_host: Ports = {**OTHER, "client": {"eth0": {"frames_dropped": (0, 5)}}}
    assert cell_with(PORTS, with_a_host).value(DROPS) == 2.5


def test_one_run_has_no_interval_for_nothing_is_known_of_its_spread() -> None:
    estimate = cell_with(PORTS).estimate(DROPS)
    assert estimate is not None
    assert estimate.interval is None
    both = cell_with(PORTS, OTHER).estimate(DROPS)
    assert both is not None
    assert (both.n, both.unit) == (2, "run")


@pytest.mark.parametrize(
    "counters",
    [
        {},
        {"client": {"eth0": {"frames_dropped": (0, 3)}}},
        {"switch": {**PORTS["switch"], "spare": {}}},
        {"switch": {**PORTS["switch"], "spare": {"frames_dropped": (0, None)}}},
    ],
)
def test_missing_is_not_zero(counters: Ports) -> None:
    assert cell_with(counters).value(DROPS) is None
    assert cell_with(counters).value(COMPLETION) == 25


def test_the_causes_between_iterations_leave_them_out() -> None:
    (panel,) = layout(pooled(made_with(PORTS)), "main", None).panels
    found = causes(panel, None, INCAST)
    assert found.retransmissions_per_drop == pytest.approx(10 / 8)
    by_cause = {link.cause: link.n for link in found.links if link.scope == "inside cells"}
    assert by_cause[DROPS] == 0
    assert by_cause[RETRANSMISSIONS] == 1
