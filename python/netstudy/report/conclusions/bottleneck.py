"""The bottleneck in sentences, and a table of bounds."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from netstudy.analysis.bounds.candidates import Candidate, LimitKind
from netstudy.analysis.bounds.parts import Part
from netstudy.analysis.bounds.verdict import Level
from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.bottleneck import Bottlenecks, Limits, Span
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import cell_number, percent, plain, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.numbers import counted, spans
from netstudy.report.prose.words import NOTHING, alike, held_in_each, value_range, with_article
from netstudy.report.question import Clause
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import Group, Table, Value, bare_interval, numeric_level
from netstudy.report.truth import Truth, whole

_TOLD: Final = 3
"""A sentence names at most this number of candidates; the table has all."""
_DECIMALS: Final = 1
_SMALL_PCT: Final = 1.0
"""Candidates below this share of their bound are not in the table."""
_RESOURCES: Final[dict[str, tuple[LimitKind, ...]]] = {
    "networks?|links?|cards?|interfaces?|wires?|gigabit|uplinks?|trunks?": (
        "link",
        "packet_rate",
    ),
    "CPUs?|processors?|cores?": ("cpu",),
    "disks?": ("disk",),
    "windows?|buffers?": ("window", "send_buffer"),
    "switch|switches": ("port",),
    "timeouts?|timers?": ("timeouts",),
    "acknowledgments?|ACKs?": ("delayed_ack",),
    "latency|round trips?|distance": ("round_trip",),
}
"""Words by which a question calls a resource -> its kinds."""


class BottleneckPage(ConclusionPage[Bottlenecks]):
    """The limit of throughput."""

    kind = Bottlenecks
    subject = "limit"

    def sentences(self, drawn: Bottlenecks, found: Concluded) -> Iterator[Sentence]:
        """The bottleneck at each setting and level; at the highest load only if the study does not
        ask for it."""
        if found.by_default:
            yield from _at_highest_load(drawn.limits)
            return
        yield from _verdicts(drawn.limits)
        yield from _further(drawn.limits)

    def in_answer(self, drawn: Bottlenecks, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The verdicts."""
        return _verdicts(drawn.limits)

    def truth(self, drawn: Bottlenecks, clause: Clause) -> Truth | None:
        """Whether the limit is the resource that the clause names, or a link if it names none."""
        if not clause.is_polar or clause.subject != self.subject:
            return None
        wanted = next((kinds for words, kinds in _RESOURCES.items() if clause.has(words)), None)
        if wanted is None:
            return None
        return whole(_is_limit(wanted, one.spans[-1].levels[-1]) for one in drawn.limits)

    def next_run(self, drawn: Bottlenecks) -> Sentence | None:
        """The run that would decide the limit at the highest load of the first open setting."""
        open_spans = (one.spans[-1] for one in drawn.limits if one.spans[-1].is_open)
        span = next(open_spans, None)
        return None if span is None else _would_decide(span.examined)

    def tables(self, drawn: Bottlenecks, found: Concluded, key: str) -> Iterator[Table]:
        """The bounds, if any of them is known."""
        levels = (level for one in drawn.limits for level in one.levels)
        if any(_counts(one) for level in levels for one in level.candidates):
            yield _table(found, drawn.limits, key)


def _is_limit(wanted: Sequence[LimitKind], level: Level) -> bool | None:
    """Whether a resource of these kinds is the limit; None: it may be."""
    kinds = {one.resource.kind for one in level.limits}
    if level.part is not None:
        kinds = {level.part.kind}
    if level.cause != "open" and kinds:
        return bool(kinds & set(wanted))
    own = [one for one in level.candidates if one.resource.kind in wanted]
    is_ruled_out = bool(own) and all(one.state == "not reached" for one in own)
    return False if is_ruled_out else None


# ---- the verdicts


def _verdicts(found: Sequence[Limits]) -> Iterator[Sentence]:
    """The limit at the highest load, then at lower ones; settings with the same
    verdicts share their sentences."""
    for group in alike(found, _story):
        for place in range(len(group[0].spans) - 1, -1, -1):
            yield _verdict([one.spans[place] for one in group], group, found)


def _at_highest_load(found: Sequence[Limits]) -> Iterator[Sentence]:
    for group in alike(found, lambda one: _key(one.spans[-1])):
        yield _verdict([one.spans[-1] for one in group], group, found)


def _story(one: Limits) -> Hashable:
    """Settings with equal stories share their sentences."""
    return tuple((_key(span), _levels_text(one, span)) for span in one.spans)


def _key(span: Span) -> Hashable:
    first = span.first
    part = None if first.part is None else (first.part.kind, first.part.name)
    return first.cause, frozenset(one.resource.key for one in first.limits), part


def _levels_text(one: Limits, span: Span) -> str:
    """The levels of the load in a span: "4 to 16 users"; empty if there is no load."""
    if one.factor is None:
        return ""
    chosen, every = (
        [level.row.treatment[one.factor] for level in levels]
        for levels in (span.levels, one.levels)
    )
    return counted(one.factor, listed(spans(chosen, every)))


def _verdict(same: Sequence[Span], group: Sequence[Limits], every: Sequence[Limits]) -> Sentence:
    held = NOTHING
    if len(every) > 1:
        held = held_in_each([one.held for one in group], [one.held for one in every])
    texts = {_levels_text(one, span) for one, span in zip(group, same, strict=True)}
    levels = texts.pop() if len(texts) == 1 else "the highest load"
    at = say(" at {levels}", levels=Name(levels)) if levels else NOTHING
    writer = {
        "bound": _of_bound,
        "outstanding": _of_outstanding,
        "wait": _of_wait,
        "served": _of_served,
        "open": _of_open,
    }[same[0].first.cause]
    return writer(same, group[0], say("{at}{held}", at=at, held=held))


def _of_bound(same: Sequence[Span], one: Limits, at: Sentence) -> Sentence:
    limits = same[0].first.limits
    value = _throughput(same, one)
    names = _one_name(limits)
    if names is not None:
        return say(
            "The limit{at} is the {name}: {share} in use{value}.",
            at=at,
            name=names,
            share=_shares(limits[0], same),
            value=value,
        )
    return say(
        "Several bounds limit throughput together{at}{value}: {names}. Raising only one of them "
        "gains nothing.",
        at=at,
        names=join([_named(limit, same) for limit in limits]),
        value=value,
    )


def _one_name(limits: Sequence[Candidate]) -> Sentence | None:
    """The name of one resource, or of one interface in both directions; None: there are several."""
    if len(limits) == 1:
        return _with_place(limits[0])
    names = [one.name.partition(", ") for one in limits]
    if len({(first, bool(way)) for first, _, way in names}) > 1:
        return None
    return Sentence((f"{names[0][0]}, {listed([way for _, _, way in names])}",))


def _of_outstanding(same: Sequence[Span], one: Limits, at: Sentence) -> Sentence:
    first = same[0].first
    (limit,) = first.limits
    of = say("; the largest part of their time is not known")
    if first.part is not None:
        of = say(
            "; each spends {share} of its time with {name}",
            share=_part_shares(same),
            name=Name(_of_part(first)),
        )
    return say(
        "The limit{at} is the {name}{of}{value}.",
        at=at,
        name=Name(limit.name),
        of=of,
        value=_throughput(same, one),
    )


def _of_part(level: Level) -> str:
    assert level.part is not None, "it was checked"
    return level.part.name


def _of_wait(same: Sequence[Span], one: Limits, at: Sentence) -> Sentence:
    first = same[0].first
    part = first.part
    assert part is not None, "a wait limits"
    return say(
        "The limit{at} is {name}, {share} of the time {whole}{value}.",
        at=at,
        name=Name(_wait_text(part)),
        share=_part_shares(same),
        whole=Name(_whole(first)),
        value=_throughput(same, one),
    )


def _wait_text(part: Part) -> str:
    """A part of a time in a sentence: "the CPUs of server", "waiting for retransmission timers"."""
    return part.name if part.kind in _USED else f"waiting for {part.name}"


_USED: Final = ("link", "packet_rate", "cpu", "disk", "bus", "slots", "round_trip", "wait")
"""Kinds of parts in which a unit of work does not wait for something else."""


def _whole(level: Level) -> str:
    """Whose time is divided: "of an iteration"."""
    time, cycle = level.seen.time, level.seen.cycle
    if time is not None and time.unit != "interval":
        return f"of {with_article(time.unit)}"
    return "of the senders" if cycle is None else "of a response with its think time"


def _of_served(same: Sequence[Span], one: Limits, at: Sentence) -> Sentence:
    last = same[0].levels[-1]
    nearest = last.next
    more = NOTHING
    if nearest is not None and nearest.share_pct:
        more = say("; the next bound is the {name}", name=_named(nearest, same))
        if last.seen.load is not None:
            full_at = last.seen.load * 100 / nearest.share_pct
            number = Number(full_at, f"{full_at:,.3g}", "load × 100 ÷ share of the bound")
            more = say("{more}, full at a load of about {n}", more=more, n=number)
    what = (
        "all of the offered load is served"
        if last.seen.offered is not None
        else "throughput is in proportion to the load"
    )
    return say(
        f"Nothing limits throughput{{at}}: {what}{{value}}{{more}}.",
        at=at,
        value=_throughput(same, one),
        more=more,
    )


def _of_open(same: Sequence[Span], one: Limits, at: Sentence) -> Sentence:
    last = same[0].levels[-1].candidates
    idle = next((each for each in last if each.state == "full, but not in proportion"), None)
    nearest = next((each for each in last if _counts(each) and each.state in _OPEN), None)
    why = say("no measured resource is full")
    if idle is not None:
        why = say(
            "the use of the {name} does not follow throughput",
            name=_named(idle, same),
        )
    elif nearest is not None:
        why = say("no bound is reached; the nearest is the {name}", name=_named(nearest, same))
    if largest := same[0].levels[-1].largest:
        why = say(
            "{why}; no part takes most of the time {whole}: {parts} are the largest",
            why=why,
            whole=Name(_whole(same[0].levels[-1])),
            parts=join([_part_share(part) for part in largest]),
        )
    return say(
        "The bottleneck is not decided{at}{value}: {why}.",
        at=at,
        value=_throughput(same, one),
        why=why,
    )


_OPEN: Final = ("not reached", "may be reached")


def _counts(one: Candidate) -> bool:
    return one.share_pct is not None and one.resource.kind != "none"


def _throughput(same: Sequence[Span], one: Limits) -> Sentence:
    cells = (level.row for span in same for level in span.levels)
    values = [cell_number(row, one.metric, unit=True) for row in cells]
    return say(" ({value})", value=value_range([each for each in values if each is not None]))


def _with_place(one: Candidate) -> Sentence:
    where = NOTHING if one.where is None else say(" ({where})", where=Name(one.where))
    return say("{name}{where}", name=Name(one.name), where=where)


def _named(one: Candidate, same: Sequence[Span]) -> Sentence:
    """The name of a candidate, and its share in some levels."""
    return say("{name} ({share})", name=Name(one.name), share=_shares(one, same))


def _shares(one: Candidate, same: Sequence[Span]) -> Number:
    known = [
        found
        for span in same
        for found in span.share(one.resource.key)
        if found.share_pct is not None
    ]
    return value_range([_share(found) for found in known or [one]])


def _share(one: Candidate) -> Number:
    assert one.share_pct is not None, "its share is known"
    if one.at_most_pct is not None:
        return percent(one.share_pct, "time of all CPUs, in % of all of them")
    return percent(one.share_pct, f"{_read(one)} ÷ its limit × 100")


def _part_share(part: Part) -> Sentence:
    share = percent(part.share_pct, f"{part.name} ÷ the whole × 100")
    return say("{name} ({share})", name=Name(_wait_text(part)), share=share)


def _part_shares(same: Sequence[Span]) -> Number:
    parts = [level.part for span in same for level in span.levels]
    return value_range(
        [
            percent(part.share_pct, f"{part.name} ÷ the whole × 100")
            for part in parts
            if part is not None
        ]
    )


def _read(one: Candidate) -> str:
    return one.name if one.metric is None else one.metric.name


# ---- candidates that are ruled out, and the next run


def _further(found: Sequence[Limits]) -> Iterator[Sentence]:
    """For each setting at its highest load: full resources that are no limit, resources that are
    ruled out, candidates that nobody measured, and what is not modelled."""
    for group in alike(found, lambda one: _key(one.spans[-1])):
        last = [one.spans[-1].examined for one in group]
        held = NOTHING
        if len(group) < len(found):
            held = held_in_each([one.held for one in group], [one.held for one in found])
        yield from _full_but_no_limit(last, held)
        yield from _ruled_out(last, group[0], held)
        yield from _not_known(last, held)
        if last[0].cause == "open":
            yield _would_decide(last[0])
    yield from _not_modelled(found)


def _not_modelled(found: Sequence[Limits]) -> Iterator[Sentence]:
    levels = (level for one in found for level in one.levels)
    missing = list(dict.fromkeys(name for level in levels for name in level.seen.not_modelled))
    if missing:
        yield say("Not modelled, and so no limit here: {names}.", names=Name(listed(missing)))


_NO_LIMIT: Final = {
    "full, but not in proportion": "its use does not follow throughput",
    "full of waits": "the work that holds it waits for another full resource",
    "bounds one client": "it bounds each client, and not the total",
}


def _full_but_no_limit(last: Sequence[Level], held: Sentence) -> Iterator[Sentence]:
    every = [one for level in last for one in level.candidates if one.state in _NO_LIMIT]
    for same in alike(every, lambda one: (one.name, one.state)):
        yield say(
            "Full, but no limit{held}: {name} ({share}), because {why}.",
            name=Name(same[0].name),
            share=value_range([_share(one) for one in same]),
            held=held,
            why=Name(_NO_LIMIT[same[0].state]),
        )
    traced = [level for level in last if level.seen.is_traced]
    full = [(one, level) for level in traced for one in level.candidates if one.state == "reached"]
    for both in alike(full, lambda each: each[0].resource.key):
        shares = [
            percent(level.seen.share_pct(one.resource.key), f"time at the {one.name} ÷ time × 100")
            for one, level in both
        ]
        yield say(
            "Full, but no limit{held}: {name} ({share}), because it takes {time} of the time.",
            name=Name(both[0][0].name),
            share=value_range([_share(one) for one, _ in both]),
            held=held,
            time=value_range(shares),
        )


def _ruled_out(last: Sequence[Level], one: Limits, held: Sentence) -> Iterator[Sentence]:
    """The resources below their limits at every setting of the group."""
    every = [
        each
        for level in last
        for each in level.candidates
        if each.state == "not reached" and each.resource.kind not in ("none", "port")
    ]
    groups = [same for same in alike(every, lambda each: each.name) if len(same) == len(last)]
    groups.sort(key=lambda same: -max(each.share_pct or 0.0 for each in same))
    if not groups:
        return
    told = [_ruled_out_name(same) for same in groups[:_TOLD]]
    more = len(groups) - len(told)
    rest = say(" and {n} more", n=Number(more, str(more), "candidates ruled out"))
    yield say(
        "Below {near} of their limits, and ruled out{held}: {names}{more}.",
        near=plain(one.near_pct, 0, "%", "near of the conclusion, in % of a limit"),
        held=held,
        names=listed_on(told) if more else join(told),
        more=rest if more else NOTHING,
    )


def _ruled_out_name(same: Sequence[Candidate]) -> Sentence:
    """The name of a resource and its shares; without a known limit, why it is ruled out."""
    known = [_share(one) for one in same if one.share_pct is not None]
    if not known:
        return say("{name} ({note})", name=Name(same[0].name), note=Name(same[0].note))
    return say("{name} ({share})", name=Name(same[0].name), share=value_range(known))


def listed_on(items: Sequence[Sentence]) -> Sentence:
    """A list without "and" before the last item, since more follows: a, b, c."""
    return Sentence(tuple(part for item in items for part in (", ", item))[1:])


def _not_known(last: Sequence[Level], held: Sentence) -> Iterator[Sentence]:
    for state, text in (
        ("may be reached", "Not ruled out"),
        ("limit not known", "Limit not known, and so not ruled out"),
        ("not measured", "Not measured, and so not ruled out"),
    ):
        names = dict.fromkeys(
            one.name for level in last for one in level.candidates if one.state == state
        )
        if names:
            yield say(f"{text}{{held}}: {{names}}.", held=held, names=Name(listed(list(names))))


def _would_decide(level: Level) -> Sentence:
    if level.largest:
        name = Name(level.largest[0].name.removeprefix("the "))
        return say("A run with less time for the {name} would tell what it gains.", name=name)
    missing = [one.name for one in level.candidates if one.state == "not measured"]
    uncertain = [one for one in level.candidates if one.state == "may be reached"]
    if uncertain and uncertain[0].others_pct is not None:
        return say(
            "Runs while {name} have no other work would decide.", name=Name(uncertain[0].name)
        )
    if uncertain and uncertain[0].at_most_pct is not None:
        return say("Counters of each CPU would decide.")
    if uncertain and uncertain[0].resource.kind == "port":
        return say("A run with four times the {name} would decide.", name=Name(uncertain[0].name))
    if uncertain:
        return say("More replicates would decide.")
    if missing:
        return say("Counters of the {names} would decide.", names=Name(listed(missing)))
    nearest = next((one for one in level.candidates if _counts(one) and one.state in _OPEN), None)
    if nearest is None:
        return say("Runs with each resource doubled in turn would decide.")
    return say(
        "A run with twice the {name} would tell how much of the time it takes.",
        name=Name(nearest.name),
    )


# ---- the table


def _table(found: Concluded, drawn: Sequence[Limits], table_id: str) -> Table:
    """One row for each candidate at the last level of each span."""
    factors = list(dict.fromkeys(name for one in drawn for name in one.held))
    load = next((one.factor for one in drawn if one.factor is not None), None)
    metric = drawn[0].metric
    unit = metric.unit.removesuffix("/s")
    of = "one" if metric.unit == "1/s" else f"a {unit}"
    groups = (
        *(Group(name) for name in factors),
        *((Group(load),) if load is not None else ()),
        Group("Candidate"),
        Group("Read at"),
        Group("Demand", f"µs for {of}"),
        Group("Bound", metric.unit),
        Group("Reached", "%", columns=("share", "95 % interval")),
        Group("Verdict"),
    )
    rows = tuple(
        (
            *(numeric_level(one.held.get(name), name) for name in factors),
            *(() if load is None else (Name(_levels_text(one, span)),)),
            *_row(candidate, span.examined, one),
        )
        for one in drawn
        for span in one.spans
        for candidate in _shown(span.examined)
    )
    where = f" ({found.case})" if found.case != "main" else ""
    caption = say(
        "Bounds of throughput, at the highest of the levels in a row{where}", where=Name(where)
    )
    stub = len(factors) + (load is not None) + 1
    return Table(table_id, caption, groups, rows, stub=stub)


def _shown(level: Level) -> Iterator[Candidate]:
    for place, one in enumerate(level.candidates):
        if one.state == "limit" or place < _TOLD or (one.share_pct or 0.0) >= _SMALL_PCT:
            yield one


def _row(one: Candidate, level: Level, limits: Limits) -> tuple[Value, ...]:
    where, x = treatment_text(level.row.treatment), level.seen.throughput
    demand = bound = share = None
    if one.share_pct is not None and x > 0 and one.resource.kind != "none":
        us = one.share_pct / 100 / x * 1e6
        demand = Number(us, f"{us:,.4g}", f"{_read(one)} ÷ throughput, {where}")
    if one.bound is not None:
        bound = plain(one.bound, limits.metric.decimals, "", f"throughput ÷ share, {where}")
    if one.share_pct is not None:
        text = f"{one.share_pct:,.{_DECIMALS}f}"
        share = Number(one.share_pct, text, f"{_read(one)} ÷ limit × 100, {where}")
    note = f": {one.note}" if one.note else ""
    return (
        Name(one.name),
        None if one.metric is None else Name(one.metric.name, code=True),
        demand,
        bound,
        share,
        bare_interval(one.interval, _DECIMALS, f"95 % interval of the share, {one.name}, {where}"),
        Name(f"{one.state}{note}"),
    )
