"""Checks of a study as a whole: what one part says about another.

The shape of each part is checked before, by its model. Here: references have levels that fit,
holes and comparisons name levels that exist, links join hosts that exist, profiles are there,
figures show what the study measures.
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.problems import Problem
from netstudy.hardware import HardwareLibrary
from netstudy.study.checks.design import design_problems, unused_problems
from netstudy.study.checks.ignored import ignored_problems
from netstudy.study.checks.network import network_problems
from netstudy.study.checks.outcome import outcome_problems
from netstudy.study.checks.workload import workload_problems
from netstudy.study.model import Study


def problems_of(study: Study, hardware: HardwareLibrary) -> Iterator[Problem]:
    """Every problem of a study whose parts are in shape. That a factor is not used is told where
    nothing else is wrong: it may be what another mistake leaves behind."""
    found = [
        *design_problems(study),
        *network_problems(study, hardware),
        *workload_problems(study),
        *([] if study.was_carried_out else [*ignored_problems(study), *outcome_problems(study)]),
    ]
    yield from found
    if not found and not study.was_carried_out:
        yield from unused_problems(study)
