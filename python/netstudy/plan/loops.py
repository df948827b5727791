"""Outer loops: the treatments of a growing factor, in the order in which they may be tried. Their
set and order depend only on the study and the invocation; the records decide how many of them are
run (`analysis.growth`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netstudy.plan.identity import canonical
from netstudy.study import Study, level_text
from netstudy.study.model import Case, Factor
from netstudy.study.treatments import treatments
from netstudy.wire import Level, Treatment

Only = Mapping[str, Sequence[Level]]
"""Factor -> the levels to run (`--only` and the like)."""


class CaseTreatment(NamedTuple):
    """A treatment of a test case."""

    case: str
    treatment: Treatment
    """Levels of the case's factors, in the order of the study."""
    whole: Treatment
    """Levels of the case's factors and levels that the case holds fixed: together they identify the
    runs of the treatment."""


@dataclass(frozen=True)
class OuterLoop:
    """The growing factor of a test case, at one combination of levels of the case's other
    factors."""

    case: str
    factor: Factor
    """The growing factor."""
    held: Treatment
    """Levels of the other factors. Factors zipped with the growing factor are not among them: they
    grow with it."""
    steps: tuple[Treatment, ...]
    """Whole treatments, one for each level, in the order in which they are tried. Combinations that
    the study excludes and levels that are not selected are left out."""


def case_treatments(study: Study, only: Only) -> list[CaseTreatment]:
    """Every treatment that may be run, case by case in the study's order."""
    return [found for case in study.cases for found in _of_case(case, only)]


def outer_loops(study: Study, only: Only) -> tuple[OuterLoop, ...]:
    """The outer loops of a study, in its order; empty if no factor grows."""
    return tuple(loop for case in study.cases for loop in _loops(case, only))


def first_round(found: Iterable[CaseTreatment], loops: Iterable[OuterLoop]) -> list[CaseTreatment]:
    """The treatments that are run whatever the results are: all treatments of cases without loops,
    and the first level of each loop."""
    loops = list(loops)
    growing = {loop.case for loop in loops}
    first = {(loop.case, canonical(loop.steps[0])) for loop in loops}
    return [
        one for one in found if one.case not in growing or (one.case, canonical(one.whole)) in first
    ]


def _of_case(case: Case, only: Only) -> list[CaseTreatment]:
    wanted = {name: {level_text(level) for level in levels} for name, levels in only.items()}
    return [
        CaseTreatment(
            case.name, {factor.name: whole[factor.name] for factor in case.factors}, whole
        )
        for whole in treatments(case)
        if all(level_text(whole[name]) in wanted[name] for name in wanted.keys() & whole.keys())
    ]


def _loops(case: Case, only: Only) -> Iterable[OuterLoop]:
    factor = case.growing
    if factor is None:
        return
    along = case.zipped_with(factor.name)
    held: dict[str, Treatment] = {}
    steps: dict[str, dict[str, Treatment]] = {}
    for one in _of_case(case, only):
        others = {name: level for name, level in one.treatment.items() if name not in along}
        held.setdefault(canonical(others), others)
        steps.setdefault(canonical(others), {})[level_text(one.whole[factor.name])] = one.whole
    for key, by_level in steps.items():
        tried = tuple(
            by_level[text] for name in factor.names if (text := level_text(name)) in by_level
        )
        yield OuterLoop(case.name, factor, held[key], tried)
