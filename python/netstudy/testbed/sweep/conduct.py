"""Hands slices out to workers, takes their records in, and repeats slices of dead workers.

A slice is lost with its worker, and dask gives it to another one. When workers die again and again
with a slice, dask gives the slice up; but it blames every slice that a dead worker held, also those
that only waited there. A slice that dask gave up is therefore executed once more while no other
slice is out. If workers die again, the slice is cut in two, down to a single run: that run has
failed. An engine that dies leaves its worker alive, and takes nobody else along: its slice is cut
at once.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from netstudy.errors import NetstudyError, StudyError, TestbedError
from netstudy.packages import package
from netstudy.plan_lines import plan_bytes
from netstudy.testbed import child
from netstudy.testbed.base import OnRecord
from netstudy.testbed.engine import ASKED_TO_END, check_end, pass_on
from netstudy.testbed.survival import EngineDiedError, record_of_dead
from netstudy.testbed.sweep import worker
from netstudy.testbed.sweep.by_value import ByValue
from netstudy.testbed.sweep.cluster import Cluster
from netstudy.testbed.sweep.cutter import Cost, Cutter, halves
from netstudy.testbed.sweep.worker import Answer
from netstudy.wire import EngineRecord, Plan, ProgressRecord, Record, Run, RunRecord, to_json

_WAITING = 2
"""Slices that wait at each worker, so that it never waits for the client."""
_ENGINES = 3
"""Engines that may die with a single run before that run has failed: another worker may have more
memory."""
_LOOK_S = 0.5
_GONE_S = 30.0
"""Time without a worker, or without the scheduler, after which the work ends."""


@dataclass(frozen=True)
class _Slice:
    runs: tuple[Run, ...]
    engines: int = 0
    """Engines that died, or were asked to end, with this slice."""
    is_suspect: bool = False
    """True if workers died while they held this slice: it is executed while no other one is."""


@dataclass
class Conduct:
    """The runs of one plan on a cluster."""

    cluster: Cluster
    plan: Plan
    on_record: OnRecord
    cost: Callable[[Run], Cost]
    _engine_line: bytes | None = None
    _again: deque[_Slice] = field(default_factory=deque)
    _suspects: deque[_Slice] = field(default_factory=deque)
    _out: dict[str, tuple[Any, _Slice]] = field(default_factory=dict)
    """Key of a future -> the future and its slice."""
    _ended: SimpleQueue[str] = field(default_factory=SimpleQueue)
    """Keys of futures that ended. dask calls back in another thread."""
    _engine: Any = None
    """The future with the bytes of the engine, once a worker lacks it."""
    _lonely_s: float | None = None
    """Since when there is no worker."""
    _done: int = 0
    _packets: int = 0
    _packets_planned: int = 0

    def __post_init__(self) -> None:
        self._cutter = Cutter(self.plan.runs, self.cost)
        self._carry_out = ByValue(worker.carry_out, (worker, child))
        self._packets_planned = sum(self.cost(run).packets for run in self.plan.runs)
        self._killed_worker = package("distributed").KilledWorker

    def carry_out(self) -> None:
        """Execute all runs. Raises TestbedError when the cluster or an engine fails; nothing is
        left on the workers then."""
        try:
            while self._out or self._again or self._suspects or not self._cutter.is_done():
                self._hand_out()
                self._take_in()
        except BaseException:
            self.cluster.client.cancel([future for future, _ in self._out.values()], force=True)
            raise

    def _hand_out(self) -> None:
        threads = self.cluster.threads()
        self._check_cluster(bool(threads))
        cpus = sum(threads.values())
        while len(self._out) < cpus + _WAITING * len(threads):
            if self._again:
                self._submit(self._again.popleft())
            elif not self._cutter.is_done():
                self._submit(_Slice(self._cutter.next(cpus)))
            else:
                break
        if self._suspects and not self._out and threads:
            self._submit(self._suspects.popleft())

    def _check_cluster(self, has_workers: bool) -> None:
        connected = self.cluster.is_connected()
        if has_workers and connected:
            self._lonely_s = None
            return
        self._lonely_s = self._lonely_s or monotonic()
        if monotonic() - self._lonely_s > _GONE_S:
            gone = "all workers have" if connected else "the scheduler has"
            raise TestbedError(f"{gone} been gone from {self.cluster.where} for {_GONE_S:.0f} s")

    def _submit(self, one: _Slice, engine_for: str | None = None) -> None:
        """`engine_for` is the worker that lacks the engine, if one does."""
        client, engine = self.cluster.client, self.cluster.engine
        plan = plan_bytes(self.plan.with_runs(one.runs))
        task = (self._carry_out, plan, engine.sha256, worker.machine(), engine.folder)
        if engine_for is None:
            future = client.submit(*task, None, pure=False)
        else:
            self._engine = self._engine or client.scatter(engine.content, hash=False)
            there = {"workers": [engine_for], "allow_other_workers": True}
            future = client.submit(*task, self._engine, pure=False, **there)
        self._out[future.key] = future, one
        future.add_done_callback(lambda ended: self._ended.put(ended.key))

    def _take_in(self) -> None:
        """Wait for a slice, and take in all that have ended."""
        try:
            key = self._ended.get(timeout=_LOOK_S)
            while True:
                self._end(*self._out.pop(key))
                key = self._ended.get_nowait()
        except Empty:
            return

    def _end(self, future: Any, one: _Slice) -> None:
        try:
            if future.status in ("finished", "error"):
                self._answered(future.result(), one)
            else:  # lost, with the scheduler or with the worker that held the engine's bytes
                self._engine = None
                self._again.append(one)
        except self._killed_worker as error:
            self._given_up(error.last_worker.address, one)
        except NetstudyError:
            raise
        except Exception as error:
            raise TestbedError(f"a worker failed: {type(error).__name__}: {error}") from error
        finally:
            future.release()

    def _given_up(self, last_worker: str, one: _Slice) -> None:
        if not one.is_suspect:
            self._suspects.append(replace(one, is_suspect=True))
        elif len(one.runs) > 1:
            self._suspects.extend(replace(one, runs=part) for part in halves(one.runs))
        else:
            self._fail(one.runs[0], f"workers died with it again and again, {last_worker} last")

    def _answered(self, answer: Answer, one: _Slice) -> None:
        address = answer["worker"]
        if answer.get("lacks_engine"):
            self._submit(one, engine_for=address)
        elif unfit := answer.get("unfit"):
            raise TestbedError(
                f"worker {address} runs {unfit}, and the engine is for {worker.machine()}"
            )
        elif unusable := answer.get("unusable"):
            raise TestbedError(f"worker {address} cannot start the engine: {unusable}")
        elif -answer["code"] in ASKED_TO_END and one.engines + 1 < _ENGINES:
            self._again.append(replace(one, engines=one.engines + 1))  # its machine stops
        else:
            self._take_records(answer, one)

    def _take_records(self, answer: Answer, one: _Slice) -> None:
        left = {run.id: run for run in one.runs}
        errors = io.BytesIO(answer["err"])
        try:
            passed = pass_on(io.BytesIO(answer["out"]), partial(self._keep, left), errors)
            check_end(answer["code"], passed, errors)
        except EngineDiedError as death:
            self._cut(one, tuple(left.values()), str(death))
        except (StudyError, TestbedError) as error:
            raise type(error)(f"worker {answer['worker']}: {error}") from error
        else:
            if left:
                raise TestbedError(f"worker {answer['worker']} left out run {min(left)}")
            self._cutter.learn(one.runs, answer["seconds"])
        self._tell_progress()

    def _keep(self, left: dict[str, Run], record: Record, line: bytes) -> None:
        """Take in one record of a slice whose runs without a record are `left`."""
        if isinstance(record, EngineRecord):
            if self._engine_line is None:
                self._engine_line = line
                self.on_record(record, line)
            elif line != self._engine_line:
                raise TestbedError(f"its engine is {record.version}, unlike the other workers'")
        elif isinstance(record, RunRecord):
            run = left.get(record.run)
            if run is None or run.seed != record.seed:
                raise TestbedError(f"unexpected record of run {record.run}")
            self._count(run)
            self.on_record(record, line)
            del left[record.run]

    def _cut(self, one: _Slice, left: tuple[Run, ...], death: str) -> None:
        """Do the runs again that a dead engine left."""
        if len(left) != 1:
            self._again.extend(replace(one, runs=part) for part in halves(left))
        elif one.engines + 1 < _ENGINES:
            self._again.append(replace(one, runs=left, engines=one.engines + 1))
        else:
            self._fail(left[0], death)

    def _fail(self, run: Run, death: str) -> None:
        record, line = record_of_dead(run, death)
        self._count(run)
        self.on_record(record, line)

    def _count(self, run: Run) -> None:
        self._done += 1
        self._packets += self.cost(run).packets

    def _tell_progress(self) -> None:
        record = ProgressRecord(
            runs_done=self._done,
            runs=len(self.plan.runs),
            packets=self._packets,
            packets_planned=self._packets_planned,
        )
        self.on_record(record, to_json(record).encode() + b"\n")
