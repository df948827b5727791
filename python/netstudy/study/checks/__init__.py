"""Checks of a study as a whole: consistency between its parts.

The models have already checked each part by itself. The checks here are: references resolve to
valid levels, holes and comparisons name existing levels, links join existing hosts, profiles exist,
figures show metrics that the study measures.
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.problems import Problem
from netstudy.hardware import HardwareLibrary
from netstudy.study.checks.design import design_problems, unused_problems
from netstudy.study.checks.ignored import ignored_problems
from netstudy.study.checks.measured import measured_problems
from netstudy.study.checks.network import network_problems
from netstudy.study.checks.outcome import outcome_problems
from netstudy.study.checks.workload import workload_problems
from netstudy.study.model import Study


def problems_of(study: Study, hardware: HardwareLibrary) -> Iterator[Problem]:
    """Every problem of a study whose parts are valid. Unused factors are reported only if nothing
    else is wrong: another mistake, such as a misspelt reference, may be the cause. Factors of
    measured runs are labels, which nothing uses."""
    found = [
        *design_problems(study),
        *network_problems(study, hardware),
        *workload_problems(study),
        *measured_problems(study),
        *([] if study.was_carried_out else [*ignored_problems(study), *outcome_problems(study)]),
    ]
    yield from found
    if not found and not study.was_carried_out and not study.is_measured:
        yield from unused_problems(study)
