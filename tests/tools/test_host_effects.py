"""What properties of hosts do to losses: what is counted, and that each property shows."""

from __future__ import annotations

import pytest

from netstudy.wire import IterationSamples, RecordNode, RunRecord, Samples
from tests.report.synthetic import edges
from tools.host_effects import COLLAPSE, SHARED, Losses, losses, simulated, table

pytestmark = pytest.mark.engine

SMALL = {"jitter of 2 µs", "jitter of 5 µs"}
"""Too little to take all flows out of step."""


def record(completion_ms: tuple[int, ...], **server: int) -> RunRecord:
    zeros = (0,) * len(completion_ms)
    samples = IterationSamples(
        completion_ns=tuple(ms * 1_000_000 for ms in completion_ms),
        dropped_packets=zeros,
        retransmissions=zeros,
        timeouts=zeros,
    )
    return RunRecord(
        run="a" * 12,
        treatment={},
        replicate=1,
        seed="b" * 16,
        status="ok",
        nodes={"server": RecordNode(kind="host", group="server", clock="machine")},
        samples=Samples(iteration=samples),
        edges=edges(0, sum(samples.completion_ns)),
        counters={"server": {name: (10, 10 + grown) for name, grown in server.items()}},
        ports={"switch": {"client": {"frames_dropped": (4, 10)}}},
    )


def test_counts_are_those_of_an_iteration_over_all_runs() -> None:
    counts = {"fast_recoveries": 3, "loss_probe_recoveries": 2, "timeouts": 1}
    found = losses([record((10, 20), **counts), record((30, 40), **counts)])
    assert found == Losses(25.0, 3.0, 1.5, 1.0, 0.5)


def test_without_an_iteration_there_is_nothing_to_tell() -> None:
    with pytest.raises(ValueError, match="no iteration was completed"):
        losses([])


def test_jitter_takes_flows_out_of_step_so_that_they_wait_less() -> None:
    found = dict(simulated(SHARED, iterations=100, seed=1))
    assert tuple(found) == tuple(SHARED.variants)
    waits = {name: one.timeouts + one.loss_probe_recoveries for name, one in found.items()}
    # In step, the short last segment of a flow meets the port just before a frame has left.
    in_step = waits.pop("jitter of 0 µs")
    out_of_step = [wait for name, wait in waits.items() if name not in SMALL]
    assert max(out_of_step) < 0.7 * in_step, waits
    assert found["jitter of 10 µs"].completion_ms < found["jitter of 0 µs"].completion_ms


def test_probes_that_leave_on_the_same_tick_are_lost_together() -> None:
    found = dict(simulated(COLLAPSE, iterations=60, seed=1))
    one_clock = found["as the study says"]
    # Less that a probe repairs, and so more that waits for its timer.
    assert one_clock.timeouts > 1.1 * found["a clock for each host"].timeouts
    assert all(one.frames_dropped > 0 for one in found.values())


def test_the_table_names_each_variant_and_the_kernel() -> None:
    one = Losses(350.04, 140.5, 53.61, 0.123, 0.5)
    rows = table(SHARED, [("jitter of 10 µs", one), ("kernel, in namespaces", one)]).rows
    texts = [[getattr(value, "text", value) for value in row] for row in rows]
    assert texts[0][1:] == ["350.0", "140.5", "53.6", "0.12", "0.50"]
    assert len(rows) == 2
