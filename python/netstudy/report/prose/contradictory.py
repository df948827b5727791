"""The caveat on published loss counts that contradict their own row, in a sentence."""

from __future__ import annotations

from netstudy.analysis.cells import CellTable
from netstudy.analysis.intervals import decimals_of
from netstudy.analysis.named import metric_named
from netstudy.report.cellrefs import plain, treatment_text
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Sentence, say
from netstudy.study.published_values import Contradictory
from netstudy.study.reference_files import PublishedValue


def contradictory(found: Contradictory, cells: CellTable) -> Sentence:
    """A published loss count that is left out, and why."""
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
