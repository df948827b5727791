"""Figures of a study that this version cannot draw.

`plan` and `validate` list them, and `run` refuses them unless they are left out with `--without`.
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.problems import Path
from netstudy.study.model import Study
from netstudy.study.outcome import Figure
from netstudy.study.vocabulary import MetricName


def undrawn(study: Study) -> tuple[str, ...]:
    """Each figure as a path, such as `figures[0]`."""
    return tuple(dict.fromkeys(map(shown, _figures(study))))


def _figures(study: Study) -> Iterator[Path]:
    yield from (path for path, figure in study.figures if not _is_drawn(study, figure))


def _is_drawn(study: Study, figure: Figure) -> bool:
    """Whether the report can draw a figure. A time series can show quantities of nodes, which
    samplers read, and those metrics of the workload that records have for each second."""
    if figure.name is not None or figure.kind != "time series":
        return True
    return all(_has_course(study, name) for name in figure.metrics)


def _has_course(study: Study, name: MetricName) -> bool:
    known = study.workload.spec.words.metrics.get(name.base)
    by_second = known is not None and known.by_second and name.limit is None
    return name.scope is not None or by_second


def shown(path: Path) -> str:
    """A part of a study as messages write it, such as `tables[0].normalise`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
