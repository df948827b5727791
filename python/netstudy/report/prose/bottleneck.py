"""Whose limit it is, in sentences and as a table of all candidates beside their limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.bottleneck import Candidate, Limits
from netstudy.analysis.conclusions import Concluded
from netstudy.report.cellrefs import at, cell_number, percent, plain, treatment_text
from netstudy.report.numbers import listed
from netstudy.report.prose.words import NOTHING, held_levels
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import Group, Table, Value, bare_interval, numeric_level

_TOLD = 3
"""Candidates that a sentence names; the table has all."""
_DECIMALS = 1


def limit_sentences(one: Limits) -> Iterator[Sentence]:
    """Whose limit it is, or that this is not decided and what would decide it."""
    yield _verdict(one)
    yield from _beside(one)
    yield from _ruled_out(one)
    yield from _unlimited(one)
    yield from _unmeasured(one)
    yield from _would_decide(one)


def _verdict(one: Limits) -> Sentence:
    limit = one.limit
    if limit is not None:
        return say(
            "The limit is the {name}{where}: {share}{at}.",
            name=Name(limit.name),
            where=_where(limit),
            share=_share(limit),
            at=_place(one),
        )
    if one.grows:
        return say(
            "Not decided{at}: {metric} still grows there, at the largest level{fullest}.",
            at=_place(one),
            metric=Name(one.metric.label),
            fullest=_fullest(one),
        )
    if not one.reached:
        known = len(one.in_state("not measured")) < len(one.candidates)
        why = (
            "nothing that was measured is near its limit" if known else "no candidate was measured"
        )
        return say("Not decided{at}: {why}.", at=_place(one), why=Name(why))
    full = one.in_state("at its limit")
    if full:
        return say(
            "Not decided{at}: {names} are near their limits at once.",
            at=_place(one),
            names=join([_named(candidate) for candidate in full]),
        )
    return say(
        "Not decided{at}: {names} may be at {its}, which is not certain.",
        at=_place(one),
        names=join([_named(candidate) for candidate in one.reached]),
        its=Name("its limit" if len(one.reached) == 1 else "their limits"),
    )


def _place(one: Limits) -> Sentence:
    """Where, and with how much throughput: " at 4 clients (sink null), 762 Mbit/s"."""
    value = cell_number(one.row, one.metric, unit=True)
    assert value is not None, "the cell is chosen by its throughput"
    if one.factor is None:
        return say(" at {value}{held}", value=value, held=held_levels(one.held))
    level = at(one.factor, one.row.treatment[one.factor])
    return say(" at {level}{held}, {value}", level=level, held=held_levels(one.held), value=value)


def _fullest(one: Limits) -> Sentence:
    known = [candidate for candidate in one.candidates if candidate.share_pct is not None]
    return say("; the fullest is the {name}", name=_named(known[0])) if known else NOTHING


def _beside(one: Limits) -> Iterator[Sentence]:
    """What may be full too, beside what is."""
    uncertain = one.in_state("may be at its limit")
    if uncertain and one.in_state("at its limit") and not one.grows:
        names = join([_named(candidate) for candidate in uncertain])
        yield say("Not ruled out beside it: {names}.", names=names)


def _ruled_out(one: Limits) -> Iterator[Sentence]:
    found = one.in_state("not at its limit")
    if not found or one.grows:
        return
    told = [_named(candidate) for candidate in found[:_TOLD]]
    more = len(found) - len(told)
    yield say(
        "Below {near} of their limits, and ruled out: {names}{more}.",
        near=_near(one),
        names=join(told) if not more else listed_on(told),
        more=say(" and {n} more", n=Number(more, str(more), "candidates ruled out"))
        if more
        else NOTHING,
    )


def listed_on(items: Sequence[Sentence]) -> Sentence:
    """A list that goes on: a, b, c."""
    return Sentence(tuple(part for item in items for part in (", ", item))[1:])


def _near(one: Limits) -> Number:
    return plain(one.near_pct, 0, "%", "near of the conclusion, in % of a limit")


def _unlimited(one: Limits) -> Iterator[Sentence]:
    """Candidates that were measured and whose limits nobody knows."""
    found = one.in_state("limit not known")
    if not found or one.grows:
        return
    alone = "; what is full explains the throughput without" if one.limit is not None else ""
    yield say(
        f"Limit not known, and so not ruled out: {{names}}{alone}{{it}}.",
        names=join([_measured(candidate, one) for candidate in found]),
        it=Name(" it" if len(found) == 1 else " them") if alone else NOTHING,
    )


def _measured(one: Candidate, limits: Limits) -> Sentence:
    assert one.metric is not None, "it was measured"
    assert one.value is not None, "it was measured"
    where = treatment_text(limits.row.treatment)
    value = plain(one.value, one.metric.decimals, one.metric.unit, f"{one.metric.name}, {where}")
    return say("{name} ({value})", name=Name(one.name), value=value)


def _unmeasured(one: Limits) -> Iterator[Sentence]:
    found = [candidate.name for candidate in one.in_state("not measured")]
    if found and not one.grows:
        yield say("Not measured, and so not ruled out: {names}.", names=Name(listed(found)))


def _would_decide(one: Limits) -> Iterator[Sentence]:
    if one.limit is not None:
        return
    if one.grows:
        yield say("Further levels, until growth ends, would show what is full.")
    elif one.in_state("at its limit"):
        yield say(
            "A run with more of one of them alone would decide: the limit is the one whose "
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
            "The limit is none of these: a wait that uses nothing up, such as a window, a lock or "
            "a round trip, or something that was not counted. A run with each candidate doubled in "
            "turn would rule them out for good."
        )


def _more_exact(one: Candidate) -> str:
    if one.share_pct is None:
        return (
            "Counters of each single one of them" if one.at_most_pct else "More detailed counters"
        )
    return "More replicates"


def _named(one: Candidate) -> Sentence:
    return say("{name} ({share})", name=Name(one.name), share=_share(one))


def _where(one: Candidate) -> Sentence:
    return NOTHING if one.where is None else say(" ({where})", where=Name(one.where))


def _share(one: Candidate) -> Number | Name:
    """How full it is, or what is known in place of that."""
    if one.share_pct is not None:
        return percent(one.share_pct, f"{_read(one)} ÷ its limit × 100")
    if one.at_most_pct is not None:
        text = f"at most {one.at_most_pct:.0f}\u00a0%"
        return Number(one.at_most_pct, text, "time of all CPUs, in % of one CPU's")
    return Name(one.note)


def _read(one: Candidate) -> str:
    return one.name if one.metric is None else one.metric.name


def limits_table(found: Concluded, drawn: Sequence[Limits], table_id: str) -> Table:
    """Every candidate of every setting beside its limit."""
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
    caption = say("What may be the limit, and how full it is{where}", where=Name(where))
    return Table(table_id, caption, groups, rows, stub=len(heads) + 1)


def _row(one: Candidate, limits: Limits) -> tuple[Value, ...]:
    metric, where = one.metric, treatment_text(limits.row.treatment)
    read = None if metric is None else Name(metric.name, code=True)
    value = limit = None
    if metric is not None and one.value is not None:
        value = plain(one.value, metric.decimals, metric.unit, f"{metric.name}, {where}")
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
