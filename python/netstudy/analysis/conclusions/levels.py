"""Levels of a factor compared with each other, for the kinds of conclusions that do so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.metrics import Metric
from netstudy.wire import Level

if TYPE_CHECKING:
    from netstudy.study import Study


@dataclass(frozen=True, eq=False)
class LevelsCompared:
    """Levels of a factor compared in one metric."""

    metric: Metric
    factor: str
    pairs: tuple[PairEffect, ...]


@dataclass(frozen=True)
class Bundle:
    """Two levels of a factor that differ in several things at once."""

    factor: str
    level: Level
    base: Level
    parts: tuple[str, ...]
    """The things that differ."""
    is_equal: bool
    """Whether the levels are equal in every metric that was compared."""


def claim_of(pair: PairEffect) -> Claim | None:
    """The claim that two levels differ in some setting, or are equal in all; None: undecided."""
    outcomes = {row.outcome for row in pair.rows} - {"missing"}
    levels = (pair.level, pair.base)
    if "different" in outcomes or pair.winner is not None:
        return Claim("different", pair.factor, levels, pair.metric)
    return Claim("equal", pair.factor, levels, pair.metric) if outcomes == {"same"} else None


def claims_of(compared: Iterable[LevelsCompared]) -> tuple[Claim, ...]:
    """The claims about each pair of levels."""
    pairs = (pair for one in compared for pair in one.pairs)
    return tuple(claim for pair in pairs if (claim := claim_of(pair)) is not None)


def bundles(cells: Cells, compared: Sequence[LevelsCompared]) -> Iterator[Bundle]:
    """A bundle for every pair of levels that differ in several things at once; it combines all
    compared metrics."""
    together: dict[tuple[str, Level, Level], list[PairEffect]] = {}
    for one in compared:
        for pair in one.pairs:
            together.setdefault((one.factor, pair.level, pair.base), []).append(pair)
    for (factor, level, base), pairs in together.items():
        parts = tuple(differing(cells.study, factor, level, base))
        if len(parts) > 1:
            rows = [row for pair in pairs for row in pair.rows if row.outcome != "missing"]
            equal = bool(rows) and all(row.outcome == "same" for row in rows)
            yield Bundle(factor, level, base, parts, equal)


def differing(study: Study, name: str, level: Level, base: Level) -> Iterator[str]:
    """Fields in which two levels of a factor differ, and the other differences that the study
    lists for them under `bundle`."""
    one, other = (study.factors[name].level(each) for each in (level, base))
    if one is None or other is None:
        return
    for field in dict.fromkeys((*one.fields, *other.fields)):
        if one.fields.get(field) != other.fields.get(field):
            yield field
    for said in dict.fromkeys((one.bundle, other.bundle)):
        yield from (part.strip() for part in (said or "").split(",") if part.strip())
