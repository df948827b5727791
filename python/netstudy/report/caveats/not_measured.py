"""Sentences on metrics without a value."""

from __future__ import annotations

from netstudy.analysis.caveats.not_measured import (
    FigureNotPublished,
    MetricNotPublished,
    NotMeasured,
    SamplesNotPublished,
)
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def not_measured(found: NotMeasured) -> Sentence:
    """A metric that no run measured, with the places that name it."""
    return say(
        "The study asks for “{metric}” ({places}), which no run measured.",
        metric=Name(found.metric.title),
        places=Name(listed(found.places)),
    )


@caveat_sentence.register
def metric_not_published(found: MetricNotPublished) -> Sentence:
    """A metric that the published data lack."""
    return say(
        "{path} asks for {name}, which the published data do not give; {advice}.",
        path=Name(found.path),
        name=Name(str(found.name)),
        advice=_advice(found.path),
    )


@caveat_sentence.register
def figure_not_published(found: FigureNotPublished) -> Sentence:
    """A figure that the published data lack."""
    return say(
        "{path} is {name}, which the published data do not give; {advice}.",
        path=Name(found.path),
        name=Name(found.name),
        advice=_advice(found.path),
    )


@caveat_sentence.register
def samples_not_published(found: SamplesNotPublished) -> Sentence:
    """A figure of samples."""
    kind = found.kind
    what = f"a {kind}" if kind in ("time series", "histogram") else f"of the kind {kind}"
    return say(
        "{path} is {what}, and published values are no samples; {advice}.",
        path=Name(found.path),
        what=Name(what),
        advice=_advice(found.path),
    )


def _advice(path: str) -> Name:
    return Name(f"leave it out with --without {path}")
