"""What `make profile` records: every kind of run, so that none is built as if it were rare."""

from __future__ import annotations

from netstudy.plan import useful_packets
from tools.bench import scenarios, training


def test_both_modes_and_every_buffer_architecture_are_trained() -> None:
    runs = [scenarios.with_iterations(run, 1) for run in training.runs()]

    records = scenarios.run_records(scenarios.simulate(runs).output)

    assert {record.mode for record in records} == {"closed-form", "per-hop"}
    switches = [switch for run in runs for switch in run.network.switches]
    assert {switch.buffer.kind for switch in switches} == {
        "output-queued",
        "shared-memory",
        "ingress-queued",
    }


def test_each_run_weighs_about_the_same() -> None:
    packets = [useful_packets(run) for run in training.runs()]

    assert max(packets) < 1.3 * min(packets)
