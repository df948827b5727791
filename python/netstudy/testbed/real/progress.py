"""How far a testbed is that makes the runs of a plan one after the other."""

from __future__ import annotations

from netstudy import wire


class Progress:
    """Turns what has ended of a plan into progress records."""

    def __init__(self, plan: wire.Plan) -> None:
        """Nothing has ended."""
        from netstudy.plan import useful_packets

        self._runs = plan.runs
        self._packets = [useful_packets(run) for run in plan.runs]

    def between(self, runs_done: int) -> wire.ProgressRecord:
        """So many runs have ended, and none is under way."""
        return self._record(runs_done, sum(self._packets[:runs_done]), None)

    def within(self, runs_done: int, iterations_done: int) -> wire.ProgressRecord:
        """Of the run after so many, iterations have ended, those of the warm-up first."""
        work = self._runs[runs_done].workload
        iterations = work.warmup_iterations + work.iterations
        own = self._packets[runs_done] * iterations_done // iterations
        under_way = wire.RunUnderWay(iterations_done=iterations_done, iterations=iterations)
        return self._record(runs_done, sum(self._packets[:runs_done]) + own, under_way)

    def _record(
        self, runs_done: int, packets: int, under_way: wire.RunUnderWay | None
    ) -> wire.ProgressRecord:
        return wire.ProgressRecord(
            runs_done=runs_done,
            runs=len(self._runs),
            packets=packets,
            packets_planned=sum(self._packets),
            under_way=under_way,
        )
