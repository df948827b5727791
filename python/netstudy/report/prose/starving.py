"""Caveats about users and connections that got nothing in the measuring phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.metrics import Metric
from netstudy.analysis.truncated import Starving
from netstudy.report.cellrefs import cell_number, count, metric_number
from netstudy.report.prose.words import value_range
from netstudy.report.refs import Name, Number, Sentence, say


def starved(found: Sequence[Starving], where: Sentence) -> Iterator[Sentence]:
    """How many got nothing. `where`: the cells by their levels."""
    counts = [one.starved for one in found if one.starved is not None and one.starved.number]
    if counts:
        noun = counts[0].noun
        yield say(
            "Over all runs, {n} of {of} {noun}s got nothing in the whole measuring phase in "
            "{cells}.",
            n=count(sum(one.number for one in counts), f"{noun}s that got nothing, all runs"),
            of=count(sum(one.of for one in counts), f"{noun}s of these cells, all runs"),
            noun=Name(noun),
            cells=where,
        )


def cut_off(found: Sequence[Starving], metric: Metric, where: Sentence) -> Iterator[Sentence]:
    """The mean of all users and that of the answered requests. `metric`: the mean response time."""
    rows = [one for one in found if one.answered is not None]
    everyone = [cell_number(one.row, metric, unit=True) for one in rows]
    if rows:
        yield say(
            "Unanswered requests are in no mean: in {cells} the {metric} is that of all users, "
            "{all}, by users ÷ throughput − think time; the mean of the answered requests would be "
            "{answered}. Percentiles and the other times there are of answered requests, and too "
            "low.",
            cells=where,
            metric=Name(metric.label),
            all=value_range([one for one in everyone if one is not None]),
            answered=value_range([_answered(one, metric) for one in rows]),
        )


def _answered(found: Starving, metric: Metric) -> Number:
    assert found.answered is not None, "the caller has looked"
    return metric_number(found.answered, metric, "mean of the answered requests")
