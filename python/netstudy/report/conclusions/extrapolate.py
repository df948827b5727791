"""How many clients one link would serve, in sentences and as a table of its derivation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.extrapolate import Extrapolated, Extrapolations, Share
from netstudy.analysis.intervals import Interval
from netstudy.report.cellrefs import count, plain, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.numbers import number_text
from netstudy.report.prose.words import NOTHING, held_levels, things
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.report.tables import Group, Table, Value, bare_interval, numeric_level
from netstudy.units import format_rate

_UNIT = "Mbit/s"
_DECIMALS = 1


class ExtrapolatePage(ConclusionPage[Extrapolations]):
    """The clients that one link would serve."""

    kind = Extrapolations
    subject = "growth"

    def sentences(self, drawn: Extrapolations, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The number at each setting, with its derivation."""
        for one in drawn.each:
            yield from _extrapolated(one)

    def tables(self, drawn: Extrapolations, found: Concluded, key: str) -> Iterator[Table]:
        """The derivation."""
        yield _table(found, drawn.each, key)


def _extrapolated(one: Extrapolated) -> Iterator[Sentence]:
    """The number of clients with its formula and its range, and what it assumes."""
    basis, capacity = one.basis, one.capacity
    yield say(
        "One link would serve {n}{held}: {rate} × {share} ({counted}) = {capacity}, ÷ "
        "{each} a client as measured with {measured} = {exact}, rounded down.",
        n=things(count(one.clients, "clients per link"), "client"),
        held=held_levels(one.held),
        rate=Name(format_rate(capacity.line_bps)),
        share=plain(capacity.share, 3, "", f"share of the line: {capacity.counted}"),
        counted=Name(capacity.counted),
        capacity=plain(capacity.mbps, 0, _UNIT, "line rate × share"),
        each=_each(basis, one),
        measured=_clients(basis),
        exact=_exact(basis.fit_into(capacity.mbps)),
    )
    yield _range(one)
    yield _filled(one, one.filled) if one.filled is not None else _ceiling(one)
    yield say(
        "This assumes that each further client has the rate of the measured clients, that clients "
        "do not slow each other down, and that no other resource is full before the link."
    )


def _exact(clients: float) -> Number:
    """The number with enough decimals that rounding does not make it the next whole number."""
    decimals = next(n for n in range(2, 17) if round(clients, n) < math.floor(clients) + 1)
    return Number(clients, number_text(clients, decimals), "capacity ÷ rate a client")


def _each(share: Share, one: Extrapolated) -> Number:
    where = treatment_text(share.cell.treatment)
    source = f"{one.metric.name} ÷ clients, {where}"
    return plain(share.mbps, _DECIMALS, _UNIT, source)


def _clients(share: Share) -> Sentence:
    return things(count(share.clients, "clients of the cell"), "client")


def _range(one: Extrapolated) -> Sentence:
    low, high = one.range
    alone = all(share.interval is None for share in one.shares)
    known = "without replicates, run-to-run variation is unknown" if alone else None
    levels = "the numbers of clients measured"
    over = levels if alone else f"{levels} and the 95 % intervals of their replicates"
    largest = say(" or more")
    if high is not None:
        largest = say(" to {high}", high=count(high, f"largest over {over}"))
    return say(
        "Range: {low}{largest}, over {over}{note}.",
        low=count(low, f"smallest over {over}"),
        largest=largest,
        over=Name(over),
        note=say("; {why}", why=Name(known)) if known else NOTHING,
    )


def _filled(one: Extrapolated, full: Share) -> Sentence:
    """The sentence on the smallest measured number of clients that fill the link."""
    where = treatment_text(full.cell.treatment)
    share = 100 * full.mbps * full.clients / one.capacity.mbps
    return say(
        "Measured: {clients} fill {share} of it.",
        clients=_clients(full),
        share=plain(share, 0, "%", f"{one.metric.name} ÷ capacity of the link, {where}"),
    )


def _ceiling(one: Extrapolated) -> Sentence:
    """The largest throughput measured, and how many clients would reach it."""
    most = one.at_most_mbps
    clients = most / one.basis.mbps
    where = treatment_text(one.most.treatment)
    return say(
        "The largest throughput measured, {most} ({where}), is the throughput of {n} such clients.",
        most=plain(most, _DECIMALS, _UNIT, f"{one.metric.name}, {where}"),
        where=Name(where),
        n=plain(clients, 1, "", "largest throughput ÷ rate a client"),
    )


def _table(found: Concluded, drawn: Sequence[Extrapolated], table_id: str) -> Table:
    """One row for each measured number of clients: the rate per client, and the number of clients
    that would fill the link."""
    factors = list(dict.fromkeys(name for one in drawn for name in one.held))
    groups = (
        *(Group(name) for name in factors),
        Group("Clients measured"),
        Group("Rate a client", _UNIT, columns=("mean", "95 % interval")),
        Group("Link carries", _UNIT),
        Group("Clients per link", columns=("mean", "range")),
    )
    rows = tuple(
        (*(numeric_level(one.held.get(name), name) for name in factors), *_row(share, one))
        for one in drawn
        for share in one.shares
    )
    where = f" ({found.case})" if found.case != "main" else ""
    caption = say(
        "Clients per link: capacity of the link ÷ rate a client{where}", where=Name(where)
    )
    return Table(table_id, caption, groups, rows, stub=len(factors) + 1)


def _row(share: Share, one: Extrapolated) -> tuple[Value, ...]:
    where, capacity = treatment_text(share.cell.treatment), one.capacity.mbps
    rate = _each(share, one)
    interval = share.interval
    fits = (
        None
        if interval is None or interval.low <= 0
        else Interval(capacity / interval.high, capacity / interval.low)
    )
    return (
        count(share.clients, f"clients, {where}"),
        plain(rate.value, _DECIMALS, "", rate.source, interval),
        bare_interval(interval, _DECIMALS, f"95 % interval of the rate a client, {where}"),
        plain(capacity, 0, "", f"line rate × {one.capacity.counted}"),
        plain(share.fit_into(capacity), 2, "", f"capacity ÷ rate a client, {where}", fits),
        bare_interval(fits, 2, f"95 % interval of the clients per link, {where}"),
    )
