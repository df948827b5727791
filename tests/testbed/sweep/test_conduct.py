"""Slices on a cluster that misbehaves on request: which runs are repeated, and which one fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import CancelledError
from types import SimpleNamespace
from typing import Any

import pytest

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.plan_lines import RUN, read_plan
from netstudy.testbed.survival import is_of_dead_engine
from netstudy.testbed.sweep import conduct
from netstudy.testbed.sweep.address import Local
from netstudy.testbed.sweep.conduct import Conduct
from netstudy.testbed.sweep.cutter import Cost

distributed = pytest.importorskip(
    "distributed", reason="needs distributed: pip install netstudy[dask]"
)

ENGINE = b'{"kind":"engine","schema":"netstudy/record/2","version":"1","testbed":"sim"}\n'
WORKER = "tls://10.0.0.6:1"


def record(run: dict[str, Any], seed: str | None = None) -> bytes:
    fields = {name: run[name] for name in ("treatment", "replicate", "seed")}
    told = {"kind": "run", "run": run["id"], **fields, "status": "ok"}
    if seed is not None:
        told["seed"] = seed
    return json.dumps(told).encode() + b"\n"


def answer(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer of a worker whose engine executed all runs."""
    end = b'{"kind":"end","runs":%d}\n' % len(runs)
    out = ENGINE + b"".join(map(record, runs)) + end
    return {"worker": WORKER, "code": 0, "out": out, "err": b"", "seconds": 0.1}


def killed_worker() -> Exception:
    last = SimpleNamespace(address=WORKER)
    return distributed.KilledWorker("task", last, 2)  # type: ignore[no-any-return]


Behaviour = Callable[[list[dict[str, Any]], "FakeClient"], Any]
"""The outcome of a slice: an answer, or an exception."""


class FakeFuture:
    """A slice that has ended already."""

    def __init__(self, key: str, outcome: Any) -> None:
        self.key = key
        self.outcome = outcome
        self.status = "error" if isinstance(outcome, Exception) else "finished"
        if isinstance(outcome, CancelledError):
            self.status = "cancelled"

    def add_done_callback(self, call: Callable[[FakeFuture], None]) -> None:
        call(self)

    def result(self) -> Any:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def release(self) -> None:
        pass


class FakeClient:
    """A cluster of one worker that behaves as told."""

    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.slices: list[list[str]] = []
        """Ids of the runs of each slice, as they were submitted."""
        self.engines: list[Any] = []
        """The bytes of the engine that each slice came with."""
        self.cancelled = 0

    def submit(self, _function: Any, plan: bytes, *arguments: Any, **_options: Any) -> FakeFuture:
        runs = [RUN.dump_python(run, mode="json") for run in read_plan(plan.splitlines()).runs]
        self.slices.append([run["id"] for run in runs])
        self.engines.append(arguments[-1])
        return FakeFuture(str(len(self.slices)), self.behave(runs, self))

    def scatter(self, content: bytes, hash: bool) -> bytes:
        return content

    def cancel(self, futures: list[Any], force: bool) -> None:
        self.cancelled += len(futures)


class FakeCluster:
    """What Conduct asks of a cluster."""

    where = Local(1)

    def __init__(self, behave: Behaviour) -> None:
        self.client = FakeClient(behave)
        self.engine = SimpleNamespace(content=b"engine", sha256="0" * 64, folder=None)
        self.workers = {WORKER: 1}
        self.connected = True

    def threads(self) -> dict[str, int]:
        return self.workers

    def is_connected(self) -> bool:
        return self.connected


def carried_out(plan: wire.Plan, behave: Behaviour) -> tuple[FakeCluster, dict[str, bytes]]:
    """Execute a plan; returns the record of each run."""
    cluster = FakeCluster(behave)
    lines: dict[str, bytes] = {}

    def on_record(record: wire.Record, line: bytes) -> None:
        if isinstance(record, wire.RunRecord):
            assert record.run not in lines, "two records of a run"
            lines[record.run] = line

    cost = Cost(seconds=1.0, record_bytes=1, plan_bytes=1, packets=1)
    Conduct(cluster, plan, on_record, lambda _: cost).carry_out()  # type: ignore[arg-type]
    return cluster, lines


def test_every_run_has_its_record(small_plan: wire.Plan) -> None:
    cluster, lines = carried_out(small_plan, lambda runs, _: answer(runs))
    assert lines.keys() == {run.id for run in small_plan.runs}
    assert [run for one in cluster.client.slices for run in one] == [r.id for r in small_plan.runs]


def test_a_worker_gets_the_engine_once_it_lacks_it(small_plan: wire.Plan) -> None:
    def lacking(runs: list[dict[str, Any]], client: FakeClient) -> Any:
        has_engine = any(client.engines)
        return answer(runs) if has_engine else {"worker": WORKER, "lacks_engine": True}

    cluster, lines = carried_out(small_plan, lacking)
    assert len(lines) == len(small_plan.runs)
    assert cluster.client.engines.count(b"engine") >= 1
    assert None in cluster.client.engines


def test_a_run_whose_workers_die_is_found_and_fails(small_plan: wire.Plan) -> None:
    poison = small_plan.runs[3].id

    def deadly(runs: list[dict[str, Any]], _: FakeClient) -> Any:
        return killed_worker() if poison in {run["id"] for run in runs} else answer(runs)

    _, lines = carried_out(small_plan, deadly)
    assert lines.keys() == {run.id for run in small_plan.runs}
    dead = [run for run, line in lines.items() if is_of_dead_engine(line)]
    assert dead == [poison]
    assert WORKER.encode() in lines[poison]


def test_a_slice_that_only_waited_at_dying_workers_is_not_blamed(small_plan: wire.Plan) -> None:
    blamed = set()

    def unlucky(runs: list[dict[str, Any]], _: FakeClient) -> Any:
        slice_ = tuple(run["id"] for run in runs)
        if slice_ in blamed:
            return answer(runs)
        blamed.add(slice_)
        return killed_worker()

    cluster, lines = carried_out(small_plan, unlucky)
    assert not any(map(is_of_dead_engine, lines.values()))
    # Each slice is done again as it was, and not cut.
    assert sorted(cluster.client.slices) == sorted([*map(list, blamed), *map(list, blamed)])


def test_a_run_that_kills_three_engines_fails_and_no_other_run_does(
    small_plan: wire.Plan,
) -> None:
    poison = small_plan.runs[2].id

    def deadly(runs: list[dict[str, Any]], _: FakeClient) -> Any:
        ids = [run["id"] for run in runs]
        if poison not in ids:
            return answer(runs)
        done = b"".join(map(record, runs[: ids.index(poison)]))
        return {
            "worker": WORKER,
            "code": -9,
            "out": ENGINE + done,
            "err": b"no memory",
            "seconds": 1,
        }

    cluster, lines = carried_out(small_plan, deadly)
    assert [run for run, line in lines.items() if is_of_dead_engine(line)] == [poison]
    assert json.loads(lines[poison])["error"] == (
        "its engine died: the engine was killed by SIGKILL, as the kernel does when memory runs "
        "out: no memory"
    )
    assert cluster.client.slices.count([poison]) == 3


def test_an_engine_that_is_asked_to_end_is_done_again(small_plan: wire.Plan) -> None:
    seen: list[int] = []

    def stopping(runs: list[dict[str, Any]], _: FakeClient) -> Any:
        seen.append(len(runs))
        if len(seen) == 1:
            return {"worker": WORKER, "code": -15, "out": ENGINE, "err": b"", "seconds": 1}
        return answer(runs)

    _, lines = carried_out(small_plan, stopping)
    assert len(lines) == len(small_plan.runs)


def test_a_cancelled_slice_is_done_again(small_plan: wire.Plan) -> None:
    seen: list[int] = []

    def lost(runs: list[dict[str, Any]], _: FakeClient) -> Any:
        seen.append(len(runs))
        return CancelledError() if len(seen) == 1 else answer(runs)

    _, lines = carried_out(small_plan, lost)
    assert len(lines) == len(small_plan.runs)


def wrong_engine(runs: list[dict[str, Any]], client: FakeClient) -> Any:
    found = answer(runs)
    if len(client.slices) > 1:
        found["out"] = found["out"].replace(b'"version":"1"', b'"version":"2"')
    return found


def wrong_seed(runs: list[dict[str, Any]], _: FakeClient) -> Any:
    return answer(runs) | {"out": ENGINE + record(runs[0], seed="f" * 16)}


def left_out(runs: list[dict[str, Any]], _: FakeClient) -> Any:
    return answer(runs[1:])


def unfit(runs: list[dict[str, Any]], _: FakeClient) -> Any:
    return {"worker": WORKER, "unfit": "Linux riscv64"}


def unusable(runs: list[dict[str, Any]], _: FakeClient) -> Any:
    return {"worker": WORKER, "unusable": "[Errno 8] Exec format error"}


@pytest.mark.parametrize(
    ("behave", "said"),
    [
        (wrong_engine, "its engine is 2, unlike the other workers'"),
        (wrong_seed, "unexpected record of run"),
        (left_out, "left out run"),
        (unfit, "runs Linux riscv64, and the engine is for"),
        (unusable, "cannot start the engine: [Errno 8] Exec format error"),
    ],
)
def test_a_worker_that_cannot_be_right_is_named(
    small_plan: wire.Plan, behave: Behaviour, said: str
) -> None:
    with pytest.raises(TestbedError) as found:
        carried_out(small_plan, behave)
    assert f"worker {WORKER}" in str(found.value)
    assert said in str(found.value)


@pytest.mark.parametrize(
    ("workers", "connected", "said"),
    [
        ({}, True, "all workers have been gone from dask:local:1"),
        ({WORKER: 1}, False, "the scheduler has been gone from dask:local:1"),
    ],
)
def test_a_cluster_that_is_gone_ends_the_work(
    small_plan: wire.Plan,
    monkeypatch: pytest.MonkeyPatch,
    workers: dict[str, int],
    connected: bool,
    said: str,
) -> None:
    monkeypatch.setattr(conduct, "_GONE_S", 0.0)
    monkeypatch.setattr(conduct, "_LOOK_S", 0.01)
    monkeypatch.setattr(FakeCluster, "threads", lambda _: workers)
    monkeypatch.setattr(FakeCluster, "is_connected", lambda _: connected)
    with pytest.raises(TestbedError, match=said):
        carried_out(small_plan, lambda runs, _: answer(runs))
