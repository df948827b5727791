"""Rates over clients that begin at slightly different times, each by a clock of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netstudy.analysis.nodes import node_metric
from netstudy.analysis.samples import RunSample
from netstudy.study.vocabulary import split_metric
from netstudy.wire import ClockBounds, Edge, Phase, PhaseTimes, RunRecord, UntilTime
from tests.analysis.test_nodes import PLANNED, counted, interface

PLANNED_NS = 2_000_000_000
LATE_NS = 100_000_000
"""The second client begins and ends so much after the first one."""
TIMED = replace(PLANNED, phases=(Phase(kind="measure", until=UntilTime(ns=PLANNED_NS)),))
BOUNDS = ClockBounds(
    offset_low_ns=0, offset_high_ns=0, drift_low_ppm=0, drift_high_ppm=0, uncertainty_ns=0
)


def record(clocks: dict[str, ClockBounds]) -> RunRecord:
    """The phase is the time that both clients share; 100 Mbit/s arrive as long as one sends."""
    sent = interface(0, received=round(100e6 / 8 * (PLANNED_NS + LATE_NS) / 1e9))
    return counted(
        ports={"client": sent},
        phases=(PhaseTimes(kind="measure", start_ns=LATE_NS, end_ns=PLANNED_NS),),
        edges=(
            Edge(name="measure-start", at_ns=0),
            Edge(name="measure-end", at_ns=PLANNED_NS + LATE_NS, quiet_ns=PLANNED_NS + LATE_NS),
        ),
        clocks=clocks,
    )


def received_mbps(found: RunRecord) -> float:
    reading = node_metric(split_metric("client.receive_mbps")).reading
    estimate = reading.estimate([RunSample(TIMED, found)])
    assert estimate is not None
    return estimate.value


def test_each_client_counts_over_the_planned_length() -> None:
    assert RunSample(TIMED, record({"second": BOUNDS})).measure_s == pytest.approx(2.0)


def test_counters_grow_from_the_start_of_the_first_client() -> None:
    assert received_mbps(record({"second": BOUNDS})) == pytest.approx(100)


def test_clients_of_one_clock_share_the_whole_phase() -> None:
    assert RunSample(TIMED, record({})).measure_s == pytest.approx(1.9)
