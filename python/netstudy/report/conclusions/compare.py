"""`compare`: the levels of a factor against a base, and whether gains have a cost."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.compare import Compared, TradeOff
from netstudy.analysis.effects import PairEffect
from netstudy.report.cellrefs import plain
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.conclusions.bundle import bundle_sentence
from netstudy.report.conclusions.levels import levels_sentences, ratios_tables
from netstudy.report.numbers import level_text
from netstudy.report.prose.words import NOTHING, named
from netstudy.report.refs import Name, Sentence, join, say
from netstudy.report.tables import Table


class ComparePage(ConclusionPage[Compared]):
    """The levels of a factor against a base."""

    kind = Compared
    subject = "comparison"

    def sentences(self, drawn: Compared, found: Concluded) -> Iterator[Sentence]:
        """Each pair of levels, trade-offs, and levels that differ in several things."""
        for one in drawn.levels:
            yield from levels_sentences(one, found.at)
        yield from map(_trade_off, drawn.trade_offs)
        yield from map(bundle_sentence, drawn.bundles)
        if drawn.unmeasured:
            names = join([Name(str(name), code=True) for name in drawn.unmeasured])
            yield say("Not measured, and so not compared: {names}.", names=names)

    def tables(self, drawn: Compared, found: Concluded, key: str) -> Iterator[Table]:
        """The ratio at each setting."""
        return ratios_tables(drawn.compared, found.at, key)


def _trade_off(one: TradeOff) -> Sentence:
    """Whether one level leads in some metrics and falls behind in others."""
    parts = join([_stands(pair) for pair in one.pairs])
    if one.is_open:
        template = "Whether {a} against {b} is a trade-off is not decided: {parts}."
    elif len(one.leaders) > 1:
        template = "A trade-off: {a} against {b} has {parts}."
    elif one.leaders:
        template = (
            "No trade-off: {leader} {leader:falls} behind in no metric; {a} against {b} has "
            "{parts}."
        )
    else:
        template = "No trade-off: {a} and {b} are equal in every metric; {parts}."
    return say(
        template,
        a=named(one.factor, one.level),
        b=named(one.factor, one.base),
        leader=named(one.factor, one.leaders[0]) if one.leaders else NOTHING,
        parts=parts,
    )


def _stands(pair: PairEffect) -> Sentence:
    """How a metric at one level compares with the same metric at the other level."""
    source = f"{pair.metric.name}, {level_text(pair.level)} and {level_text(pair.base)}"
    if pair.scale == "ratio":
        ratio = plain(pair.change, 2, "", f"geometric mean of ratios, {source}")
        return say("{ratio} times the {metric}", ratio=ratio, metric=Name(pair.metric.label))
    unit = "percentage points" if pair.metric.is_share else pair.metric.unit
    more = Name("more" if pair.change >= 0 else "less")
    decimals = max(1, pair.metric.decimals)
    difference = plain(abs(pair.change), decimals, unit, f"mean difference, {source}")
    return say(
        "{difference} {more} {metric}",
        difference=difference,
        more=more,
        metric=Name(pair.metric.label),
    )
