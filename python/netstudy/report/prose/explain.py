"""Why: the causal chain in sentences, with the evidence for and against each link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain as chain_of
from itertools import islice

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.causes import Link
from netstudy.analysis.metrics import Metric
from netstudy.report.cellrefs import count, plain
from netstudy.report.prose import beyond_wire, signals
from netstudy.report.prose.words import (
    NOTHING,
    sentence_case,
    with_article,
    within,
)
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import scope_text
from netstudy.report.workloads import page_of

SUMMED_UP = 2
"""Sentences of the summary."""
WHOLE_MS = 100
"""Times of at least this size are printed without decimals."""


def chain(found: PanelResult) -> list[Sentence]:
    """The evidence for the workload's chain of causes."""
    return [
        *_links(found),
        *_timeout_cost(found),
        *beyond_wire.of_levels(found),
        *beyond_wire.of_growth(found),
        *signals.explained_waits(found),
        *signals.ring_drops(found),
        *signals.pauses(found),
        *signals.marks(found),
        *signals.standing_queues(found),
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


def _identity(found: PanelResult) -> Iterator[Sentence]:
    same = page_of(found.workload).one_observation
    if same is not None and any(cell.runs for cell in found.panel.cells.values()):
        yield same


def cause_summary(found: PanelResult) -> list[Sentence]:
    """The main causes, in at most two sentences: losses at hosts if most are there, the part of the
    time that grows between levels, then causes that are easily missed, then the cost of a
    timeout."""
    rings = list(signals.ring_drops(found))
    first = rings if signals.mostly_ring_drops(found) else []
    each = (
        first,
        # The conclusion on where the time goes names the largest parts at each level.
        islice(beyond_wire.of_growth(found), 1),
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
