"""Tables in the layout that a study asks for. There is a row for each combination of levels of the
row factors that has a cell, or for which the study gives a reason why it has none (a hole). Each
level of a factor that is neither in rows nor in columns has its own table. A growing factor is the
exception: its last level with a gain is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from netstudy.analysis.case_result import CaseResult
from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import decimals_of
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.study_result import StudyResult
from netstudy.report.cellrefs import cell_number, column_decimals, treatment_text, with_margin
from netstudy.report.numbers import (
    Quantity,
    Scale,
    headed_level,
    level_text,
    measured,
    number_text,
    scale_of,
    significant_text,
)
from netstudy.report.prose.words import held_levels
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table, Value, numeric_level
from netstudy.study import outcome
from netstudy.study.levels import is_numeric
from netstudy.study.outcome import Column
from netstudy.study.vocabulary import MetricName
from netstudy.wire import HARDWARE_COUNTERS, Level, Treatment

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
Levels = tuple[Level, ...]
Place = tuple[Levels, Levels]
"""The place of a cell in a table: its levels of the row factors and of the column factors."""


def _mark(index: int) -> str:
    """The mark that links an empty cell to the reason below the table: ¹, ², … ¹⁰."""
    return str(index + 1).translate(_RAISED)


def asked_tables(result: StudyResult, case: CaseResult, key: str) -> list[Table]:
    """The study's tables for a test case, in order; empty if it asks for none. Means are shown with
    the half width of the 95 % interval."""
    wanted = [table for table in result.tables if _shows(table, case)]
    layouts = [layout for table in wanted for layout in _layouts(table, case, result)]
    many = len(layouts) > 1
    return [
        layout.table(f"{key}-table-{number}" if many else f"{key}-table")
        for number, layout in enumerate(layouts, start=1)
    ]


def _shows(table: outcome.Table, case: CaseResult) -> bool:
    return table.case in (None, case.name) and set(table.rows) <= set(case.layout.factors)


def _layouts(table: outcome.Table, case: CaseResult, result: StudyResult) -> Iterator[_Layout]:
    factors = case.layout.factors
    across = table.factor_columns(factors) if table.cell else ()
    rows = _rows(table, case, result)
    placed = {*table.rows, *across, *table.factor_columns(factors)}
    placed |= _grown(table, case)
    groups: dict[tuple[tuple[str, Level], ...], list[CellRow]] = {}
    for row in rows:
        held = tuple((f, row.treatment[f]) for f in factors if f in row.treatment.keys() - placed)
        groups.setdefault(held, []).append(row)
    for held, members in groups.items():
        yield _Layout(table, case, result, dict(held), across, members)


def _grown(table: outcome.Table, case: CaseResult) -> set[str]:
    """Growing factors that are not in the rows: the table shows only their last level with a
    gain."""
    return {loop.loop.factor.name for loop in case.loops} - set(table.rows)


def _rows(table: outcome.Table, case: CaseResult, result: StudyResult) -> list[CellRow]:
    cells = list(result.cells.of_case(case.name))
    if not _grown(table, case):
        return cells
    settled = [loop.last_gain_row for loop in case.loops]
    return [cell for cell in cells if any(cell is one for one in settled)]


@dataclass(eq=False)
class _Layout:
    """One table: computes its rows, columns and cells."""

    asked: outcome.Table
    case: CaseResult
    result: StudyResult
    held: Treatment
    across: tuple[str, ...]
    """Factors whose levels make columns."""
    cells: Sequence[CellRow]
    reasons: list[str] = field(default_factory=list)
    """Reasons for empty cells, in the order of their marks."""

    def table(self, table_id: str) -> Table:
        """The whole table."""
        stub = [Group(self._title(name)) for name in self.asked.rows]
        if self._replicates:
            stub.append(Group("replicate"))
        rows = tuple(row for levels in self._row_levels for row in self._rows_of(levels))
        held = say("{title}{held}", title=Name(self._caption), held=held_levels(self.held))
        return Table(
            table_id,
            held,
            (*stub, *self._groups),
            rows,
            stub=len(stub),
            notes=(
                *self._bases,
                *(f"{_mark(i)} {text}" for i, text in enumerate(self.reasons)),
            ),
        )

    @property
    def _caption(self) -> str:
        return self.asked.title or "Results"

    @cached_property
    def _metrics(self) -> Mapping[Column, Metric]:
        """Column or base -> metric; metrics that these runs cannot have are left out."""
        names = [*self.asked.columns, *self.asked.cell]
        names += [normal.by for normal in self.asked.normalise.values() if normal.by]
        known = self.result.cells.vocabulary
        found = {name: metric_named(name, known) for name in names if isinstance(name, MetricName)}
        return {name: metric for name, metric in found.items() if metric is not None}

    # ---- rows

    @cached_property
    def _by_place(self) -> Mapping[Place, CellRow]:
        return {
            (
                self._levels(cell.treatment, self.asked.rows),
                self._levels(cell.treatment, self.across),
            ): cell
            for cell in self.cells
        }

    @staticmethod
    def _levels(treatment: Treatment, factors: Iterable[str]) -> Levels:
        return tuple(treatment[name] for name in factors)

    @cached_property
    def _holes(self) -> Mapping[Place, tuple[Treatment, str]]:
        """The holes at this table's held levels, each with its reason in the study."""
        return {
            (self._levels(hole, self.asked.rows), self._levels(hole, self.across)): (hole, reason)
            for hole, reason in self.case.holes
            if all(hole.get(name, level) == level for name, level in self.held.items())
            and set(self.asked.rows) | set(self.across) <= set(hole)
        }

    @cached_property
    def _row_levels(self) -> list[Levels]:
        """The level combinations of the rows in order; the first factor varies slowest."""
        found = dict.fromkeys(row for row, _ in (*self._by_place, *self._holes))
        return sorted(found, key=lambda levels: self._position(self.asked.rows, levels))

    @cached_property
    def _column_levels(self) -> list[Levels]:
        found = dict.fromkeys(column for _, column in (*self._by_place, *self._holes))
        return sorted(found, key=lambda levels: self._position(self.across, levels))

    def _position(self, factors: Iterable[str], levels: Levels) -> tuple[float, ...]:
        """A sort key for levels: numbers by size, other levels in the order of the study. The level
        itself is appended, since a hole may have a level that no cell has."""
        known = self.result.cells.factors
        return tuple(
            float(level)
            if is_numeric((*known[name], level))
            else float((*known[name], level).index(level))
            for name, level in zip(factors, levels, strict=True)
        )

    @cached_property
    def _replicates(self) -> list[int]:
        """The numbers of the replicates if each has its own row; else empty."""
        if self.asked.show == "mean":
            return []
        return sorted({number for cell in self.cells for number in cell.runs.replicates})

    def _rows_of(self, levels: Levels) -> Iterator[tuple[Value, ...]]:
        """The row of a level combination, or its rows if each replicate has one."""
        head = [
            numeric_level(level, name) for name, level in zip(self.asked.rows, levels, strict=True)
        ]
        shown: list[int | None] = [*self._replicates] or [None]
        for replicate in shown:
            number = [] if replicate is None else [Number(replicate, str(replicate), "replicate")]
            yield (*head, *number, *self._values(levels, replicate))

    # ---- columns

    @cached_property
    def _groups(self) -> list[Group]:
        if self.asked.cell:
            subs = tuple(
                ", ".join(map(headed_level, self.across, levels)) for levels in self._column_levels
            )
            return [self._group(name, subs) for name in self.asked.cell]
        groups: list[Group] = []
        headed = {name: head for head, names in self.asked.heads.items() for name in names}
        for name in self.asked.columns:
            head = headed.get(name)
            if head is None:
                groups.append(self._group(name))
            elif self.asked.heads[head][0] == name:
                groups.append(Group(head, columns=tuple(map(self._sub, self.asked.heads[head]))))
        return groups

    def _group(self, name: Column, subs: tuple[str, ...] = ()) -> Group:
        metric = self._metrics.get(name)
        if metric is None or not isinstance(name, MetricName):
            return Group(self._title(name), columns=subs)
        meaning = self._base_text(name, metric) if name in self.asked.normalise else ""
        return Group(
            self._title(name),
            self._unit(name),
            metric.better,
            subs,
            meaning,
            keeps_unit=self._has_digits(name),
        )

    def _has_digits(self, name: Column) -> bool:
        """Whether the study sets the digits of a column."""
        return name in self.asked.significant or name in self.asked.decimals

    @cached_property
    def _below_heads(self) -> set[Column]:
        return {name for names in self.asked.heads.values() for name in names}

    def _scale(self, name: Column) -> Scale:
        """The unit of a column. A column below a shared heading has its own readable unit; for all
        others, the unit is that of the group."""
        metric, unit = self._metrics.get(name), self._unit(name)
        is_plain = name not in self._below_heads or name in self.asked.normalise
        if metric is None or is_plain or self._has_digits(name):
            return Scale(unit)
        values = (cell.value(metric) for cell in self.cells)
        return scale_of(unit, [value for value in values if value is not None])

    def _sub(self, name: Column) -> str:
        """The heading of a column below a shared heading, with the column's own unit."""
        unit = self._scale(name).unit
        return f"{self._title(name)} ({unit})" if unit else self._title(name)

    def _title(self, name: Column) -> str:
        metric = self._metrics.get(name)
        return self.asked.titles.get(name) or (str(name) if metric is None else metric.title)

    def _unit(self, name: Column) -> str:
        if name in self.asked.normalise:
            return "%"
        metric = self._metrics.get(name)
        return "" if metric is None else metric.unit

    @property
    def _bases(self) -> Iterator[str]:
        """Notes on the base of 100 % for columns below a shared heading, since the heading has no
        room for it."""
        for names in self.asked.heads.values():
            for name in names:
                metric = self._metrics.get(name)
                if metric and isinstance(name, MetricName) and name in self.asked.normalise:
                    yield f"{self._title(name)}: {self._base_text(name, metric)}"

    def _base_text(self, name: MetricName, metric: Metric) -> str:
        normal = self.asked.normalise[name]
        row = ", ".join(f"{f} {level_text(v)}" for f, v in normal.row.items()) or "first row"
        by = self._metrics.get(normal.by) if normal.by else None
        return f"100 % is {by.label if by else metric.label}, {row}"

    # ---- cells

    @cached_property
    def _digits(self) -> Mapping[Metric, int]:
        """Decimals for columns whose digits the study does not set."""
        return {metric: column_decimals(self.cells, metric) for metric in self._metrics.values()}

    def _values(self, row: Levels, replicate: int | None) -> Iterator[Value]:
        if self.asked.cell:
            for metric in self.asked.cell:
                for column in self._column_levels:
                    yield self._value(metric, (row, column), replicate)
            return
        for name in self.asked.columns:
            yield self._value(name, (row, ()), replicate)

    def _value(self, name: Column, place: Place, replicate: int | None) -> Value:
        cell = self._by_place.get(place)
        metric = self._metrics.get(name)
        if metric is None or not isinstance(name, MetricName):
            return self._level(str(name), place)
        value = self._number(name, metric, cell, replicate)
        if value is None:
            return self._dash(self._reason(name, place))
        if name in self.asked.normalise:
            return self._normalised(value, name, metric, place)
        return value.scaled(self._scale(name).power)

    def _level(self, name: str, place: Place) -> Value:
        """The level of a factor, for a column that shows it. A hole has no level of a growing
        factor, since only runs determine it."""
        cell, hole = self._by_place.get(place), self._holes.get(place)
        if cell is None and hole is not None and name in _grown(self.asked, self.case):
            return self._dash(hole[1])
        treatment = cell.treatment if cell else hole[0] if hole else {}
        return numeric_level(treatment.get(name), name)

    def _dash(self, reason: str | None) -> Value:
        """A dash for an empty cell, with the mark of the reason if there is one."""
        return None if reason is None else Name(f"–{self._mark(reason)}")

    def _number(
        self, name: MetricName, metric: Metric, cell: CellRow | None, replicate: int | None
    ) -> Number | None:
        if cell is None:
            return None
        if replicate is None:
            found = cell_number(cell, metric, decimals=self._digits[metric])
            if found is None:
                return None
            shown = self._formatted(name, found, cell, metric)
            return shown if name in self.asked.normalise else with_margin(shown, cell, metric)
        each = zip(cell.runs.replicates, metric.reading.of_each(cell.runs), strict=True)
        value = next((value for number, value in each if number == replicate), None)
        if value is None:
            return None
        source = f"{metric.name}, {treatment_text(cell.treatment)}, replicate {replicate}"
        digits, whole = self._digits[metric], cell.estimate(metric)
        if whole is not None and whole.rounding is not None:  # a published value
            as_text = Quantity((value,), min(digits, decimals_of(whole.rounding)))
        else:
            as_text = measured(value, digits)
        return self._formatted(name, Number.of(value, as_text, source), cell, metric)

    def _formatted(self, name: MetricName, found: Number, cell: CellRow, metric: Metric) -> Number:
        """The number with the digits that the study sets; a published value gets no more decimals
        than its source has."""
        if name in self.asked.significant:
            text = significant_text(found.value, self.asked.significant[name])
            return Number(found.value, text, found.source)
        if name not in self.asked.decimals:
            return found
        digits, estimate = self.asked.decimals[name], cell.estimate(metric)
        if estimate is not None and estimate.rounding is not None:
            digits = min(digits, decimals_of(estimate.rounding))
        return Number(found.value, number_text(found.value, digits), found.source)

    def _normalised(self, found: Number, name: MetricName, metric: Metric, place: Place) -> Value:
        """The value in percent of the base row in the same column; a dash if the base is missing or
        zero."""
        normal = self.asked.normalise[name]
        base_metric = self._metrics[normal.by] if normal.by else metric
        base = self._base(normal, base_metric, place[1])
        if base is None:
            return self._dash("the base of 100 % was not measured")
        if base.value == 0:
            return self._dash("the base of 100 % is zero")
        value = 100.0 * found.value / base.value
        source = f"{found.source}; in % of {base.source}"
        digits = self.asked.decimals.get(name, 1)
        if name in self.asked.significant:
            return Number(value, significant_text(value, self.asked.significant[name]), source)
        return Number(value, number_text(value, digits), source)

    def _base(self, normal: outcome.Normal, metric: Metric, column: Levels) -> Number | None:
        wanted = {name: level_text(level) for name, level in normal.row.items()}
        for row in self._row_levels:
            named = dict(zip(self.asked.rows, map(level_text, row), strict=True))
            if all(named[name] == text for name, text in wanted.items()):
                found = cell_number(self._by_place.get((row, column)), metric)
                if found is not None or wanted:
                    return found
        return None

    def _reason(self, name: MetricName, place: Place) -> str | None:
        """The study's reason for a cell without a value. First the reasons in the table's `empty`
        are tried; in holes, only reasons with levels. Then a hole has its own reason."""
        names = (*self.asked.rows, *self.across)
        levels = dict(zip(names, map(level_text, (*place[0], *place[1])), strict=True))
        levels |= {factor: level_text(level) for factor, level in self.held.items()}
        hole = self._holes.get(place)
        for empty in self.asked.empty:
            if hole is not None and not empty.at:
                continue
            at = {factor: level_text(level) for factor, level in empty.at.items()}
            if empty.column in (None, name) and all(levels.get(f) == v for f, v in at.items()):
                return empty.because
        return self._hardware_reason(name, place) if hole is None else hole[1]

    def _hardware_reason(self, name: MetricName, place: Place) -> str | None:
        """The reason for missing hardware counters, for a column that needs them."""
        cell = self._by_place.get(place)
        if cell is None or name.base != "cycles_per_instruction":
            return None
        told = (run.record.environment.get(HARDWARE_COUNTERS) for run in cell.runs)
        return next((reason for reason in told if reason is not None), None)

    def _mark(self, reason: str) -> str:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return _mark(self.reasons.index(reason))
