"""Why: the causal chain in sentences, with the evidence for and against each link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from netstudy.analysis.causes import Link, TimeAccount
from netstudy.analysis.metrics import Metric
from netstudy.analysis.study_result import PanelResult
from netstudy.report.cellrefs import count, percent, plain
from netstudy.report.prose.words import NOTHING, on_level, things, with_article, within
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import scope_text
from netstudy.report.workloads import page_of
from netstudy.wire import Level


def chain(found: PanelResult) -> list[Sentence]:
    """The evidence for the chain of the workload."""
    return [
        *_links(found),
        *_timeout_cost(found),
        *_accounts(found),
        *_identity(found),
    ]


def _links(found: PanelResult) -> Iterator[Sentence]:
    testable = found.causes.testable()
    if not found.causes.chain:
        return
    if not testable:
        yield say("The cells do not differ enough for the causal chain to be tested.")
        return
    holding = [link for link in testable if link.holds]
    yield say(
        "Of {n} ways to look at the links of the chain, {k} show the link after Holm.",
        n=count(len(testable), "testable links"),
        k=count(len(holding), "links with rho > 0 and p below the level after Holm"),
    )
    for cause, effect in found.causes.chain:
        links = [link for link in testable if (link.cause, link.effect) == (cause, effect)]
        yield from _one_link(cause, effect, links, found)


def _one_link(
    cause: Metric, effect: Metric, links: Sequence[Link], found: PanelResult
) -> Iterator[Sentence]:
    """The scopes in which a link holds; a scope counts if it holds for every level."""
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
    refs: dict[str, Number | Name | Sentence] = {
        "one": Name(with_article(noun)),
        "cost": plain(
            causes.timeout_cost_ms,
            1,
            "ms",
            f"mean {found.workload.deciding.label} of {noun}s with a timeout − without, median "
            "over the cells",
        ),
        "cells": things(
            count(causes.timeout_cost_cells, f"cells with {noun}s of both kinds"), "cell"
        ),
    }
    if causes.min_rto_ms is None:
        yield say(
            "In the same cell {one} with a timeout takes {cost} longer than one without "
            "(median over {cells}).",
            **refs,
        )
        return
    yield say(
        "In the same cell {one} with a timeout takes {cost} longer than one without "
        "(median over {cells}); {who}’ minimum RTO is {rto}.",
        who=Name(page_of(found.workload).senders),
        rto=plain(causes.min_rto_ms, 0, "ms", "tcp.min_rto of the senders in the plan"),
        **refs,
    )


def _accounts(found: PanelResult) -> Iterator[Sentence]:
    """The share of the time above the wire's own that waiting for timeouts explains, and the cells
    in which waits overlap, so that they explain no share of it."""
    parts = [
        say(
            "{middle}{on}{span}",
            middle=percent(median(shares), "waiting ÷ (time − wire time), median"),
            on=on_level(found.panel, level),
            span=_span(shares) if len(shares) > 1 else NOTHING,
        )
        for level, shares in _shares(found)
    ]
    if parts:
        yield say(
            "Waiting for retransmission timeouts accounts for {parts} of the time above the "
            "wire’s own (median cell).",
            parts=join(parts),
        )
    yield from _overlaps(found)


def _overlaps(found: PanelResult) -> Iterator[Sentence]:
    accounts = found.causes.accounts
    number = sum(account.found.overlaps for account in accounts)
    if number:
        yield say(
            "In {n} of {all} cells one minimum RTO for each {noun} with a timeout would be more "
            "than all of that time{why}; waiting explains no share of it there.",
            n=count(number, "cells with waiting > time − wire time"),
            all=count(len(accounts), "cells with an account of time"),
            noun=Name(found.workload.counted.noun),
            why=page_of(found.workload).waits_at_once,
        )


def _span(shares: Sequence[float]) -> Sentence:
    return say(
        " (from {low} to {high})",
        low=percent(min(shares), "waiting ÷ (time − wire time), lowest"),
        high=percent(max(shares), "waiting ÷ (time − wire time), highest"),
    )


def _shares(found: PanelResult) -> list[tuple[Level | None, list[float]]]:
    """Each level with the explained shares of its cells in which some iteration waits."""
    accounts = found.causes.accounts
    by_level = [
        (level, [p for a in accounts if a.level == level and (p := _large_account(a)) is not None])
        for level in found.panel.series_levels
    ]
    return [(level, shares) for level, shares in by_level if shares]


def _large_account(account: TimeAccount) -> float | None:
    """The explained share of a cell in which some iteration waits; else None."""
    return account.found.accounted_pct if account.found.waiting_ms else None


def _identity(found: PanelResult) -> Iterator[Sentence]:
    same = page_of(found.workload).one_observation
    if same is not None and any(cell.runs for cell in found.panel.cells.values()):
        yield same


MOST = 50.0
"""In percent: waiting for more than half of the time counts as most of it."""


def cause_summary(found: PanelResult) -> list[Sentence]:
    """The answer to why, for the executive summary."""
    shares = _shares(found)
    waits = bool(shares) and all(median(values) > MOST for _, values in shares)
    lead = [say("Waiting for retransmission timeouts is most of the time lost.")] if waits else []
    return [*lead, *_timeout_cost(found), *_accounts(found)]


def limits(samples: str) -> Sentence:
    """What the scopes of a link's test can show; `samples` is the unit compared inside a cell."""
    return say(
        "What this can show: between the {samples} of one cell only chance differs, so that look "
        "is the strongest; along the other factor that factor itself drives both sides, so that "
        "look is the weakest. "
        "None of them replaces an experiment that changes one cause alone.",
        samples=Name(samples),
    )
