"""Whether a question of yes or no is answered by yes or by no."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from netstudy.analysis.effects import PairEffect
from netstudy.analysis.verdict import Comparison, VerdictTable
from netstudy.report.numbers import NO_BREAK, level_text
from netstudy.report.question import Clause, mentioned
from netstudy.wire import Level

Truth = Literal["Yes", "No", "Partly", "Not decided"]
_DOUBLE = 2.0


def of_comparisons(
    clause: Clause, found: Sequence[VerdictTable | PairEffect], base: Level | None = None
) -> Truth | None:
    """The answer that comparisons of levels give to a clause; None if the clause does not say how
    the levels are to compare. `base`: the level that the study compares with; it is the second
    thing of the question, unless the question's words say otherwise."""
    if not clause.is_polar or clause.way is None:
        return None
    return whole(
        _holds(row, one, one.level == first, clause)
        for one in found
        for first in _first(clause, one, base)
        for row in one.rows
        if row.outcome != "missing"
    )


def whole(each: Iterable[bool | None]) -> Truth | None:
    """The answer over several settings, of which None is undecided; None without any setting."""
    found = list(each)
    if not found:
        return None
    if True in found:
        return "Partly" if False in found else "Yes"
    # A place that is open may be a yes, so that "no" needs all of them.
    return "Not decided" if None in found else "No"


def _first(clause: Clause, one: VerdictTable | PairEffect, base: Level | None) -> Iterator[Level]:
    """The level that the question names first; none if it asks about another pair."""
    by_text = {level_text(level).replace(NO_BREAK, " "): level for level in (one.level, one.base)}
    named = list(mentioned(by_text, clause.text))
    if len(named) == len(by_text):
        yield by_text[named[0]]
    elif base is None or one.base == base:
        yield one.level
    elif one.level == base:
        yield one.base


def _holds(
    row: Comparison, one: VerdictTable | PairEffect, is_level: bool, clause: Clause
) -> bool | None:
    if row.outcome == "undecided":
        return None
    is_same = row.outcome == "same"
    if clause.way == "same":
        return is_same
    if is_same:
        return False
    if clause.way in ("better", "worse") and one.metric.direction == "neutral":
        return None
    is_more = (row.difference or 0.0) > 0
    is_more = is_more if is_level else not is_more
    is_better = is_more != (one.metric.direction == "lower")
    holds = {"larger": is_more, "smaller": not is_more, "better": is_better, "worse": not is_better}
    found = holds[clause.way or "better"]
    return found and (not clause.asks_double or _doubles(row, is_level, _margin(one)))


def _margin(one: VerdictTable | PairEffect) -> float:
    if isinstance(one, PairEffect):
        return one.margin
    return (one.margin_pct or 0.0) / 100


def _doubles(row: Comparison, is_level: bool, margin: float) -> bool:
    """Whether the change is a factor of two or more, within the noise."""
    if not row.ratio:
        return row.ratio is not None
    factor = row.ratio if is_level else 1 / row.ratio
    return max(factor, 1 / factor) >= _DOUBLE * (1 - margin)
