"""Turns tables and files of measurements into records, without executing anything."""

from __future__ import annotations

from typing import Final

from netstudy.study.measured_runs import Contents
from netstudy.wire import Measured, MeasuredRun, PhaseTimes, Run, RunRecord

SOURCE: Final = "published in"
"""Name under which the environment of a record has the source of the values."""
_NS_PER_S: Final = 10**9


def record_of_table(run: Run) -> RunRecord:
    """The record of a run with the values of a table."""
    work = run.workload
    assert isinstance(work, Measured), "these testbeds plan nothing else"
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="ok",
        environment={SOURCE: "; ".join(work.source)} if work.source else {},
        measured=MeasuredRun(
            values={one.metric: one.value for one in work.given},
            rounding={one.metric: one.rounding for one in work.given},
        ),
    )


def record_of_files(run: Run, contents: Contents) -> RunRecord:
    """The record of a run with the content of its files. A run that breaks a law is invalid."""
    is_whole = all(one.holds for one in contents.checks)
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="failed" if contents.error is not None else "ok" if is_whole else "invalid",
        error=contents.error,
        checks=contents.checks,
        phases=_phases(contents.run),
        measured=contents.run,
    )


def _phases(run: MeasuredRun) -> tuple[PhaseTimes, ...]:
    """The measuring phase, which begins at 0."""
    if run.window_s is None:
        return ()
    length_s = run.window_s[1] - run.window_s[0]
    return (PhaseTimes(kind="measure", start_ns=0, end_ns=round(length_s * _NS_PER_S)),)
