"""`first repetition`: whether the first repetition differs from the later ones."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.first_repetition import Repetitions
from netstudy.report.caveats.few_repetitions import least_repetitions
from netstudy.report.cellrefs import count, plain, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.numbers import significant_text
from netstudy.report.prose.words import things
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.study.conclusions.base import Conclusion

_TOLD = 3
"""At most this number of first repetitions that stand out are listed."""


class RepetitionPage(ConclusionPage[Repetitions]):
    """Whether first repetitions stand out."""

    kind = Repetitions

    def sentences(self, drawn: Repetitions, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The settings whose first repetition stands out, and the spread of the later ones."""
        return _repetitions(drawn)

    def not_drawn(self, asked: Conclusion) -> Sentence:
        """Too few repetitions."""
        least = least_repetitions(asked.repetitions_min)
        return say("Not drawn: it needs {least} of a setting or more.", least=least)


def _repetitions(one: Repetitions) -> Iterator[Sentence]:
    cells = things(count(one.cells, "cells with three repetitions or more"), "setting")
    if one.alike:
        yield say(
            "All repetitions of {n} gave the same {metric}, so no variation can be judged there.",
            n=things(count(one.alike, "cells whose repetitions are all alike"), "setting"),
            metric=Name(one.metric.label),
        )
    if not one.cells:
        return
    if one.apart:
        yield say(
            "The first repetition stands out in {n} of {cells}.",
            n=count(len(one.apart), "settings whose first repetition stands out"),
            cells=cells,
        )
    else:
        yield say("No first repetition stands out in {cells}.", cells=cells)
    for row, ratio in one.apart[:_TOLD]:
        source = (
            f"first ÷ mean of later repetitions, {one.metric.name}, {treatment_text(row.treatment)}"
        )
        yield say(
            "{where}: the {metric} of the first repetition is {ratio} times the mean of the later "
            "ones.",
            where=Name(treatment_text(row.treatment)),
            metric=Name(one.metric.label),
            ratio=plain(ratio, 2, "", source),
        )
    if one.spread_pct is not None:
        text = f"{significant_text(one.spread_pct, 2)}\u00a0%"
        source = "standard deviation of later repetitions, pooled over the settings"
        yield say(
            "Later repetitions scatter by {spread}.", spread=Number(one.spread_pct, text, source)
        )
