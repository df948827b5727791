"""The interface of each kind of conclusion: its findings, drawn from the cells of a study."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, Self, TypeVar

from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.conclusions.levels import LevelsCompared
from netstudy.analysis.metrics import Metric
from netstudy.study.conclusions.base import Conclusion

AskedT = TypeVar("AskedT", bound=Conclusion)


class Drawn(ABC, Generic[AskedT]):
    """The findings of a conclusion for one test case; a kind of conclusion has one subclass."""

    kind: ClassVar[type[Conclusion]]
    """The keys that ask for this conclusion."""

    @classmethod
    @abstractmethod
    def draw(cls, asked: AskedT, cells: Cells) -> Self | None:
        """Draw the conclusion; None if the runs lack the values that it needs."""

    @classmethod
    def by_default(cls) -> AskedT | None:
        """The keys with which it is drawn from a study that does not ask for it; None: it is
        not."""
        return None

    def claims(self) -> tuple[Claim, ...]:
        """The claims of the headline, which caveats may forbid; empty if it makes none."""
        return ()

    @property
    def is_open(self) -> bool:
        """Whether the conclusion decides nothing."""
        return bool(self.compared) and not self.claims()

    @property
    def compared(self) -> tuple[LevelsCompared, ...]:
        """The comparisons of levels, if the conclusion is about them."""
        return ()

    @property
    def about(self) -> Metric | None:
        """The metric that the conclusion is about; None if it is about throughput."""
        return self.compared[0].metric if self.compared else None


def deciding(cells: Cells) -> Metric | None:
    """The measure of a run's outcome: the first of the workload's compared metrics that has
    values."""
    own = cells.table.workload.deciding
    return next(iter(cells.table.measured((own, *cells.table.workload.compared_on))), None)
