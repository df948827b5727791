"""The section of a report on distributions: figures, percentiles, and samples with a timeout.

It shows the cells at a few levels of x (chosen by `analysis.panel_distributions`). If there are
several panels, all have tables, but only the panel whose values differ most has figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netstudy.analysis.case_result import CaseResult, PanelResult
from netstudy.analysis.intervals import Estimate
from netstudy.analysis.order_statistics import Lacking
from netstudy.analysis.panel_distributions import (
    PERCENTILES,
    CellSamples,
    Hump,
    PanelDistribution,
    distributions_of,
    spread_of,
)
from netstudy.analysis.study_result import DistributionFigure
from netstudy.report.cellrefs import (
    count,
    interval_number,
    interval_quantity,
    plain,
    treatment_text,
)
from netstudy.report.charts.distributions import (
    Plot,
    box_chart,
    course_chart,
    ecdf_chart,
    histogram_chart,
)
from netstudy.report.numbers import counted, level_text, measured
from netstudy.report.prose.words import at_level, in_panel, on_level, things
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import Group, Table, Value, bare_interval, numeric_level
from netstudy.study.outcome import DistributionKind

_CHARTS = {
    "ecdf": ecdf_chart,
    "box": box_chart,
    "histogram": histogram_chart,
    "samples over time": course_chart,
}
_FROM_RUNS = "†"
NAMES = {0.5: "median", 0.9: "90th", 0.95: "95th", 0.99: "99th", 0.999: "99.9th"}
"""Names of percentiles in sentences and headings."""


@dataclass(frozen=True)
class DrawnDistribution:
    """A figure: the end of its file name, its alternative text, and its chart."""

    name: str
    alt: str
    plot: Plot


@dataclass(frozen=True)
class DistributionPart:
    """The sentences, figures and tables on the samples of one quantity in a panel."""

    sentences: tuple[Sentence, ...]
    figures: tuple[DrawnDistribution, ...]
    tables: tuple[Table, ...]


def distribution_parts(
    found: PanelResult, case: CaseResult, asked: Sequence[DistributionFigure], key: str
) -> Iterator[DistributionPart]:
    """Sentences, figures and tables for each sampled quantity of a panel. `asked` are the figures
    that the study asks for, which replace the default ones."""
    own = [one for one in asked if one.case in (None, case.name)]
    for one in distributions_of(found.panel, found.workload, found.verdicts):
        lacking = [cell.percentiles[0.5] for cell in one.cells]
        is_asked = any(figure.metric == one.mean for figure in own)
        if not is_asked and all(isinstance(median, Lacking) for median in lacking):
            yield DistributionPart((_too_few(one),), (), ())
            continue
        most = max(case.panels, key=lambda panel: spread_of(panel.panel, one.mean))
        figures = _figures(one, own) if found is most else iter(())
        yield DistributionPart(
            tuple(_sentences(one, alone=len(case.panels) == 1, is_drawn=found is most)),
            tuple(figures),
            tuple(_tables(one, f"{key}-{one.mean.figure}")),
        )


def _too_few(found: PanelDistribution) -> Sentence:
    """The sentence for a quantity without a distribution, since no cell has enough samples for the
    interval of a median."""
    most = max(one.found.count for one in found.cells)
    needed = max(
        median.needed for one in found.cells if isinstance(median := one.percentiles[0.5], Lacking)
    )
    noun = found.quantity.noun
    return say(
        "{what}: no percentiles, since a cell has {n} at most, and a median needs {needed}.",
        what=Name(found.mean.title),
        n=things(count(most, f"most {noun}s of a cell"), noun),
        needed=count(needed, f"fewest {noun}s that carry a median"),
    )


def _figures(
    found: PanelDistribution, asked: Sequence[DistributionFigure]
) -> Iterator[DrawnDistribution]:
    kinds: list[tuple[DistributionKind, str | None]] = [
        (one.kind, one.title) for one in asked if one.metric == found.mean
    ]
    for kind, title in kinds if asked else [(kind, None) for kind in _usual(found)]:
        plot = _CHARTS[kind](found, title)
        name = f"{found.mean.figure}-{kind.replace(' ', '-')}"
        cells = found.at_focus() if kind == "samples over time" else found.cells
        yield DrawnDistribution(name, _alt(found, cells, plot), plot)


def _usual(found: PanelDistribution) -> Iterator[DistributionKind]:
    yield "ecdf"
    yield "box"
    if found.has_humps:
        yield "histogram"
    if found.quantity.values is not None:
        yield "samples over time"


def _alt(found: PanelDistribution, cells: Sequence[CellSamples], plot: Plot) -> str:
    medians = [
        f"{_where(found, one)}: median "
        f"{measured(one.found.quantile(0.5), found.mean.decimals).in_unit(found.mean.unit)}"
        for one in cells
    ]
    return f"{plot.title}: {plot.subtitle}. {'; '.join(medians)}."


def _where(found: PanelDistribution, one: CellSamples) -> str:
    panel = found.panel
    parts = [
        level_text(one.level) if panel.series else "",
        counted(panel.x, level_text(one.x)) if panel.x else "",
    ]
    return ", ".join(part for part in parts if part) or found.mean.label


def _sentences(found: PanelDistribution, *, alone: bool, is_drawn: bool) -> Iterator[Sentence]:
    if found.has_humps:
        yield from (_humps(found, one) for one in found.at_focus() if one.humps is not None)
    if len(found.shown) < len(found.panel.x_levels):
        differ = " and where cells differ most" if len(found.panel.series_levels) > 1 else ""
        yield say(
            "Shown at {x}, among them the ends of the range{differ}. The samples of every level: "
            "{command}.",
            differ=Name(differ),
            x=join([Name(counted(found.panel.x or "", level_text(x))) for x in found.shown]),
            command=Name(f"netstudy export --samples {found.quantity.noun}", code=True)
            if found.quantity.values is not None
            else Name("netstudy export --samples request", code=True),
        )
    if is_drawn and not alone:
        yield say("Figures show this combination, in which the cells differ most.")


def _humps(found: PanelDistribution, one: CellSamples) -> Sentence:
    """For example: iterations with a retransmission timeout: 38 % (95 % CI 35 to 41 %), median 214
    ms; without: median 12.3 ms."""
    assert one.humps is not None, "only cells with a timeout are told"
    humps, place = one.humps, treatment_text(one.cell.treatment)
    nouns = f"{found.quantity.noun}s"
    return say(
        "{nouns} with a retransmission timeout{on}{at}: {share}{ci}, {waited}; without: {other}.",
        nouns=Name(nouns.capitalize()),
        on=on_level(found.panel, one.level),
        at=at_level(found.panel, one.x),
        share=plain(
            humps.share.value,
            1,
            "%",
            f"share of {nouns} with a timeout, {place}",
            humps.share.interval,
        ),
        ci=_ci(humps.share, 1, "%", place),
        waited=_median(found, humps.waited, place),
        other=_median(found, humps.other, place),
    )


def _ci(found: Estimate, decimals: int, unit: str, place: str) -> Sentence:
    number = interval_number(found.interval, decimals, unit, f"95 % interval, {place}")
    if number is None:
        return Sentence(())
    return say(" ({level} CI {interval})", level=Name("95 %"), interval=number)


def _median(found: PanelDistribution, hump: Hump | None, place: str) -> Sentence:
    if hump is None:
        return say("none")
    if hump.median is None:
        n = count(hump.samples.count, f"samples, {place}")
        return say("{n}, too few for a median", n=n)
    value = plain(
        hump.median.value,
        found.mean.decimals,
        found.mean.unit,
        f"median, {place}",
        hump.median.interval,
    )
    return say("median {value}", value=value)


def _tables(found: PanelDistribution, key: str) -> Iterator[Table]:
    yield _percentiles_table(found, f"{key}-percentiles")
    if found.has_humps:
        yield _humps_table(found, f"{key}-timeouts")


def _head(found: PanelDistribution) -> tuple[Group, ...]:
    panel = found.panel
    return tuple(Group(name) for name in (panel.x, panel.series) if name is not None)


def _stub(found: PanelDistribution, one: CellSamples) -> tuple[Value, ...]:
    panel = found.panel
    pairs = ((panel.x, one.x), (panel.series, one.level))
    return tuple(numeric_level(level, name) for name, level in pairs if name is not None)


def _percentiles_table(found: PanelDistribution, key: str) -> Table:
    nouns = f"{found.quantity.noun}s"
    head = _head(found)
    columns = ("value", "95 % interval")
    groups = (
        *head,
        Group("n", nouns),
        Group("Runs"),
        *(Group(_heading(q), found.mean.unit, columns=columns) for q in PERCENTILES),
    )
    rows = tuple(
        (
            *_stub(found, one),
            count(one.found.count, f"{nouns}, {treatment_text(one.cell.treatment)}"),
            count(one.runs, f"runs, {treatment_text(one.cell.treatment)}"),
            *(value for q in PERCENTILES for value in _percentile(found, one, q)),
        )
        for one in found.cells
    )
    caption = say(
        "Percentiles of the {what}{held}", what=Name(found.mean.label), held=in_panel(found.panel)
    )
    return Table(key, caption, groups, rows, stub=len(head), notes=tuple(_notes(found)))


def _heading(q: float) -> str:
    return "Median" if q == 0.5 else f"p{100 * q:g}"


def _percentile(found: PanelDistribution, one: CellSamples, q: float) -> tuple[Value, Value]:
    estimate, decimals = one.percentiles[q], found.mean.decimals
    if isinstance(estimate, Lacking):
        return Name("too few"), None
    source = f"{NAMES[q]} percentile, {treatment_text(one.cell.treatment)}"
    kind, mark = ("of all samples", "") if estimate.from_samples else ("over the runs", _FROM_RUNS)
    shown = interval_quantity(estimate.interval, decimals, f" {mark}" if mark else "")
    value = plain(estimate.value, decimals, "", source, estimate.interval)
    if shown is None:
        return value, None
    return value, Number.of(sum(shown.values) / 2, shown, f"{source}; {kind}")


def _notes(found: PanelDistribution) -> Iterator[Sentence]:
    noun = found.quantity.noun
    yield say(
        "n counts {nouns} of all runs. Intervals come from order statistics, which assume "
        "independent {nouns}; {mark}: Student’s interval over the runs, where it is wider.",
        nouns=Name(f"{noun}s"),
        mark=Name(_FROM_RUNS),
    )
    lacking = [
        (q, one.percentiles[q])
        for q in PERCENTILES
        for one in found.cells
        if isinstance(one.percentiles[q], Lacking)
    ]
    # A percentile needs the same number of samples in every cell, so one note covers all cells.
    for q in dict.fromkeys(q for q, _ in lacking):
        lacks = [one for own, one in lacking if own == q and isinstance(one, Lacking)]
        yield say(
            "The {name} needs {needed} {nouns}; {cells} of these cells have fewer.",
            name=Name("median" if q == 0.5 else f"{NAMES[q]} percentile"),
            needed=count(lacks[0].needed, f"fewest {noun}s that carry it"),
            nouns=Name(f"{noun}s"),
            cells=count(len(lacks), "cells with fewer"),
        )
    if found.quantity.values is None:
        yield say(
            "Latencies are kept in histograms: a value is the highest of its bucket, exact to one "
            "part in a thousand."
        )


def _humps_table(found: PanelDistribution, key: str) -> Table:
    nouns = f"{found.quantity.noun}s"
    head = _head(found)
    columns = (nouns, "median", "95 % interval")
    groups = (
        *head,
        Group("Share with a timeout", "%", columns=("share", "95 % interval")),
        Group("With a retransmission timeout", found.mean.unit, columns=columns),
        Group("Without one", found.mean.unit, columns=columns),
    )
    rows = tuple(_hump_row(found, one) for one in found.cells)
    caption = say(
        "{nouns} with and without a retransmission timeout{held}",
        nouns=Name(nouns.capitalize()),
        held=in_panel(found.panel),
    )
    return Table(key, caption, groups, rows, stub=len(head))


def _hump_row(found: PanelDistribution, one: CellSamples) -> tuple[Value, ...]:
    place = treatment_text(one.cell.treatment)
    if one.humps is None:
        return (*_stub(found, one), *(None,) * 8)
    share = one.humps.share
    return (
        *_stub(found, one),
        plain(share.value, 1, "", f"share with a timeout, {place}", share.interval),
        bare_interval(share.interval, 1, f"95 % interval, {place}"),
        *_hump_values(found, one.humps.waited, f"with a timeout, {place}"),
        *_hump_values(found, one.humps.other, f"without a timeout, {place}"),
    )


def _hump_values(found: PanelDistribution, hump: Hump | None, place: str) -> tuple[Value, ...]:
    if hump is None:
        return count(0, place), None, None
    n = count(hump.samples.count, place)
    if hump.median is None:
        return n, Name("too few"), None
    decimals = found.mean.decimals
    value = plain(hump.median.value, decimals, "", f"median, {place}", hump.median.interval)
    source = f"95 % interval, median, {place}"
    return n, value, bare_interval(hump.median.interval, decimals, source)
