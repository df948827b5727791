"""Slices of a plan: by work, by bytes, and corrected by measured times."""

from __future__ import annotations

from dataclasses import replace

from netstudy import wire
from netstudy.testbed.sweep.cutter import Cost, Cutter, halves
from netstudy.testbed.sweep.shares import shares
from tests.conftest import small_run

ONE = small_run(1)


def runs(count: int) -> tuple[wire.Run, ...]:
    return tuple(replace(ONE, id=f"{number:012x}") for number in range(count))


def costing(seconds: float, record_bytes: int = 1, plan_bytes: int = 1) -> Cost:
    return Cost(seconds, record_bytes, plan_bytes, packets=1)


def lengths(cutter: Cutter, cpus: int) -> list[int]:
    found = []
    while not cutter.is_done():
        found.append(len(cutter.next(cpus)))
    return found


def test_a_slice_has_five_seconds_of_work_and_the_last_ones_less() -> None:
    cutter = Cutter(runs(400), lambda _: costing(0.25))  # 100 s
    # While more than 20 s are left for one CPU: 5 s, 20 runs. Then a quarter of the rest, at least
    # half a second, 2 runs.
    found = lengths(cutter, 1)
    assert found[:16] == [20] * 16
    assert found[16:] == [20, 15, 11, 8, 6, 5, 3, 3, 2, 2, 2, 2, 1]
    assert sum(found) == 400


def test_all_runs_are_handed_out_once_in_order() -> None:
    given = runs(57)
    cutter = Cutter(given, lambda run: costing(0.1 + int(run.id, 16) % 7))
    out: list[wire.Run] = []
    while not cutter.is_done():
        out += cutter.next(3)
    assert tuple(out) == given


def test_a_run_that_takes_longer_is_a_slice_of_its_own() -> None:
    assert lengths(Cutter(runs(3), lambda _: costing(3600.0)), 4) == [1, 1, 1]


def test_the_records_of_a_slice_fit_into_memory() -> None:
    cost = costing(1e-6, record_bytes=4_000_000)
    assert lengths(Cutter(runs(10), lambda _: cost), 1) == [4, 4, 2]


def test_the_plan_of_a_slice_is_small_and_parts_that_runs_share_count_once() -> None:
    cost, shared = costing(1e-6, plan_bytes=1_000_000), runs(10)
    assert lengths(Cutter(shared, lambda _: cost), 1) == [10]
    own = [replace(run, workload=run.workload.model_copy()) for run in shared]
    assert lengths(Cutter(own, lambda _: cost), 1) == [4, 4, 2]


def test_measured_time_corrects_the_estimate() -> None:
    cutter = Cutter(runs(10_000), lambda _: costing(1 / 128))  # an exact binary fraction
    first = cutter.next(1)
    assert len(first) == 5 * 128
    cutter.learn(first, 8 * 5.0)  # eight times as long
    assert len(cutter.next(1)) == 5 * 128 // 8


def test_halves_have_all_runs() -> None:
    given = runs(5)
    assert halves(given) == [given[:3], given[3:]]
    assert halves(given[:1]) == [given[:1]]


def test_shares_have_about_the_same_work() -> None:
    given = runs(100)
    seconds = {run.id: 1.0 + int(run.id, 16) % 10 for run in given}
    parts = shares(given, 7, lambda run: costing(seconds[run.id]))
    assert sorted(run.id for part in parts for run in part) == sorted(seconds)
    works = [sum(seconds[run.id] for run in part) for part in parts]
    assert max(works) - min(works) <= max(seconds.values())


def test_shares_are_the_same_whoever_computes_them() -> None:
    cost = costing(1.0)
    assert shares(runs(10), 3, lambda _: cost) == shares(runs(10), 3, lambda _: cost)
