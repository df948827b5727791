"""`equivalent`: whether levels are the same within the noise."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.problems import Path, Problem
from netstudy.study.conclusions.base import Checks, Conclusion
from netstudy.study.vocabulary import Measured, MetricName


class Equivalence(Conclusion):
    """Whether levels are the same within the noise."""

    equivalent: Measured
    """The metric that is compared."""

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metric that is compared."""
        return (self.equivalent,)

    def problems(self, checks: Checks, path: Path) -> Iterator[Problem]:
        """A metric that the study does not measure."""
        yield from checks.metrics((*path, "equivalent"), (self.equivalent,))
