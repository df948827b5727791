"""The simulator on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from netstudy.packages import package
from netstudy.plan.estimate import estimate_of
from netstudy.plan.planned import Estimate
from netstudy.testbed.base import OnRecord
from netstudy.testbed.memory import Memory
from netstudy.testbed.sim import Sim, engine_seconds
from netstudy.testbed.sweep.address import Local, Where
from netstudy.testbed.sweep.cluster import Cluster, opened
from netstudy.testbed.sweep.conduct import Conduct
from netstudy.testbed.sweep.cutter import Cost
from netstudy.wire import Plan, Run

_EACH_S = 60e-6
"""CPU time of a run beyond its packets and connections: runs of 70 packets take 0.14 ms."""


class Sweep(Sim):
    """Runs a plan with one `netstudy-engine sim` for each slice of it, on the workers of a cluster
    of dask. The records are the same bytes as on one machine."""

    __test__: ClassVar[bool] = False

    def __init__(self, where: Where) -> None:
        """Nothing is started yet."""
        self._where = where
        self._cluster: Cluster | None = None

    def check(self) -> None:
        """See Testbed.check. A cluster that is there already is reached, and its workers are
        checked."""
        super().check()
        package("distributed")
        if not isinstance(self._where, Local):
            self._opened()

    def run(
        self,
        plan: Plan,
        *,
        threads: int | None,  # noqa: ARG002 (the cluster has as many as it has)
        on_record: OnRecord,
        captures: Path | None = None,  # noqa: ARG002 (nothing is captured)
    ) -> None:
        """See Testbed.run; the cluster stays open for further rounds."""
        Conduct(self._opened(), plan, on_record, costs()).carry_out()

    def close(self) -> None:
        """Leave the cluster; one of this machine's own ends."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def seconds(self, estimate: Estimate, *, threads: int | None) -> float:  # noqa: ARG002
        """See Testbed.seconds. A cluster that is there already is reached, to count its workers."""
        return super().seconds(estimate, threads=self._threads())

    def memory(self, estimate: Estimate, *, threads: int | None) -> Memory | None:  # noqa: ARG002
        """See Testbed.memory; the memory of other machines is not known."""
        if not isinstance(self._where, Local):
            return None
        return super().memory(estimate, threads=self._threads())

    def _threads(self) -> int:
        if isinstance(self._where, Local):
            return self._where.workers
        return sum(self._opened().threads().values())

    def _opened(self) -> Cluster:
        if self._cluster is None:
            self._cluster = opened(self._where)
        return self._cluster


def costs() -> Callable[[Run], Cost]:
    """The estimated cost of each run. The replicates of a treatment cost the same, so that each
    treatment is estimated once."""
    known: dict[tuple[object, ...], Cost] = {}

    def cost(run: Run) -> Cost:
        key = (*run.treatment.items(), run.trace)
        found = known.get(key)
        if found is None:
            found = known[key] = _cost(estimate_of([run]))
        return found

    return cost


def _cost(estimate: Estimate) -> Cost:
    return Cost(
        seconds=engine_seconds(estimate) + _EACH_S,
        record_bytes=estimate.record_bytes or 0,
        plan_bytes=estimate.plan_bytes,
        packets=estimate.packets or 0,
    )
