"""`limit`: how large a factor or a metric can become while a condition holds."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from netstudy.documents.problems import Path, Problem
from netstudy.study.conclusions.base import Checks, Conclusion
from netstudy.study.outcome import Column, ConditionValue
from netstudy.study.vocabulary import MetricName


class Limit(Conclusion):
    """How large a factor or a metric can become while a condition holds."""

    limit: Column
    """The factor whose largest level is sought, at each setting of the other factors; or the metric
    whose largest value is sought. A factor of the study has precedence."""
    while_: ConditionValue = Field(alias="while")
    """The condition, such as response_ms_mean < 1000."""

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metric whose largest value is sought, if it is one, and that of the condition."""
        sought = (self.limit,) if isinstance(self.limit, MetricName) else ()
        return *sought, self.while_.metric

    def problems(self, checks: Checks, path: Path) -> Iterator[Problem]:
        """An unknown factor, or metrics that the study does not measure."""
        yield from checks.column((*path, "limit"), self.limit)
        yield from checks.metric((*path, "while"), self.while_.metric)
