"""Reads published measurements: turns the rows of a reference file into values at levels of the
study.

A text in the file matches a level of a factor if the study maps the text to this level (`names`),
if it is written like the level, or if both are the same quantity, like `1MB` and `1 MB`, or `60`
and `60.0`. A row is reported as a mistake, with its line, if it has a level that the study does not
have or if its cell already has a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, Place, Problem
from netstudy.formats.csv_table import (
    NO_VALUE,
    DamagedLine,
    NotANumber,
    TextRow,
    TextTable,
    number_of,
    rounding,
    text_table,
)
from netstudy.formats.measured import FormatError
from netstudy.study.levels import FactorLevel, Growth, has_levels, level_text
from netstudy.study.model import Case, Factor, Study
from netstudy.study.outcome import MeasuredTable, Reference, ReferenceColumn
from netstudy.study.vocabulary import MetricName
from netstudy.units import quantity
from netstudy.wire import Level, Treatment


@dataclass(frozen=True)
class PublishedValue:
    """One value of a reference file, with its metric, its levels and its rounding."""

    metric: MetricName
    case: str | None
    """The test case that the value belongs to; None: every case that has the value's levels."""
    levels: Mapping[str, Level]
    """Factor -> level in the study, only for factors whose level the source gives."""
    repetition: int
    """From 1; always 1 if the file does not number repetitions."""
    value: float
    rounding: float
    """One unit of the last printed digit: the most by which rounding or truncating in the source
    changed the value."""
    source: str
    file: str
    """Path relative to the study's folder."""
    place: Place
    """File and line."""
    fitted: bool = False
    """Whether a profile was fitted to this value."""
    printed: Mapping[str, str] = field(default_factory=dict)
    """Factor -> the text that the file has for its level."""
    because: str | None = None
    """The reason that the study gives for the difference between its own value and this one."""
    measured_s: float | None = None
    """Length of the source's measuring phase, if the study gives it."""
    counted: int | None = None
    """Number of iterations, transfers or requests in that phase, if the study gives it."""

    @property
    def has_amount(self) -> bool:
        """Whether the time or the work is known over which it was measured."""
        return self.measured_s is not None or self.counted is not None

    @property
    def row(self) -> str:
        """File, relative to the study's folder, and line of the value."""
        return f"{self.file}:{self.place.line}"

    def is_of(self, treatment: Treatment) -> bool:
        """Whether the value was measured at the levels of a treatment."""
        return has_levels(treatment, self.levels)


@dataclass(frozen=True)
class PublishedFile:
    """The values and the problems of a reference file."""

    values: tuple[PublishedValue, ...]
    problems: tuple[Problem, ...]
    matched: tuple[tuple[str, str, Level], ...]
    """Factor, text in the file, and the matching level, for each text that is written differently
    from the level."""


def read_published(study: Study, index: int) -> PublishedFile:
    """Read the reference with this index and match the texts in it with the levels of the study."""
    written = study.document.data.get("reference")
    path: Path = ("reference", index) if isinstance(written, list) else ("reference",)
    return _File(study, study.reference[index], path).read()


def read_table(study: Study, index: int) -> PublishedFile:
    """Read the table of measured runs with this index, in the same way."""
    assert study.file.measured is not None, "only a study of measured runs has tables"
    written = study.document.data["measured"]["tables"]
    inside: Path = (index,) if isinstance(written, list) else ()
    table = study.file.measured.tables[index]
    return _File(study, table, ("measured", "tables", *inside)).read()


def with_published_levels(case: Case, values: Iterable[PublishedValue]) -> Case:
    """The case, but a factor that grows without end has only the levels at which there are
    published values."""
    found = tuple(values)
    return replace(case, factors=tuple(_with_levels(factor, found) for factor in case.factors))


def _with_levels(factor: Factor, values: Sequence[PublishedValue]) -> Factor:
    if factor.growth is None or not factor.growth.open_ended:
        return factor
    given = {value.levels[factor.name] for value in values if factor.name in value.levels}
    numbers = sorted(name for name in given or factor.names[:1] if isinstance(name, int))
    return replace(factor, levels=tuple(map(FactorLevel, numbers)))


class _File:
    """Reads one reference file and collects its problems."""

    def __init__(self, study: Study, table: MeasuredTable, path: Path) -> None:
        """`path`: the table's place in the study."""
        self.study = study
        self.table = table
        self.published = table if isinstance(table, Reference) else None
        self.path = path
        self.case = None if self.published is None else self.published.case
        self.cases = [case for case in study.cases if self.case in (None, case.name)] or list(
            study.cases
        )
        self.factors = _factors_of(study, self.cases)
        self.problems: list[Problem] = []
        self.matched: dict[tuple[str, str], Level] = {}
        self.seen: dict[tuple[object, ...], tuple[int, str]] = {}
        self._fitted = [
            found
            for one in (self.published.fitted if self.published else None) or ()
            if (found := self._held(one)) is not None
        ]
        self._explained = [
            (one, held)
            for one in (self.published.explained if self.published else ())
            if (held := self._held(one.at)) is not None
        ]

    def read(self) -> PublishedFile:
        """The values and problems of the file; no values if the file or a column is missing."""
        self._note_levels()
        rows = self._rows()
        values = [] if rows is None else [value for row in rows for value in self._values(row)]
        matched = ((factor, text, level) for (factor, text), level in self.matched.items())
        return PublishedFile(tuple(values), tuple(self.problems), tuple(matched))

    def _note_levels(self) -> None:
        """Report unknown cases, factors and levels in the `reference` part of the study."""
        reference, names = self.table, [case.name for case in self.study.cases]
        if self.case is not None and self.case not in names:
            hint = did_you_mean(self.case, names)
            self._note(("case",), f'no case "{self.case}"{hint}')
        held: list[tuple[Path, str, Level]] = [
            (("at", name), name, level) for name, level in reference.at.items()
        ]
        inside: Path
        if self.published is not None:
            held += self._levels_of_publication(self.published)
        for column, meaning in reference.columns.items():
            inside = ("columns", column, "at")
            held += [((*inside, name), name, level) for name, level in meaning.at.items()]
        for factor, holds in reference.factors.items():
            inside = ("factors", factor, "names")
            held += [((*inside, text), factor, level) for text, level in holds.names.items()]
            if factor not in self.factors:
                self._note_factor(("factors", factor), factor)
        # `held` has the levels from all keys: a wrong level is reported at every place that has it,
        # so that the user can correct all of them at once.
        for place, name, level in held:
            if name not in self.factors:
                self._note_factor(place, name)
                continue
            try:
                level_of(self.factors[name], level_text(level))
            except ValueError as error:
                self._note(place, str(error))

    @staticmethod
    def _levels_of_publication(published: Reference) -> Iterator[tuple[Path, str, Level]]:
        """The levels in the parts that only published tables have."""
        for number, one in enumerate(published.fitted or ()):
            yield from ((("fitted", number, name), name, level) for name, level in one.items())
        for number, reason in enumerate(published.explained):
            inside = ("explained", number, "at")
            yield from (((*inside, name), name, level) for name, level in reason.at.items())

    def _note_factor(self, place: Path, name: str) -> None:
        self._note(place, f'no factor "{name}"{did_you_mean(name, self.factors)}', of_key=True)

    # --- the table ---

    def _rows(self) -> list[TextRow] | None:
        """The selected rows; None if the file is not a table or lacks a column."""
        table = self._table()
        if table is None:
            return None
        known = len(self.problems)
        for place, column in self._columns_named():
            if column not in table.header:
                message = f'{self.table.file} has no column "{column}"'
                hint = did_you_mean(column, table.header)
                self._note(place, message + hint, of_key=place[-1] == column)
        for fault in table.faults:
            self._fault(fault.line, fault.message)
        if len(self.problems) > known:
            return None
        return self._chosen(table.rows)

    def _table(self) -> TextTable | None:
        """The file as texts; None if it is not a table."""
        file = self.study.folder / self.table.file
        if not file.resolve().is_relative_to(self.study.folder.resolve()):
            self._note(("file",), "must lie in the study's own folder")
            return None
        try:
            return text_table(file.read_bytes())
        except DamagedLine as error:
            self._fault(error.line, error.message)
        except (OSError, FormatError):
            self._note(("file",), f"cannot read {file}")
        return None

    def _columns_named(self) -> Iterator[tuple[Path, str]]:
        """Every column of the file that the study mentions, with the place in the study."""
        reference = self.table
        for column in reference.rows:
            yield ("rows", column), column
        for factor, holds in reference.factors.items():
            yield ("factors", factor, "column"), holds.column
        if reference.repetition is not None:
            yield ("repetition",), reference.repetition
        for column, meaning in reference.columns.items():
            yield ("columns", column), column
            if meaning.metric.by is not None:
                yield ("columns", column, "metric", "by"), meaning.metric.by

    def _chosen(self, rows: Sequence[TextRow]) -> list[TextRow]:
        """The rows that the key `rows` in the study selects."""
        for column, wanted in self.table.rows.items():
            kept = [row for row in rows if any(_alike(row.texts[column], one) for one in wanted)]
            if not kept:
                there = list(dict.fromkeys(row.texts[column] for row in rows))
                text = " or ".join(map(level_text, wanted))
                hint = did_you_mean(level_text(wanted[0]), there)
                message = f'{self.table.file} has no row with {column} "{text}"{hint}'
                self._note(("rows", column), message)
            rows = kept
        return list(rows)

    # --- values ---

    def _values(self, row: TextRow) -> Iterator[PublishedValue]:
        levels, repetition = self._levels(row), self._repetition(row)
        if levels is None or repetition is None:
            return
        published = self.published
        measured = None if published is None else published.measured
        for column, meaning in self.table.columns.items():
            text = row.texts[column]
            if text in NO_VALUE:
                continue
            # Each of these three reports its problems, so all are read before a missing one skips
            # the value.
            metric, found = self._metric(row, meaning), self._number(row, column, text)
            held = self._held(meaning.at)
            if metric is None or found is None or held is None:
                continue
            value = PublishedValue(
                metric=metric,
                case=self.case,
                levels={**levels, **held},
                repetition=repetition,
                value=float(found),
                rounding=rounding(found),
                source="" if published is None else published.source,
                file=self.table.file,
                place=self._place(row.line),
                fitted=any(has_levels({**levels, **held}, one) for one in self._fitted),
                printed={
                    name: row.texts[holds.column] for name, holds in self.table.factors.items()
                },
                because=self._because(metric, {**levels, **held}),
                measured_s=None if measured is None else measured / 1e9,
                counted=None if published is None else published.counted,
            )
            if self._has_a_cell(row, value) and self._is_new(row, column, value):
                yield value

    def _because(self, metric: MetricName, levels: Treatment) -> str | None:
        """The reason that the study gives for a difference between its own value and the published
        one."""
        for one, at in self._explained:
            if one.metric in (None, metric) and has_levels(levels, at):
                return one.because
        return None

    def _levels(self, row: TextRow) -> dict[str, Level] | None:
        """The levels of a row, including levels of the whole file; None if a level is unknown."""
        found = self._held(self.table.at)
        for name, holds in self.table.factors.items():
            if name not in self.factors:
                return None  # reported by _note_levels
            text = row.texts[holds.column]
            try:
                level = level_of(self.factors[name], text, holds.names)
            except ValueError as error:
                if text not in holds.names:  # else reported by _note_levels
                    self._fault(row.line, f'{holds.column} "{text}": {error}')
                found = None
                continue
            if level_text(level) != text:
                self.matched[name, text] = level
            if found is not None:
                found[name] = level
        return found

    def _held(self, at: Mapping[str, Level]) -> dict[str, Level] | None:
        """Levels that the study gives for the whole file or a column, written as in the study's
        factors."""
        found: dict[str, Level] = {}
        for name, wanted in at.items():
            try:
                found[name] = level_of(self.factors[name], level_text(wanted))
            except (KeyError, ValueError):
                return None  # reported by _note_levels
        return found

    def _repetition(self, row: TextRow) -> int | None:
        column = self.table.repetition
        if column is None:
            return 1
        text = row.texts[column]
        if text.isascii() and text.isdigit() and int(text) > 0:
            return int(text)
        self._fault(
            row.line, f'{column} "{text}" is not the number of a repetition; numbers begin at 1'
        )
        return None

    def _metric(self, row: TextRow, meaning: ReferenceColumn) -> MetricName | None:
        metric = meaning.metric
        if metric.by is None:
            return metric.name
        said = row.texts[metric.by]
        if said not in metric.names:
            hint = did_you_mean(said, metric.names)
            self._fault(row.line, f'{metric.by} "{said}" has no metric in names{hint}')
        return metric.names.get(said)

    def _number(self, row: TextRow, column: str, text: str) -> Decimal | None:
        try:
            return number_of(text)
        except NotANumber as error:
            self._fault(row.line, f'{column} "{text}" {error}')
            return None

    def _has_a_cell(self, row: TextRow, value: PublishedValue) -> bool:
        """Whether a test case has the levels of the value, even if its cell is in a hole."""
        if any(_has_levels(case, value.levels) for case in self.cases):
            return True
        if not any(problem.place == self._place(row.line) for problem in self.problems):
            where = f"the case {self.case} has" if self.case else "no case has"
            no = " no" if self.case else ""
            self._fault(row.line, f"{where}{no} cells at {levels_text(value.levels)}")
        return False

    def _is_new(self, row: TextRow, column: str, value: PublishedValue) -> bool:
        """Whether no earlier row or column of the file gives a value for the same cell and
        metric."""
        levels = frozenset((name, level_text(level)) for name, level in value.levels.items())
        first = self.seen.setdefault((value.metric, levels, value.repetition), (row.line, column))
        if first == (row.line, column):
            return True
        line, other = first
        where = f"line {line} does" if line != row.line else f"the column {other} does"
        numbered = self.table.repetition
        advice = (
            f"{numbered} {value.repetition} occurs twice"
            if numbered
            else "if these are repetitions, name the column with their numbers as repetition"
        )
        at = levels_text(value.levels) or "the only cell"
        self._fault(row.line, f"gives {value.metric} at {at}, as {where}; {advice}")
        return False

    # --- problems ---

    def _place(self, line: int) -> Place:
        return Place(str(self.study.folder / self.table.file), line)

    def _fault(self, line: int, message: str) -> None:
        self.problems.append(Problem(self._place(line), "", message))

    def _note(self, inside: Path, message: str, *, of_key: bool = False) -> None:
        path = (*self.path, *inside)
        self.problems.append(self.study.document.problem(path, message, of_key=of_key))


def levels_text(levels: Mapping[str, Level]) -> str:
    """Levels as a message shows them: servers 4, switch nexus-5010."""
    return ", ".join(f"{name} {level_text(level)}" for name, level in levels.items())


def _factors_of(study: Study, cases: Sequence[Case]) -> dict[str, Factor]:
    """The factors that these cases vary or hold fixed, with all levels that they have in these
    cases."""
    found: dict[str, dict[str, FactorLevel]] = {}
    growth: dict[str, Growth] = {}
    for case in cases:
        for factor in case.factors:
            if factor.growth is not None:
                growth.setdefault(factor.name, factor.growth)
            for level in factor.levels:
                found.setdefault(factor.name, {}).setdefault(level_text(level.name), level)
        for name, held in case.fixed.items():
            level = study.factors[name].level(held) or FactorLevel(held)
            found.setdefault(name, {}).setdefault(level_text(held), level)
    return {
        name: Factor(name, tuple(levels.values()), growth.get(name))
        for name, levels in found.items()
    }


def level_of(factor: Factor, text: str, names: Mapping[str, Level] | None = None) -> Level:
    """The level that matches a text of a file or of a path; `names` has levels for texts. Raises
    ValueError if none or several match."""
    wanted = level_text((names or {}).get(text, text))
    by_name = factor.level(wanted)
    if by_name is not None:
        return by_name.name
    alike = [name for name in factor.names if _alike(wanted, name)]
    if len(alike) > 1:
        texts = " and ".join(map(level_text, alike))
        raise ValueError(f"is the same quantity as {texts}; say which in names")
    if alike:
        return alike[0]
    grown = _grown(factor, wanted)
    if grown is not None:
        return grown
    hint = did_you_mean(wanted, map(level_text, factor.names))
    raise ValueError(f'factor {factor.name} has no level "{wanted}"{hint}')


def _grown(factor: Factor, text: str) -> int | None:
    """The level, if a factor with levels without an end can reach it."""
    if factor.growth is None or not factor.growth.open_ended:
        return None
    found = quantity(text)
    first = factor.names[0]
    if found is None or found[0] or found[1].denominator != 1 or not isinstance(first, int):
        return None
    return int(found[1]) if found[1] >= first else None


def _alike(text: str, level: Level) -> bool:
    """Whether a text is written like a level, or both are the same quantity."""
    written = level_text(level)
    if text == written:
        return True
    found = quantity(text)
    return found is not None and found == quantity(written)


def _has_levels(case: Case, levels: Mapping[str, Level]) -> bool:
    return all(_has_level(case, name, level) for name, level in levels.items())


def _has_level(case: Case, name: str, level: Level) -> bool:
    factor = case.factor(name)
    if factor is None:
        return name in case.fixed and level_text(case.fixed[name]) == level_text(level)
    if factor.level(level) is not None:
        return True
    return _grown(factor, level_text(level)) is not None
