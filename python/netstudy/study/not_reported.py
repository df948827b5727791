"""What a study wants of its report and this version does not carry out.

`plan` and `validate` name it, and `run` refuses it, unless it is left out by name (`--without`).
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.problems import Path
from netstudy.study.model import Study
from netstudy.study.outcome import Bottleneck, BypassesTheWire, Conclusion, Extrapolation

NOT_DRAWN = (Bottleneck, BypassesTheWire, Extrapolation)
"""Kinds of conclusions that this version does not draw."""


def not_reported(study: Study) -> tuple[str, ...]:
    """Each part as a path, such as `figures[0]` or `conclude.bottleneck`."""
    return tuple(dict.fromkeys(map(shown, _parts(study))))


def _parts(study: Study) -> Iterator[Path]:
    for path, figure in study.figures:
        if figure.name is None and not figure.is_distribution:
            yield path
    yield from (
        ("conclude", kind_of(conclusion))
        for conclusion in study.conclude
        if isinstance(conclusion, NOT_DRAWN)
    )


def kind_of(conclusion: Conclusion) -> str:
    """The key that tells a conclusion from others: the first of its own."""
    fields = type(conclusion).model_fields
    own = next(name for name in fields if name not in Conclusion.model_fields)
    return fields[own].alias or own


def shown(path: Path) -> str:
    """A part of a study as messages name it, such as `tables[0].normalise`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
