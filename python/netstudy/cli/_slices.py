"""The option `--slice I/N`: a share of the runs of a plan, for a machine of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.cli._prepare import Asked
    from netstudy.wire import Plan, Run

OPTION = "--slice"
_SLICE = re.compile(r"(\d{1,9})/(\d{1,9})")


def parse_slice(text: str) -> tuple[int, int]:
    """`3/10` as the number of a slice, from 1, and the number of slices. Raises StudyError."""
    found = _SLICE.fullmatch(text)
    number, count = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= count:
        raise StudyError(f"'{text}' is no slice; write 3/10 for the third of ten", OPTION)
    return number, count


def slices_of(plan: Plan, count: int) -> tuple[tuple[Run, ...], ...]:
    """The runs of a plan, divided among this number of machines. Raises StudyError if there are
    fewer runs."""
    from netstudy.testbed.sweep.shares import shares
    from netstudy.testbed.sweep.testbed import costs

    if count > len(plan.runs):
        raise StudyError(f"there are {len(plan.runs):,} runs, too few for {count:,} slices")
    return shares(plan.runs, count, costs())


def slice_of(asked: Asked, text: str) -> Plan:
    """One slice of the plan of a study or a results folder. Raises StudyError if the engine's
    simulator does not execute the plan."""
    from netstudy.cli._cluster import refuse_other_testbeds
    from netstudy.cli._prepare import prepare
    from netstudy.cli._resume import to_resume
    from netstudy.store import Folder

    number, count = parse_slice(text)
    if Folder.at(asked.study) is not None:
        folder = to_resume(asked, Path())
        plan, invocation = folder.plan(), folder.invocation()
    else:
        prepared = prepare(asked)
        plan, invocation = prepared.planned.plan, prepared.invocation
    refuse_other_testbeds(invocation, OPTION)
    return plan.with_runs(slices_of(plan, count)[number - 1])
