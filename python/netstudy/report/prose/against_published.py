"""Comparison of the study's own values with published ones, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from netstudy.analysis.agreement import Agreement, Beside, OrderAgreement, RatioAgreement
from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.intervals import Interval
from netstudy.analysis.layout import Panel
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.size_law import ImpliedSize
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.testbed import Here
from netstudy.report.cellrefs import (
    count,
    interval_number,
    level_name,
    metric_number,
    percent,
    plain,
)
from netstudy.report.numbers import full_level, number_text
from netstudy.report.prose.words import NOTHING, at_level, in_panel, on_level, x_levels
from netstudy.report.refs import Name, Number, Sentence, aside, join, say
from netstudy.units import rough_size
from netstudy.wire import Level

_LARGE_PCT = 5.0
"""In a study that declares no noise threshold, larger differences should be explained."""


def against_published(found: PanelResult, margin_pct: float | None) -> list[Sentence]:
    """How well the deciding metric agrees, why values differ, and contradictions within published
    rows."""
    if found.reference is None:
        return []
    panel, reference = found.panel, found.reference
    return [
        *_of_panel(found),
        *_off_zero(found),
        *_deviations(found, margin_pct or _LARGE_PCT),
        *_law(panel, reference),
        *_resent(found, reference.agreements),
    ]


def published_winners(result: StudyResult) -> list[Sentence]:
    """Where the publication has another level ahead than the study, in the deciding metric: one
    sentence for each level that the publication has ahead, over all panels. Only rows in which both
    differ clearly count; empty if there is no such row."""
    places: dict[Level, list[Sentence]] = {}
    for found in (one for case in result.cases for one in case.panels if one.reference is not None):
        assert found.reference is not None, "filtered"
        for order in found.reference.orders:
            if order.metric != result.deciding:
                continue
            for ahead, rows in order.reversed_at.items():
                places.setdefault(ahead, []).extend(_rows_of(found.panel, rows))
    is_won = result.deciding.direction != "neutral"
    return [
        say(
            "The published {order} differs{where}: there the publication has {level} {ahead}.",
            order=Name("winner" if is_won else "order"),
            where=say(" at {places}", places=join(where)) if where else NOTHING,
            level=level_name(level),
            ahead=Name("ahead" if is_won else "above"),
        )
        for level, where in places.items()
    ]


def _rows_of(panel: Panel, rows: Sequence[Level | None]) -> Iterator[Sentence]:
    """Rows of a panel with the levels that the panel holds: "3 and 4 servers (configuration 4 MB)".
    Empty for the only row of the only panel."""
    if panel.x is not None:
        yield say("{x}{held}", x=x_levels(panel, panel.x, rows), held=in_panel(panel))
    elif panel.fixed:
        yield join([Name(full_level(factor, level)) for factor, level in panel.fixed.items()])


def _of_panel(found: PanelResult) -> list[Sentence]:
    assert found.reference is not None, "without published values there is nothing to say"
    deciding = found.workload.deciding
    ones, here = found.reference.of(deciding), found.reference.here
    ratios = [ratio for ratio in found.reference.ratios if ratio.metric == deciding]
    return [
        *_errors(found.panel, ones, here),
        *(_fitted([found]) if found.has_fitted else ()),
        *(s for ratio in ratios for s in _ratio(found.panel, ratio, here)),
        *(_order(order, here) for order in found.reference.orders if order.metric == deciding),
    ]


def _errors(panel: Panel, ones: Sequence[Agreement], here: Here) -> Iterator[Sentence]:
    """The median error of each level, and the largest error of all levels, in one sentence."""
    told = [
        (one, one.median_abs_pct, one.worst, one.worst.error_pct)
        for one in ones
        if one.median_abs_pct is not None and one.worst and one.worst.error_pct is not None
    ]
    if not told:
        return
    parts = [
        say(
            "{middle}{on}",
            middle=percent(
                middle,
                f"median of |{here} − published| ÷ published, {one.metric.name}, {one.level}",
            ),
            on=on_level(panel, one.level),
        )
        for one, middle, _, _ in told
    ]
    one, _, worst, error = max(told, key=lambda each: abs(each[3]))
    yield say(
        "{metric} is off the published values by {parts} in the median; at worst by "
        "{error}{on}{at}.",
        metric=Name(one.metric.title),
        parts=join(parts),
        error=percent(error, f"({here} − published) ÷ published, {one.metric.name}, {one.level}"),
        on=on_level(panel, one.level) if len(told) > 1 else say(""),
        at=at_level(panel, worst.x),
    )


@dataclass(frozen=True, eq=False)
class _Row:
    """A published value with the study's own value, its metric and its panel."""

    panel: Panel
    agreement: Agreement
    row: Beside
    here: Here

    @property
    def size(self) -> float:
        """The error of the study's own value in percent, without its sign."""
        return abs(self.row.error_pct or 0.0)

    def named(self, *, first: bool = False) -> Sentence:
        """The metric with its levels; `first` says whether this is the beginning of a sentence."""
        metric = self.agreement.metric
        return say(
            "{metric}{on}{at}{held}",
            metric=Name(metric.title if first else metric.label),
            on=on_level(self.panel, self.agreement.level),
            at=at_level(self.panel, self.row.x),
            held=in_panel(self.panel),
        )

    def error(self) -> Number:
        """The error in percent of the published value."""
        one = self.agreement
        source = f"({self.here} − published) ÷ published, {one.metric.name}, {one.level}"
        return percent(self.row.error_pct or 0.0, source)


def _rows(panels: Sequence[PanelResult]) -> list[_Row]:
    """Every published value for which the study has a value of its own."""
    return [
        _Row(found.panel, one, row, found.reference.here)
        for found in panels
        if found.reference is not None
        for one in found.reference.agreements
        for row in one.rows
        if row.error_pct is not None
    ]


def _fitted(panels: Sequence[PanelResult]) -> Iterator[Sentence]:
    """The fitted value and the predicted value with the largest error, for profiles that were
    fitted to published values."""
    every = _rows(panels)
    for is_fitted, word in ((True, "fitted"), (False, "predicted")):
        own = [one for one in every if one.row.fitted == is_fitted]
        if not own:
            continue
        worst = max(own, key=lambda one: one.size)
        yield say(
            "Of {n} {word} {rows} the worst is {row}: {error}.",
            n=count(len(own), f"{word} published values"),
            word=Name(word),
            rows=Name("value" if len(own) == 1 else "values"),
            row=worst.named(),
            error=worst.error(),
        )


def _off_zero(found: PanelResult) -> Iterator[Sentence]:
    """The study's own values where the published value is 0, so that an error in percent cannot be
    computed."""
    assert found.reference is not None, "without published values there is nothing to say"
    panel, here = found.panel, found.reference.here
    parts = [
        say(
            "{row}: {value}",
            row=_Row(panel, one, row, here).named(),
            value=metric_number(row.own or 0.0, one.metric, f"{here}, {one.metric.name}"),
        )
        for one in found.reference.agreements
        for row in one.off_zero
        if number_text(row.own or 0.0, one.metric.decimals) != number_text(0.0, one.metric.decimals)
    ]
    if parts:
        yield say(
            "Where the published value is zero, an error in percent is undefined; the study’s own "
            "values there: {rows}.",
            rows=join(parts),
        )


def _deviations(found: PanelResult, large_pct: float) -> Iterator[Sentence]:
    """The study's reasons for values that differ from the published ones by more than the noise,
    and the values without a reason. Empty if the study gives no reasons at all."""
    every = _rows([found])
    if not any(one.row.because for one in every):
        return
    off = [one for one in every if one.size > large_pct]
    reasons = dict.fromkeys(one.row.because for one in off)
    for because in sorted(reasons, key=lambda text: text is None):
        own = [one for one in off if one.row.because == because]
        named = [one.named(first=because is not None and one is own[0]) for one in own]
        rows = join(
            [
                say("{row}, {error}", row=row, error=one.error())
                for row, one in zip(named, own, strict=True)
            ]
        )
        if because is None:
            yield say("Not explained: {rows}.", rows=rows)
        else:
            yield say("{rows}: {because}.", rows=rows, because=Name(because.rstrip(".")))


def implied_sentences(found: Sequence[ImpliedSize], here: Here) -> Iterator[Sentence]:
    """A published transfer size that contradicts the other sizes, and how far the study's own times
    are off at the size that the published times imply."""
    for level in dict.fromkeys(one.level for one in found):
        own = [one for one in found if one.level == level]
        sizes = [one.implied_bytes for one in own]
        metric, factor = own[0].metric, own[0].factor
        errors = [abs(one.implied_error_pct) for one in own if one.implied_error_pct is not None]
        if not errors:
            continue
        source = f"|{here} − published| ÷ published, {metric.name} at the implied size"
        yield say(
            "The published times of {level} would fit a size of {low} to {high} by the law of the "
            "other sizes; for that size the {here} {metric} is off by {error} at most.",
            level=Name(full_level(factor, level)),
            low=_size(min(sizes), "smallest implied size"),
            high=_size(max(sizes), "largest implied size"),
            metric=Name(metric.label),
            here=Name(here),
            error=percent(max(errors), source),
        )


def _size(size_bytes: float, source: str) -> Number:
    return Number(size_bytes, rough_size(round(size_bytes)), source)


def _order(order: OrderAgreement, here: Here) -> Sentence:
    return say(
        "{level} and {base} are in the published order in {same} of the {n} rows in which both the "
        "published and the {here} values differ clearly.",
        here=Name(here),
        level=level_name(order.level),
        base=level_name(order.base),
        same=count(order.same, f"rows in the same order, {order.metric.name}"),
        n=count(order.compared, "rows that differ by more than the noise on both sides"),
    )


def _ratio(panel: Panel, ratio: RatioAgreement, here: Here) -> Iterator[Sentence]:
    if ratio.published is None or ratio.own is None:
        return
    what = f"{ratio.metric.name}, {ratio.level} ÷ {ratio.base}"
    yield say(
        "{metric}{at}: {level} ÷ {base} is {published} in the published data and "
        "{simulated} here{interval}.",
        metric=Name(ratio.metric.title),
        at=at_level(panel, ratio.x),
        level=level_name(ratio.level),
        base=level_name(ratio.base),
        published=plain(ratio.published, 2, "", f"{what}, published"),
        simulated=plain(ratio.own, 2, "", f"{what}, {here}", ratio.interval),
        interval=_interval(ratio.interval, 2, f"Fieller, {what}"),
    )


def _interval(interval: Interval | None, decimals: int, source: str) -> Sentence:
    """The ends of the interval in brackets; empty without an interval."""
    ends = interval_number(interval, decimals, "", f"95 % interval, {source}")
    if ends is None:
        return NOTHING
    return aside(" (interval {ends})", ends=ends)


def _law(panel: Panel, reference: PanelReference) -> Iterator[Sentence]:
    """How many published rows break the law of the workload, and by how much."""
    law = reference.law
    if law is None or not reference.checked:
        return
    checked = count(
        reference.checked, f"published rows with {law.first.label} and {law.second.label}"
    )
    if not reference.broken:
        yield say(
            "In all {n} published rows {product} is the {result}, within rounding.",
            n=checked,
            product=Name(law.text),
            result=Name(law.result),
        )
        return
    rows = [
        say(
            "{ratio} of the {result}{on}{at}",
            ratio=plain(100 * row.ratio, 2, "%", f"published {law.text} ÷ {law.result}"),
            result=Name(law.result),
            on=on_level(panel, row.level),
            at=at_level(panel, row.x),
        )
        for row in reference.broken
    ]
    yield say(
        "Of {n} published rows, {k} break the law {product} = {result} beyond rounding: {rows}.",
        product=Name(law.text),
        result=Name(law.result),
        n=checked,
        k=count(len(rows), "published rows that break the law"),
        rows=join(rows),
    )


def _resent(found: PanelResult, agreements: Sequence[Agreement]) -> Iterator[Sentence]:
    """The published number of retransmissions per dropped packet. If it is below one, the counts
    cannot be right."""
    parts = []
    for level in found.panel.series_levels:
        drops = _published_sum(agreements, found.workload.drops.name, level)
        again = _published_sum(agreements, found.workload.retransmissions.name, level)
        if drops and again is not None:
            ratio = plain(again / drops, 2, "", "sum of published retransmissions ÷ drops")
            parts.append(say("{ratio}{on}", ratio=ratio, on=on_level(found.panel, level)))
    here = found.causes.retransmissions_per_drop
    if parts and here is not None:
        yield say(
            "Retransmissions per dropped packet: {parts} as published, {here} here. Fewer than one "
            "would mean that lost data were never retransmitted.",
            parts=join(parts),
            here=plain(here, 2, "", "retransmissions ÷ dropped packets, sums over all cells"),
        )


def _published_sum(agreements: Sequence[Agreement], name: str, level: object) -> float | None:
    found = [one for one in agreements if one.metric.name == name and one.level == level]
    if not found:
        return None
    return sum(row.published for row in found[0].rows if row.published is not None)


def fitted_note(fitted: Mapping[str, Sequence[str]]) -> Sentence | None:
    """A note that some figures of the profiles were fitted to data; None if no figure was."""
    if not fitted:
        return None
    parts = [
        say("{figures} of {profile}", figures=join([Name(f) for f in figures]), profile=Name(name))
        for name, figures in fitted.items()
    ]
    return say(
        "{n} figures of the hardware profiles were fitted to data, which the appendix names: "
        "{parts}. Where the data are the published values themselves, agreement with them is no "
        "independent evidence.",
        n=count(sum(len(f) for f in fitted.values()), "figures whose source is “fitted”"),
        parts=join(parts),
    )
