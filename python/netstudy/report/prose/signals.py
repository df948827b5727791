"""Causes other than drops at switches and timeouts, in sentences with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.layout import Panel
from netstudy.analysis.signals import LongWaits, Signals, by_cause
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import count, percent, plain
from netstudy.report.numbers import full_level
from netstudy.report.prose.words import NOTHING, at_levels, named, on_level
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.wire import Level

MOST_PCT = 50.0
HARDLY = 0.01
"""Drops hardly matter if drops ÷ marks is at most this."""


def ring_drops(found: PanelResult) -> Iterator[Sentence]:
    """Frames dropped at hosts, with their share of all drops."""
    parts = [
        say(
            "{n} a run{on}{share}",
            n=_a_run(one.ring_drops, one, "ring drops"),
            on=_on(found.panel, one.level),
            share=_share(one),
        )
        for one in found.causes.signals
        if one.ring_drops
    ]
    if parts:
        yield say("Full receive rings of hosts drop packets: {parts}.", parts=join(parts))


def mostly_ring_drops(found: PanelResult) -> bool:
    """Whether most drops are at hosts, at every level with drops."""
    shares = [one.ring_share_pct for one in found.causes.signals]
    known = [share for share in shares if share is not None]
    return bool(known) and min(known) > MOST_PCT


def moved_losses(found: PanelResult, base: PanelResult) -> Iterator[Sentence]:
    """The share of drops at hosts, if they are the majority in `found` but not in `base`, or the
    other way round."""
    before = {one.level: one.ring_share_pct for one in base.causes.signals}
    parts = [
        say(
            "{share} of all lost packets{on} ({there}: {old})",
            share=_ring_share(share),
            on=_on(found.panel, one.level),
            there=_held_apart(base.panel, found.panel),
            old=_ring_share(old),
        )
        for one in found.causes.signals
        if (share := one.ring_share_pct) is not None
        and (old := before.get(one.level)) is not None
        and (share > MOST_PCT) != (old > MOST_PCT)
    ]
    if parts:
        yield say("Full receive rings of hosts drop {parts}.", parts=join(parts))


def _held_apart(panel: Panel, other: Panel) -> Name:
    """The levels held in `panel` that are not held in `other`."""
    apart = panel.fixed.items() - other.fixed.items()
    return Name(listed([full_level(*held) for held in panel.fixed.items() if held in apart]))


def _share(one: Signals) -> Sentence:
    share = one.ring_share_pct
    if share is None:
        return NOTHING
    return say(" ({share} of all lost packets)", share=_ring_share(share))


def _ring_share(share_pct: float) -> Number:
    return percent(share_pct, "ring drops ÷ (ring drops + drops of the switches)")


def pauses(found: PanelResult) -> Iterator[Sentence]:
    """The numbers of PAUSE frames and drops at all levels, if any level has PAUSE frames."""
    if any(one.pauses for one in found.causes.signals):
        parts = _by_level(
            found,
            lambda one: one.pauses is not None,
            lambda one: say(
                "{n} and {drops}",
                n=_a_run(one.pauses, one, "PAUSE frames"),
                drops=_a_run(one.switch_drops, one, "drops of the switches"),
            ),
        )
        yield say(
            "PAUSE frames and dropped packets a run: {parts}; a paused port delays all frames "
            "behind it, whatever their receiver (head-of-line blocking).",
            parts=join(parts),
        )


def marks(found: PanelResult) -> Iterator[Sentence]:
    """The shares of marked and dropped frames at all levels, if any level has marks."""
    marked = [one for one in found.causes.signals if one.marks]
    if not marked:
        return
    parts = _by_level(
        found,
        lambda one: one.marked_pct is not None and one.dropped_pct is not None,
        lambda one: say(
            "marked {marked} and dropped {dropped}",
            marked=percent(one.marked_pct or 0.0, "marked ÷ (forwarded + dropped) frames"),
            dropped=percent(one.dropped_pct or 0.0, "dropped ÷ (forwarded + dropped) frames"),
        ),
    )
    hardly = all((one.switch_drops or 0) <= HARDLY * (one.marks or 0) for one in marked)
    yield say(
        "Of all frames, switches {first}{others}{so}.",
        first=parts[0],
        others=Sentence(tuple(part for one in parts[1:] for part in ("; they ", one))),
        so=say(". ECN marks slow the senders down, losses hardly do")
        if hardly and len(marked) == len(found.causes.signals)
        else NOTHING,
    )


def standing_queues(found: PanelResult) -> Iterator[Sentence]:
    """Where frames wait longest at each level, and how long."""
    by_place: dict[tuple[str, str], list[Sentence]] = {}
    for one in found.causes.signals:
        if (queue := one.standing) is not None:
            wait = say("{ms}{on}", ms=_wait(queue.mean_ms), on=_on(found.panel, one.level))
            by_place.setdefault((queue.node, queue.to), []).append(wait)
    if by_place:
        places = [
            say("{node} to {to} ({waits})", node=Name(node), to=Name(to), waits=join(waits))
            for (node, to), waits in by_place.items()
        ]
        yield say("Frames wait longest in the queue at {places}.", places=join(places))


def _wait(mean_ms: float) -> Number:
    decimals = 0 if mean_ms >= 100 else 1 if mean_ms >= 1 else 3
    return plain(mean_ms, decimals, "ms", "time in the queue ÷ frames that left it")


def probes(found: PanelResult) -> Iterator[Sentence]:
    """The number of tail loss probes that TCP counted as repairs of a loss. TCP infers a repair
    from acknowledgments (RFC 8985, 7.4), so a delayed segment counts as a loss, too."""
    parts = _by_level(
        found,
        lambda one: bool(one.probe_repairs),
        lambda one: say(
            "{repaired}{of}",
            repaired=count(one.probe_repairs or 0, "losses that a tail loss probe repaired"),
            of=_of_probes(one),
        ),
    )
    if not parts:
        return
    repairing = [one for one in found.causes.signals if one.probe_repairs]
    drops_nothing = all(one.switch_drops == 0 and one.ring_drops == 0 for one in repairing)
    yield say(
        "Tail loss probes that TCP counted as repairs of a loss: {parts}{late}.",
        parts=join(parts),
        late=say(
            "; neither switches nor receive rings dropped anything there, so the repeated segments "
            "were probably only late"
        )
        if drops_nothing
        else NOTHING,
    )


def _of_probes(one: Signals) -> Sentence:
    """The number of probes, as " of 12". Empty if there are fewer probes than repairs: probes from
    before the measuring phase are not counted, but their repairs may be."""
    if (one.probes or 0) < (one.probe_repairs or 0):
        return NOTHING
    return say(" of {n}", n=count(one.probes or 0, "tail loss probes"))


def explained_waits(found: PanelResult) -> Iterator[Sentence]:
    """Waits of about one minimum RTO that are not timeouts, with their cause."""
    waits = [one for one in found.causes.long_waits if one.is_explained]
    for setup, same in by_cause(waits):
        cause = say(
            "lost SYNs are sent again after the initial RTO ({n} in all)",
            n=count(sum(one.setup or 0 for one in same), "SYN and SYN-ACK sent again"),
        )
        if not setup:
            cause = say(
                "a tail loss probe waits that long when one segment is outstanding ({n} probes in "
                "all)",
                n=count(sum(one.probes or 0 for one in same), "tail loss probes"),
            )
        yield say("{waits}: {cause}.", waits=long_waits(found, same), cause=cause)


def sent_again(same: Sequence[LongWaits]) -> Sentence:
    """Whether segments were sent again, and in how many of the waiting samples. If only percentiles
    are known: in how many of the cells."""
    again = sum(one.retransmitting for one in same)
    if all(one.samples is None for one in same):
        if again in (0, len(same)):
            return say("segments are sent again" if again else "nothing is sent again either")
        n = count(again, "cells with segments sent again")
        return say("segments are sent again in {n} of these cells", n=n)
    if not again:
        return say("nothing is sent again in them either")
    n = count(again, "waits with segments sent again")
    return say("segments are sent again in {n} of them", n=n)


def long_waits(found: PanelResult, same: Sequence[LongWaits]) -> Sentence:
    """The waits of a panel at one level, as the subject of a sentence."""
    where: dict[str, Number | Name | Sentence] = {
        "at": at_levels(found.panel, [one.x for one in same]),
        "on": on_level(found.panel, same[0].level),
        "rto": plain(same[0].min_rto_ms, 0, "ms", "tcp.min_rto of the senders in the plan"),
    }
    samples = [one.samples for one in same if one.samples is not None]
    if not samples:
        return say(
            "The {percentile} percentile{at}{on} is about one minimum RTO ({rto}) above the "
            "median, and no timeout is counted",
            percentile=Name("99th"),
            **where,
        )
    return say(
        "{n} of {all} {noun}s{at}{on} wait about one minimum RTO ({rto}) without a timeout",
        n=count(sum(one.waiting for one in same), "samples that wait, and have no timeout"),
        all=count(sum(samples), "samples of these cells"),
        noun=Name(found.workload.counted.noun),
        **where,
    )


def _by_level(
    found: PanelResult, has: Callable[[Signals], bool], told: Callable[[Signals], Sentence]
) -> list[Sentence]:
    """The text for each level that has the signal."""
    return [
        say("{text}{on}", text=told(one), on=_on(found.panel, one.level))
        for one in found.causes.signals
        if has(one)
    ]


def _on(panel: Panel, level: Level | None) -> Sentence:
    """The level to which a count belongs: a level of the series or, without a series, of the factor
    along x."""
    if panel.series is None and level is not None:
        return say(" with {level}", level=named(panel.x or "", level))
    return on_level(panel, level)


def _a_run(total: int | None, one: Signals, what: str) -> Number:
    """A count per run."""
    mean = (total or 0) / one.runs
    return plain(mean, 0 if mean >= 10 or not mean else 1, "", f"{what}, mean over the runs")
