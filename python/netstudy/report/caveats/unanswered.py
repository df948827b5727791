"""Sentences on cells with many unanswered requests."""

from __future__ import annotations

from netstudy.analysis.caveats.unanswered import MeanOfAllUsers, StarvedUsers, Unanswered
from netstudy.analysis.metrics import Metric
from netstudy.analysis.starving import Starving
from netstudy.report.caveats.base import caveat_sentence, named_cells
from netstudy.report.cellrefs import cell_number, count, metric_number
from netstudy.report.prose.words import value_range
from netstudy.report.refs import Name, Number, Sentence, say


@caveat_sentence.register
def unanswered(found: Unanswered) -> Sentence:
    """The share of unanswered requests, and why percentiles may be too low."""
    shares = [cell_number(row, found.share, unit=True) for row in found.cells]
    return say(
        "{what} in {cells}: {share}. They have no latency, so that percentiles and means may be "
        "too low there.",
        what=Name(found.share.title),
        cells=_of_all(len(found.cells), found.of),
        share=value_range([one for one in shares if one is not None]),
    )


@caveat_sentence.register
def starved_users(caveat: StarvedUsers) -> Sentence:
    """How many got nothing."""
    counts = [one.starved for one in caveat.found if one.starved is not None]
    noun = counts[0].noun
    return say(
        "Over all runs, {n} of {of} {noun}s got nothing in the whole measuring phase in {cells}.",
        n=count(sum(one.number for one in counts), f"{noun}s that got nothing, all runs"),
        of=count(sum(one.of for one in counts), f"{noun}s of these cells, all runs"),
        noun=Name(noun),
        cells=named_cells([one.row for one in caveat.found], caveat.table),
    )


@caveat_sentence.register
def mean_of_all_users(caveat: MeanOfAllUsers) -> Sentence:
    """The mean of all users and that of the answered requests."""
    metric, found = caveat.response, caveat.found
    everyone = [cell_number(one.row, metric, unit=True) for one in found]
    return say(
        "Means leave out unanswered requests: in {cells} the {metric} is therefore computed for "
        "all users, {all}, as users ÷ throughput − think time; the mean of the answered requests "
        "would be {answered}. Percentiles and other times there cover only answered requests, and "
        "are too low.",
        cells=named_cells([one.row for one in found], caveat.table),
        metric=Name(metric.label),
        all=value_range([one for one in everyone if one is not None]),
        answered=value_range([_answered(one, metric) for one in found]),
    )


def _answered(found: Starving, metric: Metric) -> Number:
    assert found.answered is not None, "only such cells are in the caveat"
    return metric_number(found.answered, metric, "mean of the answered requests")


def _of_all(some: int, total: int) -> Sentence:
    if some == total:
        return say("every cell" if total > 1 else "the only cell")
    return say(
        "{n} of {total} cells",
        n=count(some, "cells with unanswered requests"),
        total=count(total, "cells of the plan"),
    )
