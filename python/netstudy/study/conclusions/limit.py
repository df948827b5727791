"""`limit`: how large a metric can become while a condition holds."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from netstudy.documents.problems import Path, Problem
from netstudy.study.conclusions.base import Checks, Conclusion
from netstudy.study.outcome import ConditionValue
from netstudy.study.vocabulary import Measured, MetricName


class Limit(Conclusion):
    """How large a metric can become while a condition holds."""

    limit: Measured
    """The metric whose largest value is sought."""
    while_: ConditionValue = Field(alias="while")
    """The condition, such as response_ms_mean < 1000."""

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metric whose largest value is sought, and the metric of the condition."""
        return self.limit, self.while_.metric

    def problems(self, checks: Checks, path: Path) -> Iterator[Problem]:
        """Metrics that the study does not measure."""
        yield from checks.metric((*path, "limit"), self.limit)
        yield from checks.metric((*path, "while"), self.while_.metric)
