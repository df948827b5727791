"""Traced runs of all studies: they obey the laws of time, and give what untraced runs give.

A traced run is simulated by events; an untraced one has a closed form where there is one. Both give
the same results, unless frames tie: then another of them may come first.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from netstudy.analysis.metrics import Metric
from netstudy.analysis.samples import RunSample
from netstudy.analysis.workloads import workload_of
from netstudy.plan_lines import read_plan
from netstudy.testbed import named
from netstudy.wire import Place, Plan, Record, Run, RunRecord, TimeAccount

STUDIES = Path(__file__).parents[2] / "studies"
NETSTUDY = Path(sys.executable).parent / "netstudy"
NAMES = (
    "ethernet",
    "gigabit",
    "incast",
    "trade",
    "zones",
    "examples/web-application",
)
DIFFERENCE = 0.005
"""A difference of the mean that the test would find, as a share."""

pytestmark = [pytest.mark.slow, pytest.mark.engine]


def quick_plan(name: str, *, trace: bool) -> Plan:
    """The short form of a study; each of its runs is traced, or none."""
    done = subprocess.run(
        [NETSTUDY, "plan", STUDIES / name, "--quick", "--json"],
        capture_output=True,
        check=True,
    )
    plan = read_plan(done.stdout.splitlines())
    return plan.with_runs(replace(run, trace=trace) for run in plan.runs)


def carry_out(plan: Plan) -> dict[str, RunRecord]:
    """The records of a plan by the runs' ids."""
    records: dict[str, RunRecord] = {}

    def keep(record: Record, line: bytes) -> None:
        if isinstance(record, RunRecord):
            records[record.run] = record

    named("sim").run(plan, threads=None, on_record=keep)
    return records


def outcome(metric: Metric, run: Run, record: RunRecord) -> float | None:
    """The value of a metric in one run; None: no unit of work ended in its measuring phase."""
    return metric.reading.of_run(RunSample(run, record))


@dataclass(frozen=True)
class Pair:
    """A run with its two records."""

    run: Run
    plain: RunRecord
    traced: RunRecord
    log_ratio: float | None
    """Of the metric that decides: traced to untraced. None: no unit of work ended."""


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """Each run of each study, untraced and traced."""
    found = []
    for name in NAMES:
        plan = quick_plan(name, trace=False)
        metric = workload_of(plan).deciding
        plain, traced = carry_out(plan), carry_out(quick_plan(name, trace=True))
        for run in plan.runs:
            one, other = plain[run.id], traced[run.id]
            above, below = outcome(metric, run, other), outcome(metric, run, one)
            log_ratio = math.log(above / below) if above and below else None
            found.append(Pair(run, one, other, log_ratio))
    return found


def accounts(record: RunRecord, view: str) -> Iterator[TimeAccount]:
    return (one for one in record.samples.time if one.view == view)


def spent_ps(account: TimeAccount, place: Place) -> int:
    return sum(
        ps for where, ps in zip(account.place, account.low_ps, strict=True) if where == place
    )


def test_the_parts_of_the_time_of_each_unit_add_up(
    pairs: list[Pair],
) -> None:
    for pair in pairs:
        record = pair.traced
        assert record.status == "ok", (record.treatment, record.checks)
        transfers = record.samples.transfer
        is_empty = transfers is not None and not transfers.connection
        assert bool(record.samples.time) != is_empty, record.treatment
        for account in record.samples.time:
            assert sum(account.low_ps) == account.whole_ps, record.treatment


def test_an_iteration_takes_at_least_the_propagation_of_the_plan(
    pairs: list[Pair],
) -> None:
    checked = 0
    for pair in pairs:
        for account in accounts(pair.traced, "journey"):
            if account.unit != "iteration":
                continue
            least_ns = min(link.delay_ns for link in pair.run.network.links)
            # A request and its answer cross at least the links of the client and of a server.
            assert spent_ps(account, "propagation") >= account.units * 4 * least_ns * 1000
            checked += 1
    assert checked


def test_no_link_carries_for_longer_than_the_phase(
    pairs: list[Pair],
) -> None:
    checked = 0
    for record in (pair.traced for pair in pairs):
        phase = record.measure
        assert phase is not None
        for account in accounts(record, "cause"):
            # Iterations follow each other, so each instant belongs to one of them at most.
            if account.unit == "iteration" and account.group == "all":
                carried_ps = spent_ps(account, "serialization")
                assert carried_ps <= (phase.end_ns - phase.start_ns + 1) * 1000
                checked += 1
    assert checked


def test_traced_runs_do_not_differ_from_untraced_ones(
    pairs: list[Pair],
) -> None:
    differences = np.array([one.log_ratio for one in pairs if one.log_ratio is not None])
    error = differences.std(ddof=1) / math.sqrt(differences.size)
    said = f"{differences.size} runs: {differences.mean():.2e} with a standard error of {error:.2e}"
    print(said, f"; {np.count_nonzero(differences)} differ")
    # A test at 1 % finds a difference of (2.58 + 1.28) standard errors with a power of 90 %.
    assert (2.58 + 1.28) * error < DIFFERENCE, said
    assert abs(differences.mean()) <= 2.58 * error, said
