"""`where time goes`: the times of units of work, in each cell along the load."""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.analysis.conclusions.base import Drawn, deciding
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.metrics import Metric
from netstudy.analysis.time_courses import CellTime, Course, courses_of
from netstudy.study.conclusions.where_time_goes import WhereTimeGoes


@dataclass(frozen=True, eq=False)
class TimesShown(Drawn[WhereTimeGoes]):
    """The times of units of work at every setting."""

    kind = WhereTimeGoes
    courses: tuple[Course, ...]
    metric: Metric | None
    """The measure of a run's outcome."""

    @classmethod
    def draw(
        cls,
        asked: WhereTimeGoes,  # noqa: ARG003  # of the base
        cells: Cells,
    ) -> TimesShown | None:
        """Read the accounts of all cells that have any."""
        found = tuple(courses_of(cells))
        return cls(found, deciding(cells)) if found else None

    @classmethod
    def by_default(cls) -> WhereTimeGoes:
        """The keys of a study that does not ask for it."""
        return WhereTimeGoes.model_validate({WhereTimeGoes.key(): True})

    @property
    def about(self) -> Metric | None:
        """The measure of a run's outcome."""
        return self.metric

    @property
    def late(self) -> tuple[tuple[Course, CellTime], ...]:
        """For each course whose units wait for their last members: the cell in which they wait
        longest in proportion."""
        found = ((one, max(one.cells, key=lambda cell: cell.slowdown)) for one in self.courses)
        return tuple((one, cell) for one, cell in found if cell.waits_for_last)
