"""Checks of the names that the parts of an outcome use: cases, factors, levels, metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, Problem
from netstudy.study.checks.metrics import metric_problems
from netstudy.study.model import Case, Study, factor_names
from netstudy.study.selection import one_level, select
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level


def cases_of(study: Study, name: str | None) -> Sequence[Case]:
    """The case with this name; all cases if no case has this name."""
    found = [case for case in study.cases if case.name == name]
    return found or study.cases


def case_problems(study: Study, path: Path, name: str | None) -> Iterator[Problem]:
    """A case that the study does not have."""
    names = [case.name for case in study.cases]
    if name is not None and name not in names:
        message = f'no case "{name}"{did_you_mean(name, names)}'
        yield study.document.problem((*path, "case"), message)


def factors_problems(
    study: Study, path: Path, wanted: Iterable[str], cases: Sequence[Case]
) -> Iterator[Problem]:
    """Unknown factors in a list at `path`: none of the cases has them."""
    names = factor_names(cases)
    for index, name in enumerate(wanted):
        if name not in names:
            message = f'no factor "{name}"{did_you_mean(name, names)}'
            yield study.document.problem((*path, index), message)


def at_problems(study: Study, path: Path, name: str, level: Level) -> Iterator[Problem]:
    """A factor that the study does not have, or a level that the factor does not have."""
    if name not in study.factors:
        message = f'no factor "{name}"{did_you_mean(name, study.factors)}'
        yield study.document.problem(path, message, of_key=True)
    else:
        yield from one_level_problems(study, path, name, level)


def one_level_problems(study: Study, path: Path, name: str, wanted: Level) -> Iterator[Problem]:
    """A level that the factor does not have."""
    try:
        one_level(study.factors[name], wanted)
    except ValueError as error:
        yield study.document.problem(path, str(error))


def level_problems(
    study: Study, path: Path, name: str, wanted: Sequence[Level]
) -> Iterator[Problem]:
    """Levels, written as `--only` takes them, that the factor does not have."""
    try:
        select(study.factors[name], wanted)
    except ValueError as error:
        yield study.document.problem(path, str(error))


def metrics_problems(study: Study, path: Path, metrics: Iterable[MetricName]) -> Iterator[Problem]:
    """Metrics in a list at `path` that the study does not measure."""
    for index, metric in enumerate(metrics):
        yield from metric_problems(study, (*path, index), metric)
