"""The conclusions that a study asks for, drawn from its cells in the order of the study; one file
per kind.

A conclusion is drawn for the test case that it names, else for every test case, from the cells at
the levels that it names. All kinds reuse other parts of the analysis: for example, verdicts compare
levels, and the rule of growing factors finds where growth stops. Only `KINDS` lists the kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netstudy.analysis.cells import CellTable
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.bottleneck import Bottlenecks
from netstudy.analysis.conclusions.bypasses_the_wire import Crossings
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.conclusions.compare import Compared
from netstudy.analysis.conclusions.equivalent import Alike
from netstudy.analysis.conclusions.extrapolate import Extrapolations
from netstudy.analysis.conclusions.first_repetition import Repetitions
from netstudy.analysis.conclusions.knee import KneeFound
from netstudy.analysis.conclusions.limit import LimitReached
from netstudy.analysis.conclusions.loss_against_ideal import Losses
from netstudy.analysis.conclusions.plateau import Levelled
from netstudy.analysis.conclusions.substitution import Substituted
from netstudy.analysis.conclusions.where_time_goes import TimesShown
from netstudy.study.conclusions.base import Conclusion
from netstudy.study.selection import one_level
from netstudy.wire import Treatment

if TYPE_CHECKING:
    from netstudy.study import Study

__all__ = ["KINDS", "Concluded", "Drawn", "by_default", "concluded"]

KINDS: Final[tuple[type[Drawn[Any]], ...]] = (
    Bottlenecks,
    Levelled,
    Crossings,
    Repetitions,
    Substituted,
    LimitReached,
    Compared,
    Extrapolations,
    Alike,
    KneeFound,
    Losses,
    TimesShown,
)
"""The findings of each kind of conclusion."""
_OF: Final = {one.kind: one for one in KINDS}


@dataclass(frozen=True, eq=False)
class Concluded:
    """A conclusion of the study for one test case, with its findings."""

    asked: Conclusion
    case: str
    at: Treatment
    drawn: Drawn[Any] | None
    """The findings; None if the runs lack the values that the conclusion needs."""
    by_default: bool = False
    """Whether every study has it, although this one does not ask for it."""


def concluded(study: Study, table: CellTable) -> tuple[Concluded, ...]:
    """Each conclusion of the study, for each test case that it applies to."""
    found: list[Concluded] = []
    for asked in study.conclude:
        kind = _OF[type(asked)]
        at = {name: one_level(study.factors[name], level) for name, level in asked.at.items()}
        for case in table.cases:
            if asked.case in (None, case):
                drawn = kind.draw(asked, Cells.of(study, table, case, at))
                found.append(Concluded(asked, case, at, drawn))
    return tuple(found)


def by_default(study: Study, table: CellTable, asked: Sequence[Concluded]) -> tuple[Concluded, ...]:
    """The conclusions of every study, for each test case for which it does not ask for them.
    Published runs have no network in which a limit or a wait could be looked for."""
    if not all(run.network.nodes for row in table.rows for run in row.planned[:1]):
        return ()
    return tuple(
        Concluded(keys, case, {}, drawn, by_default=True)
        for case in table.cases
        for kind in KINDS
        if (keys := kind.by_default()) is not None
        if not any(one.case == case and isinstance(one.asked, kind.kind) for one in asked)
        if (drawn := kind.draw(keys, Cells.of(study, table, case, {}))) is not None
    )
