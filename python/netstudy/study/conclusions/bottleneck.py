"""`bottleneck`: the resource that limits throughput."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from netstudy.documents.fields import PercentValue, Scalar, Text, Typed, WordsValue
from netstudy.documents.problems import Path, Problem
from netstudy.study.conclusions.base import Checks, Conclusion
from netstudy.study.outcome import Condition
from netstudy.study.vocabulary import MetricName, is_line_rate, split_metric


@dataclass(frozen=True)
class Candidate:
    """A metric that may limit throughput."""

    metric: MetricName
    limit: float | None = None
    """The metric's value when the resource is used up, in the metric's unit; None: the study gives
    none."""
    is_unknown: bool = False
    """Whether the study says that nobody knows the limit."""


@dataclass(frozen=True)
class CandidateScalar(Scalar):
    """The metric of a resource that is used up at a limit: `server.cpu_pct`,
    `app@client.packets_per_s < 80000`, `app@client.packets_per_s < unknown`."""

    def parse(self, value: object) -> Candidate:
        """Read `metric`, `metric < number` with or without a unit, or `metric < unknown`."""
        text = Text().parse(value)
        if match := re.fullmatch(r"(\S+)\s*<\s*unknown", text):
            return Candidate(split_metric(match[1]), is_unknown=True)
        if not re.search(r"[<>=]", text):
            return Candidate(split_metric(text))
        if ">" in text:
            raise ValueError(f'"{text}": a limit is an upper bound; write metric < number')
        bound = Condition().parse(text)
        return Candidate(bound.metric, bound.value)

    def json_schema(self) -> dict[str, Any]:
        """Text of a metric, followed by its limit if it has one."""
        limit = r"\d+(\.\d+)?( ?[^\s\d.]\S*)?|unknown"
        return {"type": "string", "pattern": rf"^\S+( ?<=? ?({limit}))?$"}


CandidateValue = Annotated[Candidate, Typed(CandidateScalar(), refs=False)]


class Bottleneck(Conclusion):
    """Finds what limits throughput, at each level of the load and each setting of the other
    factors, by the operational laws: throughput is at most the least of all bounds, and the bound
    that it reaches is the limit. Every report has it; a study asks for it to name further
    candidates, or to have it among the first conclusions.

    Bounds are set by links (each direction), packet rates of interfaces, CPUs (the busiest of a
    host), disks, buses, threads, connection pools and database slots, buffers of switches, windows
    and send buffers, the number of requests under way, and the load itself. A resource whose use
    does not follow throughput is no limit; neither is one that is held by work that waits for
    another full resource. Bounds that are equal within the noise limit throughput together. Where
    no bound is reached, the wait that takes most of the time is the limit.
    """

    bottleneck: Literal[True]
    """Always true."""
    candidates: dict[WordsValue, CandidateValue] = Field(default_factory=dict)
    """Further candidates: name -> a metric and its limit, such as `app@client.packets_per_s <
    80000`. A metric in percent needs no limit. The limit of a rate at an interface or a port is the
    line rate of its link. `app@client.packets_per_s < unknown`: an unknown limit; the candidate is
    ruled out only if the metric was higher in another cell with the same links. In a group of
    several hosts, the host that is nearest to the limit counts. A candidate that reads a resource
    of the network gives it its name and its limit."""
    near: PercentValue = 90.0
    """Percentage of a bound from which it counts as reached. Real CPUs and links that limit show
    92 to 99 %, because counters include the edges of a phase."""

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metrics of the candidates."""
        return tuple(one.metric for one in self.candidates.values())

    @property
    def needs(self) -> tuple[MetricName, ...]:
        """None: a candidate without values is reported as not measured."""
        return ()

    def problems(self, checks: Checks, path: Path) -> Iterator[Problem]:
        """Candidates whose metric is not measured or has no limit."""
        for name, candidate in self.candidates.items():
            yield from _candidate_problems(checks, (*path, "candidates", name), candidate)


def _candidate_problems(checks: Checks, path: Path, candidate: Candidate) -> Iterator[Problem]:
    metric = candidate.metric
    wrong = list(checks.metric(path, metric))
    yield from wrong
    if wrong or candidate.limit is not None or candidate.is_unknown:
        return
    if not metric.base.endswith("_pct") and not is_line_rate(metric):
        message = (
            f'"{metric}" has no limit of its own; write one, as in {metric} < 80000, or '
            f"{metric} < unknown if nobody knows it"
        )
        yield checks.problem(path, message)
