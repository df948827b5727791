"""A profile with fitted figures, as YAML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from netstudy import wire
from netstudy.calibration.calibrate import Calibration
from netstudy.calibration.model import written as figure_written
from netstudy.documents.source import read
from netstudy.hardware import HardwareLibrary
from netstudy.knobs import Knob, knobs

_WIDTH = 100


def written(library: HardwareLibrary, found: Calibration, source: str) -> str:
    """The text of the profile: fitted figures with their interval, all others as they are."""
    path = library.file(found.profile)
    assert path is not None, "it was fitted"
    data: dict[str, Any] = dict(read(path).data)
    figures: dict[str, Any] = dict(data["figures"])
    known = knobs(wire.Costs)
    for name, value in found.values.items():
        ends = [_figure(known[name], end) for end in found.intervals[name]]
        figures[name] = {
            "value": _figure(known[name], value),
            "source": "fitted",
            "from": source,
            "interval": ends,
        }
    for name, value in found.chosen.items():
        tried = [float(words.split()[-1]) for words in found.costs]
        figures[name] = {
            "value": value,
            "source": "fitted",
            "from": f"{source}; the best of those tried",
            "interval": [int(min(tried)), int(max(tried))],
        }
    return "".join(_lines({**data, "figures": figures}))


def _figure(knob: Knob, value: float) -> Any:
    """A figure to four significant digits: more would be those of chance."""
    return figure_written(knob, float(f"{value:.4g}"))


def _lines(data: dict[str, Any]) -> Iterable[str]:
    for key, value in data.items():
        if key != "figures":
            yield f"{key}: {_scalar(value)}\n"
            continue
        yield "figures:\n"
        for name, said in value.items():
            yield f"  {name}:\n"
            for part, text in said.items():
                yield f"    {part}: {_scalar(text)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    text = str(value)
    needs_quotes = any(mark in text for mark in (": ", " #", '"')) or text[:1] in "\"'[{>|*&!%@`"
    quoted = text.replace("'", "''")
    return f"'{quoted}'" if needs_quotes else text
