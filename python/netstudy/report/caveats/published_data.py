"""Sentences on published data that cannot be used, or that the study contradicts."""

from __future__ import annotations

from netstudy.analysis.caveats.published_data import (
    ContradictedOrder,
    ContradictoryValue,
    UncomparedTotal,
    UnreadReference,
)
from netstudy.analysis.cells import CellTable
from netstudy.analysis.intervals import decimals_of
from netstudy.analysis.named import metric_named
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.cellrefs import count, level_name, plain, treatment_text
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Sentence, say
from netstudy.study.reference_files import PublishedValue


@caveat_sentence.register
def unread_reference(found: UnreadReference) -> Sentence:
    """The problem of the reference data."""
    return say("{text}.", text=Name(found.problem))


@caveat_sentence.register
def contradicted_order(found: ContradictedOrder) -> Sentence:
    """Two levels that the published data order the other way round."""
    order = found.order
    return say(
        "In {metric} the published data put {level} and {base} the other way round in {n} of "
        "{total} rows that differ clearly: the model of one of them may be wrong.",
        metric=Name(order.metric.label),
        level=level_name(order.level),
        base=level_name(order.base),
        n=count(order.compared - order.same, "rows in the other order"),
        total=count(order.compared, "rows that differ by more than the noise on both sides"),
    )


@caveat_sentence.register
def contradictory_value(caveat: ContradictoryValue) -> Sentence:
    """A published loss count that is left out, and why."""
    found, cells = caveat.found, caveat.table
    value = found.value
    metric = metric_named(value.metric, cells.vocabulary)
    text = str(value.metric) if metric is None else metric.label
    return say(
        "The published row {row} contradicts itself: it has {value} for {metric} at {levels}"
        "{without}{repeats}. The value is left out.",
        row=Name(value.row, code=True),
        metric=Name(text),
        value=plain(value.value, decimals_of(value.rounding), "", f"{text}, {value.row}"),
        levels=Name(treatment_text(dict(value.levels))),
        without=Name(", where no packet was dropped" if found.without_drops else ""),
        repeats=NOTHING if found.repeats is None else _repeated(found.repeats, value, cells),
    )


def _repeated(repeats: PublishedValue, value: PublishedValue, cells: CellTable) -> Sentence:
    metric = metric_named(repeats.metric, cells.vocabulary)
    other = {name: one for name, one in repeats.levels.items() if value.levels.get(name) != one}
    return say(
        ", and the same digits for {metric}{at}",
        metric=Name(str(repeats.metric) if metric is None else metric.label),
        at=say(" at {levels}", levels=Name(treatment_text(other))) if other else NOTHING,
    )


@caveat_sentence.register
def uncompared_total(found: UncomparedTotal) -> Sentence:
    """Published totals whose phase has an unknown length."""
    return say(
        "The published {metric} is a total over a run of unknown length, so it is not compared: "
        "the reference can give the length as {measured} or the work as {counted}.",
        metric=Name(found.metric.label),
        measured=Name("measured", code=True),
        counted=Name("counted", code=True),
    )
