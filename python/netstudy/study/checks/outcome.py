"""Checks of comparisons, tables, figures, conclusions and reference data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, Problem
from netstudy.study.checks.metrics import metric_problems
from netstudy.study.checks.names import (
    at_problems,
    case_problems,
    cases_of,
    factors_problems,
    level_problems,
    metrics_problems,
    one_level_problems,
)
from netstudy.study.checks.tables import table_problems
from netstudy.study.conclusions.base import Conclusion
from netstudy.study.levels import is_numeric, level_text
from netstudy.study.model import Case, Study, factor_names
from netstudy.study.outcome import Expectation, Figure
from netstudy.study.reference_files import (
    PublishedFile,
    PublishedValue,
    levels_text,
    read_published,
)
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level


def outcome_problems(study: Study) -> Iterator[Problem]:
    """Problems of the comparison, tables, figures, conclusions and reference data."""
    yield from _compare_problems(study)
    yield from _growth_problems(study)
    for path, table in study.tables:
        yield from table_problems(study, path, table)
    drawn: list[Figure] = []
    for path, figure in study.figures:
        yield from _figure_problems(study, path, figure)
        if figure in drawn:
            yield study.document.problem(path, "is already drawn; leave out one of the two")
        drawn.append(figure)
    for index, conclusion in enumerate(study.conclude):
        yield from _conclusion_problems(study, ("conclude", index), conclusion)
    for index, requirement in enumerate(study.require):
        path, that = _condition_paths(study, "require", index)
        yield from metric_problems(study, that, requirement.that.metric)
        yield from _chosen_problems(study, path, requirement.at)
    for index, expected in enumerate(study.expect):
        yield from _expectation_problems(study, index, expected)
    for name in study.agreement:
        yield from _agreement_problems(study, ("agreement", str(name)), name)


def _agreement_problems(study: Study, path: Path, name: MetricName | str) -> Iterator[Problem]:
    """Tolerances for metrics that the study does not measure, which could never be checked."""
    if isinstance(name, MetricName):
        yield from metric_problems(study, path, name)
    else:
        yield from _figure_name_problems(study, path, name)


def reference_problems(study: Study) -> Iterator[Problem]:
    """Problems of the published data."""
    listed = isinstance(study.document.data.get("reference"), list)
    for index, reference in enumerate(study.reference):
        path: Path = ("reference", index) if listed else ("reference",)
        for column, holds in reference.columns.items():
            for metric in holds.metric.metrics:
                yield from metric_problems(study, (*path, "columns", column, "metric"), metric)
    files = [read_published(study, index) for index in range(len(study.reference))]
    yield from (problem for file in files for problem in file.problems)
    yield from _given_twice(files)


def _given_twice(files: Sequence[PublishedFile]) -> Iterator[Problem]:
    """Values that two files give for the same cell; duplicates within a file are reported
    elsewhere."""
    seen: dict[tuple[object, ...], PublishedValue] = {}
    for value in (value for file in files for value in file.values):
        levels = frozenset((name, level_text(level)) for name, level in value.levels.items())
        first = seen.setdefault((value.case, value.metric, levels, value.repetition), value)
        if first is not value:
            message = f"gives {value.metric} at {levels_text(value.levels)}, as {first.row} does"
            yield Problem(value.place, "", f"{message}; leave one of them out")


def _compare_problems(study: Study) -> Iterator[Problem]:
    compare = study.compare
    if compare is None:
        return
    names = factor_names(study.cases)
    if compare.factor not in names:
        message = f'no factor "{compare.factor}"{did_you_mean(compare.factor, names)}'
        yield study.document.problem(("compare", "factor"), message)
        return
    yield from one_level_problems(study, ("compare", "base"), compare.factor, compare.base)
    yield from metrics_problems(study, ("compare", "on"), compare.on)
    yield from _two_bases(study, ("compare", "base"), compare.factor, compare.base, compare.on)


def _two_bases(
    study: Study,
    place: Path,
    factor: str,
    base: Level | None,
    on: Collection[MetricName],
    case: str | None = None,
) -> Iterator[Problem]:
    """A base that differs from the 100 % of a table with the same metric: the report would give two
    percentages for the same two levels."""
    if base is None:
        names = study.factors[factor].names
        base = min(names, key=float) if is_numeric(names) else names[0]
    own = level_text(base)
    for table in study.report.tables:
        if None not in (case, table.case) and case != table.case:
            continue
        for name, normal in table.normalise.items():
            other = normal.row.get(factor)
            if name in on and other is not None and level_text(other) != own:
                shown = level_text(other)
                message = f"is {own}, but a table takes {name} at {factor} {shown} as 100 %; "
                message += f"one metric has one base: give base: {shown}"
                yield study.document.problem(place, message)
                return


def _growth_problems(study: Study) -> Iterator[Problem]:
    """Problems of the metric that decides whether a factor grows further."""
    for case in study.cases:
        for factor in case.factors:
            if factor.growth and factor.growth.of is not None:
                yield from metric_problems(study, (*factor.path, "of"), factor.growth.of)


def _figure_problems(study: Study, path: Path, figure: Figure) -> Iterator[Problem]:
    cases = cases_of(study, figure.case)
    yield from case_problems(study, path, figure.case)
    if figure.name is not None:
        yield from _figure_name_problems(study, path, figure.name)
    beside = (figure.beside,) if figure.beside else ()
    second = (figure.y2,) if figure.y2 else ()
    for key, metrics in (("y", figure.y), ("y2", second), ("beside", beside)):
        yield from metrics_problems(study, (*path, key), metrics)
    axis = (figure.x,) if figure.x else ()
    panel = (figure.panel,) if figure.panel else ()
    for key, names in (("x", axis), ("series", figure.series), ("panel", panel)):
        yield from factors_problems(study, (*path, key), names, cases)
    if figure.x is not None and figure.x in (*figure.series, figure.panel):
        key = "series" if figure.x in figure.series else "panel"
        message = f"{figure.x} is also the x axis; keep one of the two"
        yield study.document.problem((*path, key), message)


def _figure_name_problems(study: Study, path: Path, name: str) -> Iterator[Problem]:
    if name not in study.figures_known:
        hint = did_you_mean(name, study.figures_known)
        message = f'"{name}" is not a figure of the workload {study.workload.kind}{hint}'
        yield study.document.problem(path, message)


def _conclusion_problems(study: Study, path: Path, conclusion: Conclusion) -> Iterator[Problem]:
    cases = cases_of(study, conclusion.case)
    yield from case_problems(study, path, conclusion.case)
    for name, level in conclusion.at.items():
        yield from at_problems(study, (*path, "at", name), name, level)
    yield from conclusion.problems(_NameChecks(study, cases), path)


@dataclass(frozen=True)
class _NameChecks:
    """The checks of names that a conclusion uses."""

    study: Study
    cases: Sequence[Case]
    """The test cases that the conclusion may be drawn from."""

    def problem(self, path: Path, message: str) -> Problem:
        return self.study.document.problem(path, message)

    def factor(self, path: Path, name: str) -> Iterator[Problem]:
        yield from factors_problems(self.study, path, (name,), self.cases)

    def level(self, path: Path, factor: str, level: Level | None) -> Iterator[Problem]:
        # A misspelt factor would otherwise be reported twice.
        if level is not None and factor in self.study.factors:
            yield from one_level_problems(self.study, path, factor, level)

    def metric(self, path: Path, metric: MetricName) -> Iterator[Problem]:
        yield from metric_problems(self.study, path, metric)

    def column(self, path: Path, name: MetricName | str) -> Iterator[Problem]:
        if isinstance(name, MetricName) and str(name) not in self.study.factors:
            yield from metric_problems(self.study, path, name)
        else:
            yield from factors_problems(self.study, path, (str(name),), self.cases)

    def metrics(self, path: Path, metrics: Iterable[MetricName]) -> Iterator[Problem]:
        yield from metrics_problems(self.study, path, metrics)

    def base(
        self, path: Path, factor: str, base: Level | None, on: Collection[MetricName]
    ) -> Iterator[Problem]:
        # A misspelt factor would otherwise be reported twice.
        if factor in self.study.factors:
            yield from self.level(path, factor, base)
            found = (_two_bases(self.study, path, factor, base, on, one.name) for one in self.cases)
            yield from islice(chain.from_iterable(found), 1)


def _condition_paths(study: Study, key: str, index: int) -> tuple[Path, Path]:
    """The place of a condition and the place of its text; they are the same if the condition is
    only text."""
    written = study.document.data[key]
    path: Path = (key, index) if isinstance(written, list) else (key,)
    item = written[index] if isinstance(written, list) else written
    return path, path if isinstance(item, str) else (*path, "that")


def _expectation_problems(study: Study, index: int, expected: Expectation) -> Iterator[Problem]:
    path, that = _condition_paths(study, "expect", index)
    for key in ("lower", "higher", "same"):
        if getattr(expected, key) is not None:
            that = (*path, key)
    yield from metric_problems(study, that, expected.metric)
    for key, side in (("with", expected.with_), ("than", expected.than)):
        for name, level in side.items():
            yield from at_problems(study, (*path, key, name), name, level)
    yield from _chosen_problems(study, path, expected.at)


def _chosen_problems(
    study: Study, path: Path, at: Mapping[str, Sequence[Level]]
) -> Iterator[Problem]:
    """Unknown factors and levels in the `at` of a condition."""
    for name, levels in at.items():
        if name not in study.factors:
            message = f'no factor "{name}"{did_you_mean(name, study.factors)}'
            yield study.document.problem((*path, "at", name), message, of_key=True)
        else:
            yield from level_problems(study, (*path, "at", name), name, levels)
