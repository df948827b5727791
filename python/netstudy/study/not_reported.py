"""What a study wants of its report and this version's report does not carry out.

`plan` and `validate` name it before a run, the report after one: nothing is left out silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from netstudy.documents.problems import Path
from netstudy.study.axes import Axes
from netstudy.study.model import Study
from netstudy.study.outcome import Conclusion, Figure, Table


def not_reported(study: Study, laid_out: Mapping[str, Axes]) -> tuple[str, ...]:
    """Each part as a path, such as `tables[0].normalise`; `laid_out` says how the cases are."""
    parts = [
        *(part for path, table in study.tables for part in _of_table(study, path, table, laid_out)),
        *(part for path, figure in study.figures for part in _of_figure(path, figure)),
        *(("conclude", kind_of(conclusion)) for conclusion in study.conclude),
    ]
    return tuple(dict.fromkeys(map(shown, parts)))


def _of_table(
    study: Study, path: Path, table: Table, laid_out: Mapping[str, Axes]
) -> Iterator[Path]:
    """Metrics are shown, factors where the report's own layout is the one asked for, and the title
    of the only table."""
    cases = [axes for name, axes in laid_out.items() if table.case in (None, name)]
    across = tuple(name for name in table.columns if name in study.factors)
    left_out = {
        "title": table.title is not None and len(study.report.tables) > 1,
        "case": table.case is not None and len(study.cases) > 1,
        "rows": not all(_has_rows(axes, table.rows) for axes in cases),
        "columns": bool(table.cell and across != table.columns)
        or not all(_has_columns(axes, across) for axes in cases),
        "show": table.show != "mean",
        "normalise": bool(table.normalise),
    }
    return ((*path, key) for key, is_left_out in left_out.items() if is_left_out)


def _has_rows(axes: Axes, factors: Sequence[str]) -> bool:
    """x makes the rows; factors before it are held, each of their levels in a table of its own."""
    *held, last = factors
    return last == axes.x and axes.series not in held


def _has_columns(axes: Axes, factors: Sequence[str]) -> bool:
    return factors == (axes.series,) if factors else axes.series_levels < 2


def _of_figure(path: Path, figure: Figure) -> Iterator[Path]:
    if figure.name is None:
        yield path
        return
    for key in ("title", "case"):
        if getattr(figure, key) is not None:
            yield (*path, key)


def kind_of(conclusion: Conclusion) -> str:
    """The key that tells a conclusion from others: the first of its own."""
    fields = type(conclusion).model_fields
    own = next(name for name in fields if name not in Conclusion.model_fields)
    return fields[own].alias or own


def shown(path: Path) -> str:
    """A part of a study as messages name it, such as `tables[0].normalise`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
