"""The bottleneck in sentences, and a table of all candidates with their limits."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.bottleneck import Bottlenecks, Candidate, Limits
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import cell_number, percent, plain, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.numbers import counted, level_text
from netstudy.report.prose.words import NOTHING, alike, held_in_each, held_levels, value_range
from netstudy.report.question import Clause
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import Group, Table, Value, bare_interval, numeric_level
from netstudy.report.truth import Truth, whole

_TOLD = 3
"""A sentence names at most this number of candidates; the table has all."""
_DECIMALS = 1
_RESOURCES: Final = {
    "link": "networks?|links?|cards?|interfaces?|wires?|gigabit|uplinks?|trunks?",
    "CPU": "CPUs?|processors?|cores?",
    "disk": "disks?",
    "window": "windows?|buffers?",
    "switch": "switch|switches",
}
"""A word in the names of candidates -> the words by which a question calls such a resource."""


class BottleneckPage(ConclusionPage[Bottlenecks]):
    """The resource that limits throughput."""

    kind = Bottlenecks
    subject = "limit"

    def sentences(self, drawn: Bottlenecks, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The bottleneck at each setting."""
        return _sentences(drawn.limits)

    def truth(self, drawn: Bottlenecks, clause: Clause) -> Truth | None:
        """Whether the limit is the resource that the clause names, or a link if it names none."""
        if not clause.is_polar or clause.subject != self.subject:
            return None
        wanted = next((kind for kind, words in _RESOURCES.items() if clause.has(words)), None)
        if wanted is None:
            return None
        return whole(_is_limit(wanted, one) for one in drawn.limits)

    def tables(self, drawn: Bottlenecks, found: Concluded, key: str) -> Iterator[Table]:
        """The candidates."""
        yield _table(found, drawn.limits, key)


def _is_limit(wanted: str, one: Limits) -> bool | None:
    """Whether a resource is the limit at a setting; None: it may be."""
    if one.limit is not None:
        return wanted in one.limit.name
    if one.grows:  # with more load, a resource with room to spare may be full
        return None
    own = [candidate for candidate in one.candidates if wanted in candidate.name]
    is_ruled_out = bool(own) and all(each.state == "not at its limit" for each in own)
    return False if is_ruled_out else None


def _sentences(found: Sequence[Limits]) -> Iterator[Sentence]:
    """The bottleneck at each setting; if it is undecided, also how it could be decided. Settings
    with the same bottleneck share their sentences."""
    for group in alike(found, _end):
        yield _verdict(group, found)
        yield from _beside(group)
        yield from _ruled_out(group)
        yield from _unlimited(group)
        yield from _unmeasured(group)
        yield from _would_decide(group[0])


def _end(one: Limits) -> Hashable:
    """The grouping key of a setting: settings with equal keys share a sentence. They have the same
    bottleneck, or their throughput still grows and the same candidate is fullest. Any other setting
    has a key of its own."""
    limit = one.limit
    if limit is not None:
        return limit.name, limit.where, one.metric.name, one.factor
    if not one.grows:
        return id(one)
    fullest = next((each.name for each in _known(one)), None)
    return "grows", fullest, one.metric.name, one.factor


def _verdict(group: Sequence[Limits], every: Sequence[Limits]) -> Sentence:
    one, limit = group[0], group[0].limit
    held = NOTHING
    if len(group) > 1:
        held = held_in_each([each.held for each in group], [each.held for each in every])
    if limit is not None:
        return say(
            "The limit is the {name}{where}{held}: {share}{at}.",
            name=Name(limit.name),
            where=_where(limit),
            held=held,
            share=_most([one.limit for one in group if one.limit is not None]),
            at=_place(group),
        )
    if one.grows:
        return say(
            "The bottleneck is not decided{held}{at}: it is not shown that {metric} has stopped "
            "growing there{fullest}.",
            held=held,
            at=_place(group),
            metric=Name(one.metric.label),
            fullest=_fullest(group),
        )
    if not one.reached:
        known = len(one.in_state("not measured")) < len(one.candidates)
        why = (
            "nothing that was measured is near its limit" if known else "no candidate was measured"
        )
        return say("The bottleneck is not decided{at}: {why}.", at=_place(group), why=Name(why))
    full = one.in_state("at its limit")
    if full:
        return say(
            "The bottleneck is not decided{at}: {names} are near their limits at once.",
            at=_place(group),
            names=join([_named([candidate]) for candidate in full]),
        )
    return say(
        "The bottleneck is not decided{at}: {names} may be at {its}, which is not certain.",
        at=_place(group),
        names=join([_named([candidate]) for candidate in one.reached]),
        its=Name("its limit" if len(one.reached) == 1 else "their limits"),
    )


def _place(group: Sequence[Limits]) -> Sentence:
    """The settings and their throughput: " at 4 clients (sink null), 762 Mbit/s"."""
    first = group[0]
    values = [cell_number(one.row, one.metric, unit=True) for one in group]
    known = [value for value in values if value is not None]
    assert len(known) == len(group), "the cells are chosen by their throughput"
    value = value_range(known)
    held = held_levels(first.held) if len(group) == 1 else NOTHING
    if first.factor is None:
        return say(" at {value}{held}", value=value, held=held)
    levels = dict.fromkeys(level_text(one.row.treatment[first.factor]) for one in group)
    level = Name(counted(first.factor, listed(list(levels), "or")))
    return say(" at {level}{held}, {value}", level=level, held=held, value=value)


def _fullest(group: Sequence[Limits]) -> Sentence:
    fullest = [known[0] for one in group if (known := _known(one))]
    return say("; the fullest is the {name}", name=_named(fullest)) if fullest else NOTHING


def _known(one: Limits) -> list[Candidate]:
    """The candidates with a known share of their limit, the largest share first."""
    return [candidate for candidate in one.candidates if candidate.share_pct is not None]


def _beside(group: Sequence[Limits]) -> Iterator[Sentence]:
    """Candidates that may be at their limit too, in addition to the candidates that surely are."""
    seen = [one for one in group if one.in_state("at its limit") and not one.grows]
    uncertain = _by_name(one for limits in seen for one in limits.in_state("may be at its limit"))
    if uncertain:
        names = join([_named(candidates) for candidates in uncertain])
        yield say("Also not ruled out: {names}.", names=names)


def _ruled_out(group: Sequence[Limits]) -> Iterator[Sentence]:
    """The candidates that are below their limits in every setting of the group."""
    if group[0].grows:
        return
    every = [one for limits in group for one in limits.in_state("not at its limit")]
    found = [one for one in _by_name(every) if len(one) == len(group)]
    if not found:
        return
    told = [_named(candidates) for candidates in found[:_TOLD]]
    more = len(found) - len(told)
    yield say(
        "Below {near} of their limits, and ruled out: {names}{more}.",
        near=_near(group[0]),
        names=join(told) if not more else listed_on(told),
        more=say(" and {n} more", n=Number(more, str(more), "candidates ruled out"))
        if more
        else NOTHING,
    )


def _by_name(found: Iterable[Candidate]) -> list[list[Candidate]]:
    """The candidates grouped by name; the group with the largest share of its limit comes first."""
    groups = alike(found, lambda one: one.name)
    return sorted(groups, key=lambda group: -max(one.share_pct or 0.0 for one in group))


def listed_on(items: Sequence[Sentence]) -> Sentence:
    """A list without "and" before the last item, since more follows: a, b, c."""
    return Sentence(tuple(part for item in items for part in (", ", item))[1:])


def _near(one: Limits) -> Number:
    return plain(one.near_pct, 0, "%", "near of the conclusion, in % of a limit")


def _unlimited(group: Sequence[Limits]) -> Iterator[Sentence]:
    """Measured candidates without a known limit."""
    first = group[0]
    found = alike(
        ((one, limits) for limits in group for one in limits.in_state("limit not known")),
        lambda pair: pair[0].name,
    )
    if not found or first.grows:
        return
    alone = "; the limit found explains the throughput without" if first.limit is not None else ""
    yield say(
        f"Limit not known, and so not ruled out: {{names}}{alone}{{it}}.",
        names=join([_measured(pairs) for pairs in found]),
        it=Name(" it" if len(found) == 1 else " them") if alone else NOTHING,
    )


def _measured(pairs: Sequence[tuple[Candidate, Limits]]) -> Sentence:
    """The name of a candidate, and the range of its values in some settings."""
    return say(
        "{name} ({value})",
        name=Name(pairs[0][0].name),
        value=value_range([_value(one, limits) for one, limits in pairs]),
    )


def _value(one: Candidate, limits: Limits) -> Number:
    assert one.metric is not None, "it was measured"
    assert one.value is not None, "it was measured"
    where = treatment_text(limits.row.treatment)
    return plain(one.value, one.metric.decimals, one.metric.unit, f"{one.metric.name}, {where}")


def _unmeasured(group: Sequence[Limits]) -> Iterator[Sentence]:
    each = (one.name for limits in group for one in limits.in_state("not measured"))
    found = list(dict.fromkeys(each))
    if found and not group[0].grows:
        yield say("Not measured, and so not ruled out: {names}.", names=Name(listed(found)))


def _would_decide(one: Limits) -> Iterator[Sentence]:
    if one.limit is not None:
        return
    if one.grows:
        yield say("Further levels, until growth ends, would show which resource is full.")
    elif one.in_state("at its limit"):
        yield say(
            "A run with more of only one of them would decide: the limit is the resource whose "
            "increase raises {metric}.",
            metric=Name(one.metric.label),
        )
    elif one.reached:
        yield say("{what} would decide.", what=Name(_more_exact(one.reached[0])))
    elif one.in_state("not measured"):
        yield say(
            "Their counters would decide, or runs with twice as much of one of them, all else "
            "equal."
        )
    else:
        yield say(
            "The limit is none of these: it is a wait that uses no resource, such as a window, a "
            "lock or a round trip, or a resource without a counter. A run with each candidate "
            "doubled in turn would rule them out for good."
        )


def _more_exact(one: Candidate) -> str:
    if one.share_pct is None:
        return (
            "Counters of each single one of them" if one.at_most_pct else "More detailed counters"
        )
    return "More replicates"


def _named(found: Sequence[Candidate]) -> Sentence:
    """The name of a candidate, and how much of its limit is used in some settings."""
    return say("{name} ({share})", name=Name(found[0].name), share=_most(found))


def _most(found: Sequence[Candidate]) -> Number | Name:
    """How much of its limit a candidate uses in some settings: the lowest to the highest share. If
    not all shares are known: the upper bound or the note of the first setting."""
    shares = [_share(one) for one in found]
    known = [share for share in shares if isinstance(share, Number)]
    is_known = all(one.share_pct is not None for one in found)
    return value_range(known) if is_known else shares[0]


def _where(one: Candidate) -> Sentence:
    return NOTHING if one.where is None else say(" ({where})", where=Name(one.where))


def _share(one: Candidate) -> Number | Name:
    """The used share of the limit; if unknown, an upper bound; without one, the note."""
    if one.share_pct is not None:
        return percent(one.share_pct, f"{_read(one)} ÷ its limit × 100")
    if one.at_most_pct is not None:
        text = f"at most {one.at_most_pct:.0f}\u00a0%"
        return Number(one.at_most_pct, text, "time of all CPUs, in % of one CPU's")
    return Name(one.note)


def _read(one: Candidate) -> str:
    return one.name if one.metric is None else one.metric.name


def _table(found: Concluded, drawn: Sequence[Limits], table_id: str) -> Table:
    """One row for each candidate in each setting: measured value, limit, share."""
    factors = list(dict.fromkeys(name for one in drawn for name in one.held))
    load = next((one.factor for one in drawn if one.factor is not None), None)
    heads = [*factors, *([load] if load is not None and load not in factors else [])]
    groups = (
        *(Group(name) for name in heads),
        Group("Candidate"),
        Group("Read at"),
        Group("Measured"),
        Group("Limit"),
        Group("Share of the limit", "%", columns=("share", "95 % interval")),
        Group("Finding"),
    )
    rows = tuple(
        (
            *(numeric_level(one.row.treatment.get(name), name) for name in heads),
            *_row(candidate, one),
        )
        for one in drawn
        for candidate in one.candidates
    )
    where = f" ({found.case})" if found.case != "main" else ""
    caption = say("Candidates for the limit, with the used share of each{where}", where=Name(where))
    return Table(table_id, caption, groups, rows, stub=len(heads) + 1)


def _row(one: Candidate, limits: Limits) -> tuple[Value, ...]:
    metric, where = one.metric, treatment_text(limits.row.treatment)
    read = None if metric is None else Name(metric.name, code=True)
    value = limit = None
    if metric is not None and one.value is not None:
        value = _value(one, limits)
    if metric is not None and one.limit is not None:
        limit = plain(one.limit, 0, metric.unit, f"limit of {metric.name}")
    share = None
    if one.share_pct is not None:
        text = f"{one.share_pct:,.{_DECIMALS}f}"
        share = Number(one.share_pct, text, f"{_read(one)} ÷ limit × 100, {where}")
    elif one.at_most_pct is not None:
        share = Number(one.at_most_pct, f"≤ {one.at_most_pct:.0f}", f"{one.note}, {where}")
    return (
        Name(one.name),
        read,
        value,
        limit,
        share,
        bare_interval(one.interval, _DECIMALS, f"95 % interval of the share, {one.name}, {where}"),
        Name(
            f"{one.state}: {one.note}" if one.note and one.state != "not measured" else _state(one)
        ),
    )


def _state(one: Candidate) -> str:
    return one.note or one.state
