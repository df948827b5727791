"""Flows in step with their bottleneck: what is counted, and that jitter of hosts takes it away."""

from __future__ import annotations

import pytest

from netstudy.wire import IterationSamples, RunRecord
from tools import in_step
from tools.in_step import JITTERS_US, Losses, losses, simulated, table


def record(completion_ms: tuple[int, ...], **server: int) -> RunRecord:
    zeros = (0,) * len(completion_ms)
    samples = IterationSamples(
        completion_ns=tuple(ms * 1_000_000 for ms in completion_ms),
        dropped_packets=zeros,
        retransmissions=zeros,
        timeouts=zeros,
    )
    counters = {"server": server, "switch.client": {"frames_dropped": 6}}
    return RunRecord(
        run="a" * 12, treatment={}, replicate=1, seed="b" * 16, status="ok",
        iterations=samples, counters=counters,
    )  # fmt: skip


def test_counts_are_those_of_an_iteration_over_all_runs() -> None:
    counts = {"fast_recoveries": 3, "loss_probe_recoveries": 2, "timeouts": 1}
    found = losses([record((10, 20), **counts), record((30, 40), **counts)])
    assert found == Losses(25.0, 3.0, 1.5, 1.0, 0.5)


def test_without_an_iteration_there_is_nothing_to_tell() -> None:
    with pytest.raises(ValueError, match="no iteration was completed"):
        losses([])


def test_jitter_takes_flows_out_of_step_so_that_they_wait_less() -> None:
    found = dict(simulated(iterations=100, seed=1))
    assert tuple(found) == JITTERS_US
    waits = {us: one.timeouts + one.loss_probe_recoveries for us, one in found.items()}
    # In step, the short last segment of a flow meets the port just before a frame has left.
    assert max(waits[us] for us in (10, 20, 50, 100)) < 0.7 * waits[0], waits
    assert found[10].completion_ms < found[0].completion_ms


def test_the_table_names_each_jitter_and_the_kernel() -> None:
    one = Losses(350.04, 140.5, 53.61, 0.123, 0.5)
    rows = table([("10 µs", one), ("kernel, in namespaces", one)]).rows
    texts = [[getattr(value, "text", value) for value in row] for row in rows]
    assert texts[0][1:] == ["350.0", "140.5", "53.6", "0.12", "0.50"]
    assert len(rows) == 2
    assert in_step.CELL == {"tcp": "reno", "flows": 8}
