"""Sentences on metrics without a value."""

from __future__ import annotations

from netstudy.analysis.caveats.not_measured import (
    FigureNotInData,
    MetricNotInData,
    NotMeasured,
    SamplesNotInData,
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
def metric_not_in_data(found: MetricNotInData) -> Sentence:
    """A metric that the data lack."""
    return say(
        "{path} asks for {name}, which the {data} do not give; {advice}.",
        path=Name(found.path),
        data=Name(found.data),
        name=Name(str(found.name)),
        advice=_advice(found.path),
    )


@caveat_sentence.register
def figure_not_in_data(found: FigureNotInData) -> Sentence:
    """A figure that the data lack."""
    return say(
        "{path} is {name}, which the {data} do not give; {advice}.",
        path=Name(found.path),
        data=Name(found.data),
        name=Name(found.name),
        advice=_advice(found.path),
    )


@caveat_sentence.register
def samples_not_in_data(found: SamplesNotInData) -> Sentence:
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
