"""What `make profile` records: every kind of run, so that none is built as if it were rare."""

from __future__ import annotations

import pytest

from netstudy import wire
from netstudy.plan import useful_packets
from tools.bench import scenarios, training

pytestmark = pytest.mark.engine


def test_both_modes_and_every_buffer_architecture_are_trained() -> None:
    runs = [
        scenarios.with_iterations(run, 1) if isinstance(run.workload, wire.Incast) else run
        for run in training.runs()
    ]

    records = scenarios.run_records(scenarios.simulate(runs).output)

    assert {record.mode for record in records} == {"closed-form", "per-hop"}
    switches = [switch for run in runs for switch in run.network.switches]
    assert {switch.buffer.kind for switch in switches} == {
        "output-queued",
        "shared-memory",
        "ingress-queued",
    }


def test_every_kind_of_workload_is_trained() -> None:
    kinds = {(run.workload.kind, run.probe is not None) for run in training.runs()}

    assert kinds == {
        ("incast", False),
        ("transfer", False),
        ("transfer", True),
        ("request", False),
    }


def test_incasts_weigh_about_the_same_and_nothing_else_weighs_more() -> None:
    runs = training.runs()
    incasts = [useful_packets(run) for run in runs if isinstance(run.workload, wire.Incast)]

    assert max(incasts) < 1.3 * min(incasts)
    assert max(map(useful_packets, runs)) < 1.3 * min(incasts)
