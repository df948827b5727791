"""Sentences on quantities over time without samples."""

from __future__ import annotations

from netstudy.analysis.caveats.not_sampled import NotSampled, TooSeldom
from netstudy.report.caveats.base import caveat_sentence, duration
from netstudy.report.refs import Name, Sentence, say
from netstudy.study.vocabulary import MetricName


@caveat_sentence.register
def not_sampled(found: NotSampled) -> Sentence:
    """A figure that no instrument samples."""
    return say(
        "{metric} over time cannot be drawn: nothing samples it. To see it, add an "
        "instrument there, such as {example}.",
        metric=Name(str(found.metric), code=True),
        example=Name(_sampler(found.metric), code=True),
    )


@caveat_sentence.register
def too_seldom(found: TooSeldom) -> Sentence:
    """A sampler whose period is longer than the measuring phase."""
    return say(
        "{who} has a sample every {every}, and the measuring phase lasts {length}: it may "
        "end without one. Sample more often, or measure for longer.",
        who=Name(found.sampler, code=True),
        every=duration(found.every_ns),
        length=duration(found.phase_ns),
    )


def _sampler(metric: MetricName) -> str:
    """The instrument that samples a metric of a node, as it is written in a study."""
    assert metric.scope is not None, f"{metric} is measured at no node"
    scope = metric.scope
    if not metric.base.startswith("port_"):
        return f"{{sar: {scope.node}, every: 1 s}}"
    port = "" if scope.towards is None else f", port: {scope.towards}"
    return f"{{ports: {scope.node}{port}, every: 1 s}}"
