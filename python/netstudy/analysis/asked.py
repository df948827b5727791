"""The metrics that a study names, each with its place in the study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from netstudy.study.undrawn import shown
from netstudy.study.vocabulary import MetricName

if TYPE_CHECKING:
    from netstudy.documents.problems import Path
    from netstudy.study import Study

Wanted = tuple[str, MetricName]
"""A path in the study, and the metric that the study names there."""


def asked_metrics(study: Study) -> Iterator[Wanted]:
    """Every metric that a study names, except by the name of a figure."""
    if study.compare is not None:
        yield from _each(("compare", "on"), study.compare.on)
    yield from _in_tables(study)
    yield from _in_figures(study)
    for conclusion in study.conclude:
        yield from _each(("conclude", conclusion.key()), conclusion.needs)
    for index, requirement in enumerate(study.require):
        yield from _each(("require", index), (requirement.that.metric,))
    for index, expected in enumerate(study.expect):
        yield from _each(("expect", index), (expected.metric,))


def _in_tables(study: Study) -> Iterator[Wanted]:
    for path, table in study.tables:
        for key, names in (("columns", table.columns), ("cell", table.cell)):
            for index, name in enumerate(names):
                if isinstance(name, MetricName) and str(name) not in study.factors:
                    yield shown((*path, key, index)), name


def _in_figures(study: Study) -> Iterator[Wanted]:
    for path, figure in study.figures:
        yield from _each(path, figure.metrics)


def _each(path: Path, names: Iterable[MetricName]) -> Iterator[Wanted]:
    return ((shown(path), name) for name in names)
