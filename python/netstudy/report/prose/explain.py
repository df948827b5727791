"""Why: the causal chain in sentences, with the evidence for and against each link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain as chain_of
from itertools import islice
from statistics import median

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.causes import Link, TimeAccount
from netstudy.analysis.metrics import Metric
from netstudy.report.cellrefs import count, plain
from netstudy.report.numbers import number_text
from netstudy.report.prose import signals
from netstudy.report.prose.words import (
    NOTHING,
    on_level,
    sentence_case,
    with_article,
    within,
)
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import scope_text
from netstudy.report.workloads import page_of
from netstudy.wire import Level

SUMMED_UP = 2
"""Sentences of the summary."""
WHOLE_PCT = 10
WHOLE_MS = 100
"""Shares and times of at least this size are printed without decimals."""


def chain(found: PanelResult) -> list[Sentence]:
    """The evidence for the workload's chain of causes."""
    return [
        *_links(found),
        *_timeout_cost(found),
        *_accounts(found),
        *signals.explained_waits(found),
        *signals.ring_drops(found),
        *signals.pauses(found),
        *signals.marks(found),
        *signals.probes(found),
        *_identity(found),
    ]


def _links(found: PanelResult) -> Iterator[Sentence]:
    testable = found.causes.testable()
    if not found.causes.chain:
        return
    if not testable:
        yield say("The cells are too few, or differ too little, to test the causal chain.")
        return
    holding = [link for link in testable if link.holds]
    yield say(
        "{k} of {n} tests of the chain’s links show the link, after Holm’s correction.",
        n=count(len(testable), "testable links"),
        k=count(len(holding), "links with rho > 0 and p below the level after Holm"),
    )
    for step in found.causes.chain:
        cause, effect = step.cause, step.effect
        links = [link for link in testable if (link.cause, link.effect) == (cause, effect)]
        yield from _one_link(cause, effect, links, found)


def _one_link(
    cause: Metric, effect: Metric, links: Sequence[Link], found: PanelResult
) -> Iterator[Sentence]:
    """The sentence on a link: the scopes in which it is shown, and the scopes in which it is not.
    It is shown in a scope if it holds there for every level."""
    if not links:
        return
    scopes = dict.fromkeys(link.scope for link in links)
    held = [s for s in scopes if all(link.holds for link in links if link.scope == s)]
    lost = [s for s in scopes if s not in held]
    refs = {"cause": Name(cause.title), "effect": Name(within(effect.title))}
    panel, samples = found.panel, found.causes.samples
    shown = join([Name(scope_text(scope, panel, samples)) for scope in held])
    missing = join([Name(scope_text(scope, panel, samples)) for scope in lost], last="or")
    if held and lost:
        template = "{cause} → {effect}: shown {shown}; not shown {missing}."
        yield say(template, shown=shown, missing=missing, **refs)
    elif held:
        yield say("{cause} → {effect}: shown {shown}.", shown=shown, **refs)
    else:
        yield say("{cause} → {effect}: not shown {missing}.", missing=missing, **refs)


def _timeout_cost(found: PanelResult) -> Iterator[Sentence]:
    causes, noun = found.causes, found.workload.counted.noun
    if causes.timeout_cost_ms is None:
        return
    if len(causes.timeout_costs_ms) > 1 and causes.min_rto_ms is None:
        yield _timeout_costs(causes.timeout_costs_ms, noun, found.workload.deciding)
        return
    rto = NOTHING
    if causes.min_rto_ms is not None:
        rto = say(
            "; {who}’ minimum RTO is {rto}",
            who=Name(page_of(found.workload).senders),
            rto=plain(causes.min_rto_ms, 0, "ms", "tcp.min_rto of the senders in the plan"),
        )
    yield say(
        "{one} with a timeout takes {cost} longer than one without{cells}{rto}.",
        one=Name(sentence_case(with_article(noun))),
        cost=_cost(causes.timeout_cost_ms, noun, found.workload.deciding, "median over the cells"),
        cells=_median_of(len(causes.timeout_costs_ms), noun),
        rto=rto,
    )


def _cost(cost_ms: float, noun: str, deciding: Metric, which: str) -> Number:
    source = f"mean {deciding.label} of {noun}s with a timeout − without, {which}"
    return plain(cost_ms, 0 if cost_ms >= WHOLE_MS else 1, "ms", source)


def _timeout_costs(costs_ms: Sequence[float], noun: str, deciding: Metric) -> Sentence:
    """The range of the cost of a timeout over the cells. A median over cells with different minimum
    RTOs would mislead."""
    return say(
        "{one} with a timeout takes {low} to {high} longer than one without, in {n} cells whose "
        "senders have different minimum RTOs.",
        one=Name(sentence_case(with_article(noun))),
        low=_cost(costs_ms[0], noun, deciding, "least of the cells"),
        high=_cost(costs_ms[-1], noun, deciding, "most of the cells"),
        n=count(len(costs_ms), f"cells with {noun}s of both kinds"),
    )


def _median_of(cells: int, noun: str) -> Sentence:
    if cells == 1:
        return NOTHING
    return say(" (median of {n} cells)", n=count(cells, f"cells with {noun}s of both kinds"))


def _accounts(found: PanelResult) -> Iterator[Sentence]:
    """The share of the delay that waiting for timeouts explains, with its range; and the number of
    cells without such a share, because waits overlap."""
    if _shares(found):
        yield _share_sentence(found, spans=True)
        several = len(_waiting(found)) > 1 and _shared(found)
        each = f" at each level of {found.panel.series}" if several else ""
        yield say(
            "The delay is the time beyond the transmission time of all bytes; each share is the "
            "median of the cells in which some {noun} waits{each}.",
            noun=Name(found.workload.counted.noun),
            each=Name(each),
        )
    yield from _overlaps(found)


def _share_sentence(found: PanelResult, *, spans: bool) -> Sentence:
    """For example: on the Arista, waiting for retransmission timeouts accounts for about 78 % of
    the delay."""
    panel, shares = found.panel, _shares(found)
    texts = [
        say(
            "{middle}{span}",
            middle=_about(median(values), "waiting ÷ (time − wire time), median"),
            span=_span(values) if spans and len(values) > 1 else NOTHING,
        )
        for _, values in shares
    ]
    first, *others = (on_level(panel, level) for level, _ in shares)
    lead = say("Waiting") if first == NOTHING else say("{on}, waiting", on=_capital(first))
    places = [_in_cells(found, level, len(values), always=spans) for level, values in shares]
    rest = [
        say("{on} for {t}{where}", on=on, t=text, where=where)
        for on, text, where in zip(others, texts[1:], places[1:], strict=True)
    ]
    return say(
        "{lead} for retransmission timeouts accounts for about {text} of the delay{where}{rest}.",
        lead=lead,
        text=texts[0],
        where=places[0],
        rest=Sentence(tuple(part for one in rest for part in (";", one))),
    )


def _in_cells(found: PanelResult, level: Level | None, waiting: int, *, always: bool) -> Sentence:
    """In how many of a level's cells some iteration waits. Empty if it is all of them; without
    `always`, also if it is more than half."""
    every = sum(account.level == level for account in found.causes.accounts)
    if waiting == every or (not always and 2 * waiting > every):
        return NOTHING
    return say(
        " in {n} of {all} cells",
        n=count(waiting, "cells with waiting > 0 and no overlap of waits"),
        all=count(every, "cells with an account of time"),
    )


def _capital(phrase: Sentence) -> Sentence:
    """The phrase without its leading blank and with a capital, to begin a sentence."""
    first, *rest = phrase.parts
    return Sentence((sentence_case(str(first).lstrip()), *rest))


def _about(value: float, source: str) -> Number:
    return plain(value, 0 if value >= WHOLE_PCT else 1, "%", source)


def _overlaps(found: PanelResult) -> Iterator[Sentence]:
    accounts = found.causes.accounts
    number = sum(account.found.overlaps for account in accounts)
    if number:
        yield say(
            "In {n} of {all} cells the waits overlap: one minimum RTO for each {noun} with a "
            "timeout would be longer than the whole delay{why}.",
            n=count(number, "cells with waiting > time − wire time"),
            all=count(len(accounts), "cells with an account of time"),
            noun=Name(found.workload.counted.noun),
            why=page_of(found.workload).waits_at_once,
        )


def _span(shares: Sequence[float]) -> Sentence:
    """The range from the lowest to the highest share; empty if both are printed alike."""
    low, high = min(shares), max(shares)
    decimals = 0 if low >= WHOLE_PCT else 1
    if number_text(low, decimals) == number_text(high, decimals):
        return NOTHING
    return say(
        " ({low} to {high})",
        low=plain(low, decimals, "", "the lowest such share"),
        high=_about(high, "waiting ÷ (time − wire time), highest"),
    )


def _shares(found: PanelResult) -> list[tuple[Level | None, list[float]]]:
    """The explained shares of each level, from the cells in which some iteration waits. If at some
    values of x every level has such a cell, only the cells at these values are used."""
    by_level, shared = _waiting(found), _shared(found)
    return [
        (level, [share for x, share in own.items() if x in shared or not shared])
        for level in found.panel.series_levels
        if (own := by_level.get(level))
    ]


def _waiting(found: PanelResult) -> dict[Level | None, dict[Level | None, float]]:
    """Level -> value of x -> the explained share of that cell; only cells in which some iteration
    waits."""
    by_level: dict[Level | None, dict[Level | None, float]] = {}
    for account in found.causes.accounts:
        share = _large_account(account)
        if share is not None:
            by_level.setdefault(account.level, {})[account.x] = share
    return by_level


def _shared(found: PanelResult) -> set[Level | None]:
    """The values of x at which every level has a cell with waiting; levels that have no such cell
    at all are ignored."""
    by_level = _waiting(found)
    return set.intersection(*map(set, by_level.values())) if by_level else set()


def _large_account(account: TimeAccount) -> float | None:
    """The explained share of the delay in a cell; None if no iteration waits in it."""
    return account.found.accounted_pct if account.found.waiting_ms else None


def _identity(found: PanelResult) -> Iterator[Sentence]:
    same = page_of(found.workload).one_observation
    if same is not None and any(cell.runs for cell in found.panel.cells.values()):
        yield same


def cause_summary(found: PanelResult) -> list[Sentence]:
    """The main causes, in at most two sentences: losses at hosts if most are there, the delay by
    timeouts, then causes that are easily missed, then the cost of a timeout."""
    rings = list(signals.ring_drops(found))
    first = rings if signals.mostly_ring_drops(found) else []
    shares = [_share_sentence(found, spans=False)] if _shares(found) else []
    each = (
        first,
        shares or list(_overlaps(found)),
        signals.explained_waits(found),
        [] if first else rings,
        signals.pauses(found),
        _timeout_cost(found),
        signals.marks(found),
    )
    return list(islice(chain_of(*each), SUMMED_UP))


def limits(samples: str) -> Sentence:
    """How much a test in each scope can show. `samples` are the items that a test inside one cell
    compares, such as iterations."""
    return say(
        "How much these tests show: between the {samples} of one cell only chance differs, so "
        "tests inside a cell are the strongest evidence; along the other factor, that factor "
        "itself changes both cause and effect, so tests along it are the weakest. No test replaces "
        "an experiment that changes only one cause.",
        samples=Name(samples),
    )
