"""Turns published values into records, without executing anything."""

from __future__ import annotations

from netstudy.wire import Published, Run, RunRecord

SOURCE = "published in"
"""Name under which the environment of a record has the source of the values."""


def record_of(run: Run) -> RunRecord:
    """The record of a published run."""
    assert isinstance(run.workload, Published), "this testbed plans nothing else"
    given = run.workload.given
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="ok",
        environment={SOURCE: "; ".join(run.workload.source)},
        published={one.metric: one.value for one in given},
        published_rounding={one.metric: one.rounding for one in given},
    )
