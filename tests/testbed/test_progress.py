"""How far a testbed is that makes one run after the other: it moves within a run."""

from __future__ import annotations

from netstudy import wire
from netstudy.plan import useful_packets
from netstudy.testbed.real.progress import Progress


def plan(small_plan: wire.Plan) -> wire.Plan:
    """Two runs: of 20 iterations, the second with 5 more before them."""
    first, second = small_plan.runs[:2]
    work = second.workload.model_copy(update={"warmup_iterations": 5})
    runs = (first, second.model_copy(update={"workload": work}))
    return small_plan.model_copy(update={"runs": runs})


def test_packets_grow_with_the_iterations_of_a_run(small_plan: wire.Plan) -> None:
    made = plan(small_plan)
    first, second = map(useful_packets, made.runs)
    progress = Progress(made)

    assert progress.within(0, 0).packets == 0
    assert progress.within(0, 10).packets == first // 2
    assert progress.between(1).packets == first
    assert progress.within(1, 15).packets == first + second * 15 // 25
    assert progress.between(2).packets == first + second
    assert progress.between(2).packets_planned == first + second


def test_the_run_under_way_is_told_of_while_there_is_one(small_plan: wire.Plan) -> None:
    progress = Progress(plan(small_plan))
    within, between = progress.within(1, 7), progress.between(1)

    assert (within.runs_done, within.runs) == (1, 2)
    assert within.under_way == wire.RunUnderWay(iterations_done=7, iterations=25)
    assert between.under_way is None
