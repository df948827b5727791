"""Tables as data: a two-level header, rows of values with their sources, and empty cells for
missing values.

The same table is rendered to HTML, Markdown and the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from netstudy.analysis.causes import Causes, Link, Scope
from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import CONFIDENCE, Interval
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.order_statistics import Lacking
from netstudy.analysis.verdict import Comparison, Outcome, VerdictTable
from netstudy.report import cellrefs
from netstudy.report.cellrefs import (
    RATIO_DECIMALS,
    cell_number,
    half_width,
    interval_quantity,
    level_name,
    p_number,
    plain,
    ratio_number,
    ratio_source,
)
from netstudy.report.numbers import (
    MARGIN,
    NO_BREAK,
    Quantity,
    Scale,
    full_level,
    headed_level,
    level_text,
    measured,
    scale_of,
    small_decimals,
    telling_decimals,
)
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.wire import Level

Value = Number | Name | Sentence | None


@dataclass(frozen=True)
class Verdict(Name):
    """A verdict in a table; outputs may colour it by its outcome."""

    outcome: Outcome = "undecided"


@dataclass(frozen=True)
class Trend(Name):
    """The values of a column from the first row to the last, as a line of small bars."""


@dataclass(frozen=True)
class Group:
    """Columns under one heading. Without sub-headings it is one column."""

    heading: str
    unit: str = ""
    better: str = ""
    """Which direction is better, in words."""
    columns: tuple[str, ...] = ()
    meaning: str = ""
    """The meaning of the values: the base of 100 %, or numerator ÷ denominator."""
    keeps_unit: bool = False
    """Whether the unit must not be changed, since the study sets the digits for the metric's own
    unit."""

    @property
    def note(self) -> str:
        """The note next to the heading, for outputs with room for it."""
        return "; ".join(part for part in (self.meaning, self.better) if part)

    @property
    def width(self) -> int:
        """Number of columns of the group."""
        return max(1, len(self.columns))


@dataclass(frozen=True)
class Table:
    """A table; the first `stub` groups are the headers of its rows."""

    id: str
    caption: Sentence
    groups: tuple[Group, ...]
    rows: tuple[tuple[Value, ...], ...]
    stub: int = 1
    sortable: bool = True
    notes: tuple[str | Sentence, ...] = ()
    """Sentences under the table; each is about marked cells or the whole table."""

    def __post_init__(self) -> None:
        """Converts the values of each group to the group's most readable unit."""
        # `strict` is False because `starts` has one entry even if there are no groups.
        for group, first in zip(self.groups, sorted(self.starts), strict=False):
            scale = scale_of(group.unit, self._magnitudes(group, first))
            if scale.power:
                self._scale(group, first, scale)

    def _magnitudes(self, group: Group, first: int) -> Iterator[float]:
        for row in () if group.keeps_unit else self.rows:
            for value in row[first : first + group.width]:
                if isinstance(value, Number) and value.shown is not None:
                    yield from value.shown.values

    def _scale(self, group: Group, first: int, scale: Scale) -> None:
        columns = range(first, first + group.width)
        rows = tuple(
            tuple(
                value.scaled(scale.power) if at in columns and isinstance(value, Number) else value
                for at, value in enumerate(row)
            )
            for row in self.rows
        )
        groups = tuple(
            replace(one, unit=scale.unit) if one is group else one for one in self.groups
        )
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "groups", groups)

    @property
    def footnotes(self) -> tuple[str | Sentence, ...]:
        """All notes, including the notes of headings, for outputs whose headings have no room for
        them."""
        meanings = (f"{one.heading}: {one.meaning}." for one in self.groups if one.meaning)
        return (*meanings, *self.notes_below)

    @property
    def notes_below(self) -> tuple[str | Sentence, ...]:
        """The notes of the table, and the meaning of ± if any cell has a margin."""
        has_margins = any(MARGIN in str(value) for row in self.rows for value in row)
        return (*self.notes, _MARGIN_NOTE) if has_margins else self.notes

    @cached_property
    def starts(self) -> frozenset[int]:
        """The indices of the columns that start a group."""
        return frozenset(accumulate((group.width for group in self.groups[:-1]), initial=0))

    @property
    def two_levels(self) -> bool:
        """Whether any heading has sub-headings."""
        return any(group.columns for group in self.groups)


_MARGIN_NOTE = say(
    "±: half of the {level} confidence interval; of an uneven one, its longer side.",
    level=plain(100 * CONFIDENCE, 0, "%", "confidence of all intervals"),
)


def unrepeated(tables: Iterable[Table]) -> tuple[Table, ...]:
    """The tables without repetitions: a table with exactly the same values as an earlier one is
    left out, and a note under the earlier one mentions it. Tables without numbers are always
    kept."""
    kept: dict[object, Table] = {}
    for table in tables:
        has_figures = any(isinstance(v, Number) for row in table.rows for v in row[table.stub :])
        key = tuple(tuple(map(str, row)) for row in table.rows) if has_figures else table.id
        first = kept.get(key)
        if first is None:
            kept[key] = table
        else:
            note = say("{other}: the same figures, to the digit.", other=table.caption)
            kept[key] = replace(first, notes=(*first.notes, note))
    return tuple(kept.values())


def numeric_level(level: Level | None, factor: str | None) -> Value:
    """A level as the header of a row; a numeric level sorts by its value."""
    if isinstance(level, int | float) and not isinstance(level, bool):
        return Number(float(level), level_text(level), f"level of {factor}")
    return None if level is None else level_name(level)


def results_table(
    panel: Panel,
    metrics: Sequence[Metric],
    table_id: str,
    caption: Sentence,
) -> Table:
    """The usual layout of publications: x, then for each metric one column for each level of the
    series. Values have the half width of their 95 % interval."""
    levels = panel.series_levels
    subs = _series_heads(panel)
    head = Group(panel.x or panel.series or "")
    groups = [Group(m.title, m.unit, m.better, subs) for m in metrics]
    digits = {metric: cellrefs.column_decimals(panel.cells.values(), metric) for metric in metrics}
    rows = tuple(
        (
            numeric_level(x, panel.x),
            *(
                _cell_value(panel.cell(x, level), metric, digits[metric])
                for metric in metrics
                for level in levels
            ),
        )
        for x in panel.x_levels
    )
    if panel.x is None:
        return Table(table_id, caption, tuple(groups), tuple(row[1:] for row in rows), stub=0)
    return Table(table_id, caption, (head, *groups), rows)


def _series_heads(panel: Panel) -> tuple[str, ...]:
    """The levels of the series as sub-headings; empty without a series."""
    if panel.series is None:
        return ()
    return tuple(headed_level(panel.series, level) for level in panel.series_levels)


def _cell_value(cell: CellRow | None, metric: Metric, decimals: int) -> Number | None:
    found = cell_number(cell, metric, decimals=decimals)
    if found is None or cell is None:
        return None
    return cellrefs.with_margin(found, cell, metric)


def verdicts_table(verdicts: VerdictTable, table_id: str, caption: Sentence) -> Table:
    """One row for each value of x: both means, their ratio with its interval, and the verdict."""
    metric = verdicts.metric
    pair = tuple(headed_level(verdicts.factor, one) for one in (verdicts.level, verdicts.base))
    head = () if verdicts.x is None else (Group(verdicts.x),)
    change: tuple[Group, ...] = (
        Group("Ratio", columns=("ratio", "95 % interval"), meaning=f"{pair[0]} ÷ {pair[1]}"),
        Group("Change", "%"),
    )
    if metric.is_share:  # percent of percentages would be misread
        columns, minus = ("difference", "95 % interval"), f"{pair[0]} − {pair[1]}"
        change = (Group("Difference", "percentage points", columns=columns, meaning=minus),)
    groups = (
        *head,
        Group(metric.title, metric.unit, columns=pair),
        *change,
        Group("p after Holm", columns=("if within noise", "if beyond noise")),
        Group("A/A noise", "%"),
        Group("Verdict"),
    )
    digits = compared_decimals(verdicts.rows, metric)
    rows = tuple(_verdict_row(row, verdicts, digits) for row in verdicts.rows)
    return Table(table_id, caption, groups, rows, stub=len(head))


def compared_decimals(rows: Sequence[Comparison], metric: Metric) -> int:
    """The decimals for the two value columns: enough that small values have two digits
    (published values are left out here), and that values with the verdict "different" look
    different."""
    exact = [row for row in rows if not row.by_rounding]
    values = [v for row in exact for v in (row.value, row.base_value) if v is not None]
    least = small_decimals(values, metric.decimals)
    return max((least, *(_apart_decimals(row, metric) for row in rows)))


def _apart_decimals(row: Comparison, metric: Metric) -> int:
    """The decimals with which the two values look different, if their verdict is "different"."""
    if row.outcome != "different" or row.value is None or row.base_value is None:
        return metric.decimals
    spans = [(value, value, value) for value in (row.value, row.base_value)]
    return telling_decimals(spans, metric.decimals)


def _verdict_row(row: Comparison, table: VerdictTable, decimals: int) -> tuple[Value, ...]:
    head = () if table.x is None else (numeric_level(row.x, table.x),)
    source = ratio_source(row, table)
    sides = (
        bare(
            value,
            table.metric,
            f"{table.factor}={level_text(level)}",
            decimals,
            is_published=row.by_rounding,
        )
        for value, level in ((row.value, table.level), (row.base_value, table.base))
    )
    return (
        *head,
        *sides,
        *(_in_points(row, table) if table.metric.unit == "%" else _in_percent(row, table)),
        None
        if row.p_different is None
        else p_number(row.p_different, f"p inside the band, {source}"),
        None if row.p_same is None else p_number(row.p_same, f"p outside the band, {source}"),
        None if row.noise_pct is None else bare_percent(row.noise_pct, f"A/A noise, {source}"),
        Name(verdict_text(row, table.factor)),
    )


def _in_percent(row: Comparison, table: VerdictTable) -> tuple[Value, ...]:
    source = ratio_source(row, table)
    return (
        ratio_number(row, table),
        bare_interval(row.interval, RATIO_DECIMALS, f"95 % Fieller interval, {source}"),
        None if row.change_pct is None else bare_percent(row.change_pct, f"change of {source}"),
    )


def _in_points(row: Comparison, table: VerdictTable) -> tuple[Value, ...]:
    decimals = max(1, table.metric.decimals)
    source = ratio_source(row, table).replace(" ÷ ", " − ")
    value = row.difference
    return (
        None if value is None else plain(value, decimals, "", source, row.difference_interval),
        bare_interval(row.difference_interval, decimals, f"95 % Welch interval, {source}"),
    )


def verdict_text(row: Comparison, factor: str) -> str:
    """The text of a verdict in a table: the winner, "same", "undecided" or "not measured"."""
    match row.outcome:
        case "different":
            return (
                f"{full_level(factor, row.winner)}{NO_BREAK}better"
                if row.winner is not None
                else "different"
            )
        case "undecided":
            if row.by_rounding:
                return "undecided"
            if row.unsettled is not None:
                return "undecided, phase too short"
            if row.too_few_samples:
                return "undecided, too few samples a run"
            more = ">1000" if row.more_runs is None else str(row.more_runs)
            return f"undecided, {more} more run{'' if more == '1' else 's'}"
        case "same":
            return "same"
        case _:
            return "not measured" if row.lacking is None else lacking_text(row.lacking)


def lacking_text(found: Lacking) -> str:
    """The reason why a percentile has no value: "too few iterations: 500 of 2,995"."""
    return f"too few {found.noun}s: {found.samples:,} of {found.needed:,}"


def bare(
    value: float | None,
    metric: Metric,
    what: str,
    decimals: int | None = None,
    *,
    interval: Interval | None = None,
    is_published: bool = False,
) -> Number | None:
    """A value without its unit, for a column whose heading has it; None for a missing value.
    `decimals` are the column's, by default the metric's own; the uncertainty in `interval` may
    reduce the digits. A published value keeps its digits."""
    if value is None:
        return None
    digits = metric.decimals if decimals is None else decimals
    shown = (
        Quantity((value,), digits)
        if is_published
        else measured(value, digits, half_width(interval))
    )
    return Number.of(value, shown, f"{metric.name}, {what}")


def bare_percent(value: float, source: str) -> Number:
    """A percentage without its sign, for a column whose heading has it."""
    return Number(value, str(measured(value, 1)), source)


def bare_interval(interval: Interval | None, decimals: int, source: str) -> Number | None:
    """An interval in one cell, without a unit; it is sorted by its middle. None if both ends are
    printed alike."""
    found = interval_quantity(interval, decimals)
    return None if found is None else Number.of(sum(found.values) / 2, found, source)


def causes_table(panel: Panel, found: Causes, table_id: str, caption: Sentence) -> Table:
    """One row for each test of a link in the chain of causes."""
    groups = (
        Group("Cause"),
        Group("Effect"),
        Group("Looked at"),
        Group("n"),
        Group("Spearman’s rho", columns=("rho", "interval")),
        Group("p", meaning="after Holm"),
        Group("Link"),
    )
    return Table(
        table_id,
        caption,
        groups,
        tuple(_link_row(k, panel, found.samples) for k in found.links),
        stub=2,
    )


def scope_text(scope: Scope, panel: Panel, samples: str) -> str:
    """The scope in which a link was tested, in the words of the study."""
    match scope:
        case "along x":
            return f"along {panel.x}"
        case "between levels":
            held = f" at equal {panel.x}" if panel.x else ""
            return f"between levels of {panel.series}{held}"
        case _:
            return f"between {samples} of a cell"


def _link_row(link: Link, panel: Panel, samples: str) -> tuple[Value, ...]:
    scope = scope_text(link.scope, panel, samples)
    if link.level is not None:
        scope = f"{scope}, {full_level(panel.series or '', link.level)}"
    source = f"{link.cause.name} and {link.effect.name}, {scope}"
    rho = None if link.rho is None else plain(link.rho, 2, "", f"Spearman's rho of {source}")
    return (
        Name(link.cause.title),
        Name(link.effect.title),
        Name(scope),
        Number(link.n, str(link.n), f"pairs or cells, {source}"),
        rho,
        _link_interval(link, source),
        None if link.p is None else p_number(link.p, f"p of {source}"),
        Name({True: "holds", False: "not shown", None: "not testable"}[link.holds]),
    )


def _link_interval(link: Link, source: str) -> Number | None:
    if link.low is None or link.high is None:
        return None
    kind = "quartiles over cells" if link.scope == "inside cells" else "95 % interval"
    return bare_interval(Interval(link.low, link.high), 2, f"{kind}, {source}")
