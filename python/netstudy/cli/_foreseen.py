"""Warnings before the first run about questions of the study that its plan cannot answer or
test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netstudy.cli._prepare import Prepared


def foreseen_warnings(prepared: Prepared) -> Iterator[str]:
    """One sentence for each caveat of the plan; they are computed from one run of each
    treatment."""
    from netstudy.analysis.caveats import Planned, foreseen
    from netstudy.analysis.workloads import workload_of
    from netstudy.report.caveats import caveat_sentence
    from netstudy.study.vocabulary import NOTHING_RUNS

    study, planned = prepared.study, prepared.planned
    if not planned.one_of_each:
        return  # a note lists the unsupported parts
    plan = planned.plan_of_one_each
    is_complete = prepared.invocation.testbed in NOTHING_RUNS  # the plan has all repetitions
    repetitions = None if is_complete else study.replicates
    found = foreseen(Planned(study, plan, workload_of(plan), repetitions))
    yield from (str(caveat_sentence(one)) for one in found)
