"""Comparison of the study's own values with published ones, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from netstudy.analysis.agreement import Agreement, OrderAgreement, RatioAgreement
from netstudy.analysis.intervals import Interval
from netstudy.analysis.layout import Panel
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.study_result import PanelResult
from netstudy.analysis.testbed import Here
from netstudy.report.cellrefs import (
    count,
    interval_text,
    level_name,
    percent,
    plain,
)
from netstudy.report.prose.words import NOTHING, at_level, on_level
from netstudy.report.refs import Name, Number, Sentence, join, say


def against_published(found: PanelResult) -> list[Sentence]:
    """The deciding metric in words, and inconsistencies of the published rows."""
    if found.reference is None:
        return []
    panel, reference = found.panel, found.reference
    return [
        *published_summary(found),
        *_law(panel, reference),
        *_resent(found, reference.agreements),
    ]


def published_summary(found: PanelResult) -> list[Sentence]:
    """The agreement in the deciding metric, for the executive summary."""
    if found.reference is None:
        return []
    deciding = found.workload.deciding
    ones, here = found.reference.of(deciding), found.reference.here
    ratios = [ratio for ratio in found.reference.ratios if ratio.metric == deciding]
    return [
        *_errors(found.panel, ones, here),
        *_fitted(found, here),
        *(s for ratio in ratios for s in _ratio(found.panel, ratio, here)),
        *(_order(order, here) for order in found.reference.orders if order.metric == deciding),
    ]


def _errors(panel: Panel, ones: Sequence[Agreement], here: Here) -> Iterator[Sentence]:
    """The median error of each level, and the largest of all, in one sentence."""
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


def _fitted(found: PanelResult, here: Here) -> Iterator[Sentence]:
    """Rows that a profile was fitted on apart from those that it predicts, each at its worst."""
    assert found.reference is not None, "without published values there is nothing to say"
    ones = found.reference.agreements
    if not any(row.fitted for one in ones for row in one.rows):
        return
    for is_fitted, word in ((True, "fitted"), (False, "predicted")):
        worst = [(one, row) for one in ones if (row := one.worst_of(fitted=is_fitted)) is not None]
        if not worst:
            continue
        one, row = max(worst, key=lambda each: abs(each[1].error_pct or 0.0))
        rows = sum(row.fitted == is_fitted for each in ones for row in each.rows)
        source = f"({here} − published) ÷ published, {one.metric.name}, {one.level}"
        yield say(
            "Of {n} {word} {rows} the worst is {metric}{on}{at}: {error}.",
            n=count(rows, f"{word} published values"),
            word=Name(word),
            rows=Name("value" if rows == 1 else "values"),
            metric=Name(one.metric.label),
            on=on_level(found.panel, one.level),
            at=at_level(found.panel, row.x),
            error=percent(row.error_pct or 0.0, source),
        )


def _order(order: OrderAgreement, here: Here) -> Sentence:
    return say(
        "{level} and {base} stand in the published order in {same} of the {n} rows in which "
        "both the values published and those {here} differ clearly.",
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
        simulated=plain(ratio.own, 2, "", f"{what}, {here}"),
        interval=_interval(ratio.interval, 2, f"Fieller, {what}"),
    )


def _interval(interval: Interval | None, decimals: int, source: str) -> Sentence:
    """The ends of the interval in brackets; empty without an interval."""
    if interval is None:
        return NOTHING
    middle = (interval.low + interval.high) / 2
    ends = Number(middle, interval_text(interval, decimals), f"95 % interval, {source}")
    return say(" (interval {ends})", ends=ends)


def _law(panel: Panel, reference: PanelReference) -> Iterator[Sentence]:
    """Whether published rows keep the law of the workload, row by row."""
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
    """Published retransmissions for each dropped packet: fewer than one cannot be a correct
    count."""
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
            "Retransmissions a dropped packet: {parts} as published, {here} here. Fewer than one "
            "would mean data that were lost and never sent again.",
            parts=join(parts),
            here=plain(here, 2, "", "retransmissions ÷ dropped packets, sums over all cells"),
        )


def _published_sum(agreements: Sequence[Agreement], name: str, level: object) -> float | None:
    found = [one for one in agreements if one.metric.name == name and one.level == level]
    if not found:
        return None
    return sum(row.published for row in found[0].rows if row.published is not None)


def fitted_note(fitted: Mapping[str, Sequence[str]]) -> Sentence | None:
    """A note that some figures of the profiles were fitted to data; None if none was."""
    if not fitted:
        return None
    parts = [
        say("{figures} of {profile}", figures=join([Name(f) for f in figures]), profile=Name(name))
        for name, figures in fitted.items()
    ]
    return say(
        "{n} figures of the hardware profiles were fitted on data: {parts}. The appendix says on "
        "which. Where these are the published values themselves, agreement with them is no "
        "independent evidence.",
        n=count(sum(len(f) for f in fitted.values()), "figures whose source is “fitted”"),
        parts=join(parts),
    )
