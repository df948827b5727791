"""What a study wants of its report and this version does not carry out.

`plan` and `validate` name it, and `run` refuses it, unless it is left out by name (`--without`).
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.problems import Path
from netstudy.study.model import Study
from netstudy.study.outcome import (
    Bottleneck,
    BypassesTheWire,
    Conclusion,
    Extrapolation,
    Figure,
)
from netstudy.study.vocabulary import split_metric

NOT_DRAWN = (Bottleneck, BypassesTheWire, Extrapolation)
"""Kinds of conclusions that this version does not draw."""


def not_reported(study: Study) -> tuple[str, ...]:
    """Each part as a path, such as `figures[0]` or `conclude.bottleneck`."""
    return tuple(dict.fromkeys(map(shown, _parts(study))))


def _parts(study: Study) -> Iterator[Path]:
    yield from (path for path, figure in study.figures if not _is_drawn(figure))
    yield from (
        ("conclude", kind_of(conclusion))
        for conclusion in study.conclude
        if isinstance(conclusion, NOT_DRAWN)
    )


def _is_drawn(figure: Figure) -> bool:
    """A course over time is that of nodes: samplers read them, and not what a workload counts."""
    if figure.name is not None or figure.kind != "time series":
        return True
    names = (*figure.y, *((figure.beside,) if figure.beside else ()))
    return figure.y2 is None and all(split_metric(name).scope is not None for name in names)


def kind_of(conclusion: Conclusion) -> str:
    """The key that tells a conclusion from others: the first of its own."""
    fields = type(conclusion).model_fields
    own = next(name for name in fields if name not in Conclusion.model_fields)
    return fields[own].alias or own


def shown(path: Path) -> str:
    """A part of a study as messages name it, such as `tables[0].normalise`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
