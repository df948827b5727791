"""Questions that a study cannot test, one sentence each: for `validate` and for the report."""

from __future__ import annotations

from netstudy.analysis.untested import Depth, Untested
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import count
from netstudy.report.numbers import duration_text, full_level
from netstudy.report.prose.words import NOTHING, things
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.study.vocabulary import MetricName
from netstudy.units import format_size


def untested_sentence(found: Untested) -> Sentence:
    """The untested question, the reason, and a remedy."""
    factor, nodes = Name(found.factor or ""), Name(listed(list(found.nodes)))
    levels = Name(listed([full_level(found.factor or "", level) for level in found.levels]))
    match found.kind:
        case "same levels":
            return say(
                "{levels} set the same values, so nothing can differ between them: use "
                "{reference} in a setting that takes effect.",
                levels=levels,
                reference=Name(f"${{{found.factor}}}", code=True),
            )
        case "same program":
            return say(
                "{levels} stand for builds that are not at hand: all of them are the same program "
                "with the same settings here, so that {factor} was not tested. Give each its "
                "settings under {variants}.",
                levels=levels,
                factor=factor,
                variants=Name("variants", code=True),
            )
        case "same program differs":
            return say(
                "{levels} are the same program with the same settings, and yet they differ in "
                "{metric}: something else changed between their runs, so that no difference of "
                "this size can be credited to any factor.",
                levels=levels,
                metric=Name(found.metric),
            )
        case "nothing marks":
            return say(
                "{who} on {nodes} cannot be tested: no switch on the path marks. Set {key} of a "
                "switch.",
                who=Name(_ecn(found)),
                nodes=nodes,
                key=Name("ecn_threshold", code=True),
            )
        case "nobody listens":
            return say(
                "{nodes} marks from its {key} on, but no connection has ECN at both ends, so "
                "nothing is marked: set {ecn} at both.",
                nodes=nodes,
                key=Name("ecn_threshold", code=True),
                ecn=Name("tcp.ecn: true", code=True),
            )
        case "not sampled":
            return say(
                "{metric} over time cannot be drawn: nothing samples it. To see it, add an "
                "instrument there, such as {example}.",
                metric=Name(str(found.unsampled), code=True),
                example=Name(_sampler(found.unsampled), code=True),
            )
        case "too seldom":
            return say(
                "{who} has a sample every {every}, and the measuring phase lasts {length}: it may "
                "end without one. Sample more often, or measure for longer.",
                who=Name(found.metric, code=True),
                every=_duration(found.every_ns),
                length=_duration(found.phase_ns),
            )
        case "few repetitions":
            return say(
                "A first repetition cannot be held against later ones: it takes {least} of a "
                "setting, and the most here is {n}. Set {replicates} higher.",
                least=least_repetitions(found.repetitions_min),
                n=count(found.repetitions, "the most repetitions of a setting"),
                replicates=Name("replicates", code=True),
            )
        case "never marks":
            return say(
                "{nodes} can mark nothing: no queue there can become longer than its {key}. Set a "
                "lower one.",
                nodes=nodes,
                key=Name("ecn_threshold", code=True),
            )
        case "cannot fill":
            return say(
                "The buffer cannot fill at {depths}: all senders together have no more than that "
                "to send at once, so nothing can differ between these levels of {factor}.",
                depths=_depths(found),
                factor=factor,
            )
        case "never filled":
            return say(
                "The buffer never filled at {depths}, so nothing can differ between these levels "
                "of {factor}.",
                depths=_depths(found),
                factor=factor,
            )
        case "no timeout":
            return say(
                "No retransmission timed out in any run, so {factor} was not tested: it acts on "
                "timeouts alone.",
                factor=factor,
            )
        case "no loss":
            return say(
                "No packet was lost in any run, so {factor} was not tested: it acts on losses "
                "alone.",
                factor=factor,
            )
        case "no signal":
            return say(
                "No packet was lost or marked in any run, so {factor} was hardly tested: {levels} "
                "differ mainly in what they do about losses and marks.",
                factor=factor,
                levels=levels,
            )
        case "no mark":
            return say(
                "{nodes} marked nothing in any run, so {who} was not tested: the queue stayed "
                "below {key}.",
                nodes=nodes,
                who=Name(_ecn(found)),
                key=Name("ecn_threshold", code=True),
            )
        case "no PAUSE":
            return say(
                "{nodes} sent no PAUSE in any run, so PAUSE was not tested: no queue reached "
                "{key}.",
                nodes=nodes,
                key=Name("pause_high", code=True),
            )


def least_repetitions(number: int) -> Sentence:
    """The phrase "3 repetitions": the minimum for judging the first repetition."""
    return things(count(number, "a spread needs two later ones"), "repetition")


def _ecn(found: Untested) -> str:
    return "DCTCP" if found.dctcp else "ECN"


def _depths(found: Untested) -> Sentence:
    """The levels, each with the largest fill of its buffer: measured, or possible."""
    return join([_depth(found.factor or "", one) for one in found.depths])


def _depth(factor: str, one: Depth) -> Sentence:
    most = NOTHING
    if one.most_bytes is not None:
        size, longest = (_size(value) for value in (one.size_bytes, one.most_bytes))
        most = say(" ({longest} of {size} at most)", longest=longest, size=size)
    return say("{level}{most}", level=Name(full_level(factor, one.level)), most=most)


def _size(value: int) -> Number:
    """Rounded to three digits."""
    digits = len(str(value))
    rounded = round(value, 3 - digits) if digits > 3 else value
    return Number(value, format_size(rounded), "bytes of frames")


def _duration(duration_ns: int) -> Number:
    return Number(duration_ns, duration_text(duration_ns), "as the study has it")


def _sampler(metric: MetricName | None) -> str:
    """The instrument that samples a metric of a node, as it is written in a study."""
    assert metric is not None, "only of a metric that is not sampled"
    assert metric.scope is not None, f"{metric} is measured at no node"
    scope = metric.scope
    if not metric.base.startswith("port_"):
        return f"{{sar: {scope.node}, every: 1 s}}"
    port = "" if scope.towards is None else f", port: {scope.towards}"
    return f"{{ports: {scope.node}{port}, every: 1 s}}"
