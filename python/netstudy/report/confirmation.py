"""The runs that would confirm a bottleneck, and what they showed, in sentences."""

from __future__ import annotations

import shlex
from typing import Final

from netstudy.analysis.confirmation import Claim, Confirmation, Experiment
from netstudy.analysis.predictions import Measured, Verdict
from netstudy.report.cellrefs import treatment_text
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Number, Sentence, say

_DECIMALS: Final = 3
_CLAIMS: Final[dict[Claim, str]] = {
    "limit": "the limit",
    "one of several limits": "only one of several limits",
    "ruled out": "a resource that is ruled out",
}

_VERDICTS: Final[dict[Verdict, str]] = {
    "confirmed": "Confirmed",
    "undecided": "Not decided, because replicates differ too much",
    "refuted": "Refuted",
}


def expected(found: Confirmation, one: Experiment) -> Sentence:
    """The values that raise some bounds, and the predicted throughput."""
    values = " ".join(f"--set {shlex.quote(f'{k}={v}')}" for k, v in one.raised.values.items())
    return say(
        "At {at}, relieving {claim} ({names}) by {values} should multiply the {metric} by {ratio}.",
        at=Name(treatment_text(found.level.row.treatment)),
        claim=Name(_CLAIMS[one.claim]),
        names=Name(one.names),
        values=Name(values, code=True),
        metric=Name(one.metric.label),
        ratio=_predicted(one),
    )


def outcome(one: Experiment, found: Measured) -> Sentence:
    """Whether a prediction agrees with the measurement."""
    interval = NOTHING
    if found.interval is not None:
        low, high = _ratio(found.interval.low), _ratio(found.interval.high)
        interval = say(" ({low} to {high})", low=low, high=high)
    return say(
        "{verdict}: relieving {claim} ({names}) multiplies the {metric} by {ratio}{interval}; "
        "predicted: {expected}.",
        verdict=Name(_VERDICTS[one.predicted.verdict(found)]),
        claim=Name(_CLAIMS[one.claim]),
        names=Name(one.names),
        metric=Name(one.metric.label),
        ratio=_ratio(found.ratio),
        interval=interval,
        expected=_predicted(one),
    )


def _predicted(one: Experiment) -> Sentence:
    low, high = one.predicted.low, one.predicted.high
    if low is not None and high is not None:
        return say("at least {low} and at most {high}", low=_ratio(low), high=_ratio(high))
    if low is not None:
        return say("at least {low}", low=_ratio(low))
    assert high is not None, "a prediction has an end"
    return say("at most {high}", high=_ratio(high))


def _ratio(value: float) -> Number:
    return Number(value, f"{value:.{_DECIMALS}f}", "throughput after ÷ before")
