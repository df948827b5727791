"""What a study wants to see that published data do not give: refused by its path before a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import figure_named
from netstudy.analysis.workloads import metrics_of
from netstudy.study.not_reported import kind_of, shown
from netstudy.study.outcome import Bound, Comparison, Conclusion, Equivalence, Limit
from netstudy.wire import Plan

if TYPE_CHECKING:
    from netstudy.documents.problems import Path
    from netstudy.study import Study

Wanted = tuple[str, str]
"""A path of the study, and the metric or figure that it names."""


def not_given(study: Study, plan: Plan) -> list[str]:
    """One sentence a part; empty where the runs of a plan give all that the study names."""
    metrics = metrics_of(plan)
    return [
        *(
            f"{path} asks for {name}, which the published data do not give."
            for path, name in dict.fromkeys(_wanted(study))
            if not is_given(name, metrics)
        ),
        *_figures(study, metrics),
    ]


def is_given(name: str, metrics: Sequence[Metric]) -> bool:
    """Whether one of the metrics has that name; a name without a statistic means the mean."""
    mean = f"{name.removesuffix('_mean')}_mean"
    return any(metric.name in (name, mean, name.removesuffix("_mean")) for metric in metrics)


def _wanted(study: Study) -> Iterator[Wanted]:
    """Every metric that the study names, but for its figures by name."""
    if study.compare is not None:
        yield from _each(("compare", "on"), study.compare.on)
    for path, table in study.tables:
        columns = (name for name in table.columns if name not in study.factors)
        yield from _each((*path, "columns"), columns)
        yield from _each((*path, "cell"), table.cell)
    for path, figure in study.figures:
        for key, names in (("y", figure.y), ("y2", (figure.y2,)), ("beside", (figure.beside,))):
            yield from _each((*path, key), (name for name in names if name is not None))
    for conclusion in study.conclude:
        yield from _each(("conclude", kind_of(conclusion)), _of_conclusion(conclusion))
    for index, requirement in enumerate(study.require):
        yield from _each(("require", index), (Bound.of(requirement.that).metric,))


def _of_conclusion(conclusion: Conclusion) -> Iterator[str]:
    match conclusion:
        case Limit():
            yield conclusion.limit
            yield Bound.of(conclusion.while_).metric
        case Comparison():
            yield from conclusion.on
        case Equivalence():
            yield conclusion.equivalent


def _figures(study: Study, metrics: Sequence[Metric]) -> Iterator[str]:
    for path, figure in study.figures:
        if figure.name is not None and figure_named(figure.name, metrics) is None:
            yield f"{shown(path)} is {figure.name}, which the published data do not give."
        elif figure.kind == "time series":
            yield f"{shown(path)} is a time series, and published values are no samples."


def _each(path: Path, names: Iterable[str]) -> Iterator[Wanted]:
    return ((shown(path), name) for name in names)
