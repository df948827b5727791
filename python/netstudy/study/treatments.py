"""Makes the treatments of a test case: the product of its factors, with zipped groups and holes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from netstudy.study.levels import level_text
from netstudy.study.model import Case, Factor
from netstudy.study.selection import select
from netstudy.wire import Level, Treatment


def count_treatments(case: Case) -> int:
    """Number of treatments of a case if it had no holes; they are not expanded."""
    return prod(len(group[0].levels) for group in _groups(case))


def treatments(case: Case) -> Iterator[Treatment]:
    """Treatments of a case in the study's order, the last factor varying fastest."""
    holes = [_hole(case, index) for index in range(len(case.holes))]
    for choice in product(*(_zipped(group) for group in _groups(case))):
        chosen = {name: level for group in choice for name, level in group}
        if not any(_is_in(chosen, hole) for hole in holes):
            ordered = {factor.name: chosen[factor.name] for factor in case.factors}
            yield ordered | dict(case.fixed)


def hole_matches(case: Case, index: int) -> bool:
    """Whether a hole leaves out anything: each group of zipped factors must have the hole's levels
    together."""
    hole = _hole(case, index)
    return all(
        any(
            all(level_text(level) in hole[name] for name, level in row if name in hole)
            for row in _zipped(group)
        )
        for group in _groups(case)
    )


def reasoned_holes(case: Case) -> Iterator[tuple[Treatment, str]]:
    """Treatments that are in a hole for which the study gives a reason, each with this reason."""
    holes = [(_hole(case, i), reason) for i, reason in enumerate(case.reasons) if reason]
    for choice in product(*(_zipped(group) for group in _groups(case))) if holes else ():
        chosen = {name: level for group in choice for name, level in group}
        reason = next((why for hole, why in holes if _is_in(chosen, hole)), None)
        if reason is not None:
            ordered = {factor.name: chosen[factor.name] for factor in case.factors}
            yield ordered | dict(case.fixed), reason


def _groups(case: Case) -> list[list[Factor]]:
    """Groups of factors that vary together, in the order of the first factor of each group."""
    groups: list[list[Factor]] = []
    done: set[str] = set()
    for factor in case.factors:
        if factor.name in done:
            continue
        names = case.zipped_with(factor.name)
        done.update(names)
        groups.append([found for found in case.factors if found.name in names])
    return groups


def _zipped(group: list[Factor]) -> list[tuple[tuple[str, Level], ...]]:
    columns = [[(factor.name, name) for name in factor.names] for factor in group]
    return list(zip(*columns, strict=True))


def _hole(case: Case, index: int) -> dict[str, set[str]]:
    found = {}
    for name, wanted in case.holes[index].items():
        factor = case.factor(name)
        assert factor is not None, f"holes were checked when the study was loaded: {name}"
        found[name] = {level_text(level) for level in select(factor, wanted)}
    return found


def _is_in(chosen: dict[str, Level], hole: dict[str, set[str]]) -> bool:
    return all(level_text(chosen[name]) in texts for name, texts in hole.items())
