"""Sentences on what a plan cannot show, before it is run."""

from __future__ import annotations

from netstudy.analysis.foreseen import FewSamples, Foreseen, NoQueue, ShortPhase, SingleRuns
from netstudy.analysis.verdict import RUNS_RECOMMENDED
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import count, treatment_text
from netstudy.report.numbers import duration_text
from netstudy.report.refs import Name, Number, Sentence, say

_PHASES = {"warm-up": "warm-up", "measure": "measuring phase"}


def foreseen_sentence(found: Foreseen) -> Sentence:
    """The result that the plan cannot give, the reason, and the change of the plan that would give
    it."""
    match found:
        case FewSamples():
            return _few_samples(found)
        case SingleRuns():
            return say(
                "One run of a setting shows nothing of what differs between runs, so there will be "
                "no verdict. Set {replicates} to {least} at least; {recommended} are better.",
                replicates=Name("replicates", code=True),
                least=count(2, "a spread needs two runs"),
                recommended=count(RUNS_RECOMMENDED, "runs that mostly decide"),
            )
        case ShortPhase():
            return say(
                "The {phase} lasts {length}, and a round trip takes {trip}{at}: TCP hardly gets "
                "beyond its first windows. Make it longer.",
                phase=Name(_PHASES[found.phase]),
                length=_duration(found.length_ns, "as the study has it"),
                trip=_duration(round(found.trip_ns), "without queues"),
                at=_at(found),
            )
        case NoQueue():
            one = len(found.switches) == 1
            return say(
                "No port of {switches} ever gets frames faster than it sends them on, so {they} "
                "queue and drop nothing, whatever the buffers. Have several hosts send to one, or "
                "a fast link lead to a slow one.",
                switches=Name(listed(list(found.switches))),
                they=Name("it will" if one else "they will"),
            )


def _few_samples(found: FewSamples) -> Sentence:
    template = (
        "{metric} of one run takes {needed} {noun}s, and a run gives about {expected}{at}: there "
        "will be no verdict on it. Measure more in each run."
        if found.of_one_run
        else "{metric} takes {needed} {noun}s, and all runs of a setting give about "
        "{expected}{at}: it will have no value there. Measure more, or ask for a nearer percentile."
    )
    return say(
        template,
        metric=Name(found.metric.name, code=True),
        needed=count(found.needed, f"fewest {found.noun}s that carry it"),
        noun=Name(found.noun),
        expected=count(found.expected, f"{found.noun}s without losses, as estimated"),
        at=_at(found),
    )


def _at(found: FewSamples | ShortPhase) -> Name:
    text = treatment_text(found.treatment)
    return Name(f" (at {text})" if text else "")


def _duration(duration_ns: int, source: str) -> Number:
    return Number(duration_ns, duration_text(duration_ns), source)
