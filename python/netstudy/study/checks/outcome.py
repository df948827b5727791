"""Checks of comparisons, tables, figures, conclusions and reference data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

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
from netstudy.study.levels import is_numeric, level_text
from netstudy.study.model import Study, factor_names
from netstudy.study.outcome import (
    Bottleneck,
    Candidate,
    Comparison,
    Conclusion,
    Equivalence,
    Expectation,
    Figure,
    Knee,
    Limit,
    Substitution,
)
from netstudy.study.published import PublishedFile, PublishedValue, levels_text, read_published
from netstudy.study.vocabulary import MetricName, is_line_rate
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
    # The kinds that are not listed have no other names to check. The base is checked only if the
    # factor exists: a misspelt factor would otherwise be reported twice.
    match conclusion:
        case Bottleneck():
            for name, candidate in conclusion.candidates.items():
                yield from _candidate_problems(study, (*path, "candidates", name), candidate)
        case Substitution():
            yield from factors_problems(
                study, (*path, "substitution"), (conclusion.substitution,), cases
            )
            if conclusion.base is not None and conclusion.substitution in study.factors:
                base = (*path, "base")
                yield from one_level_problems(study, base, conclusion.substitution, conclusion.base)
        case Knee():
            yield from factors_problems(study, (*path, "knee"), (conclusion.knee,), cases)
        case Comparison():
            yield from factors_problems(study, (*path, "compare"), (conclusion.compare,), cases)
            yield from metrics_problems(study, (*path, "on"), conclusion.on)
            if conclusion.compare in study.factors:
                base = (*path, "base")
                if conclusion.base is not None:
                    yield from one_level_problems(study, base, conclusion.compare, conclusion.base)
                yield from _two_bases(
                    study, base, conclusion.compare, conclusion.base, conclusion.on, conclusion.case
                )
        case Limit():
            yield from metric_problems(study, (*path, "limit"), conclusion.limit)
            yield from metric_problems(study, (*path, "while"), conclusion.while_.metric)
        case Equivalence():
            yield from metrics_problems(study, (*path, "equivalent"), (conclusion.equivalent,))


def _candidate_problems(study: Study, path: Path, candidate: Candidate) -> Iterator[Problem]:
    """A candidate whose metric is not measured or has no limit."""
    metric = candidate.metric
    wrong = list(metric_problems(study, path, metric))
    yield from wrong
    if wrong or candidate.limit is not None or candidate.is_unknown:
        return
    if not metric.base.endswith("_pct") and not is_line_rate(metric):
        message = (
            f'"{metric}" has no limit of its own; write one, as in {metric} < 80000, or '
            f"{metric} < unknown if nobody knows it"
        )
        yield study.document.problem(path, message)


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
