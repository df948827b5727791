"""Writes fitted figures into profiles, as YAML: all other text stays unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import PlainScalarString, ScalarString

from netstudy.calibration.figures import Figure
from netstudy.calibration.lists import Interval

_UNBROKEN = 10_000
"""Maximum line width, large enough that no existing line is wrapped."""
_ANCHOR = "calibrated"
"""YAML anchor of a source that several figures share."""


@dataclass(frozen=True)
class Fitted:
    """The new value of a figure."""

    value: float
    interval: Interval
    source: str | None = None
    """The data or command of the fit, written as "from"; None: the profile's source stays
    unchanged."""


def written(path: Path, found: Mapping[Figure, Fitted]) -> bytes:
    """The text of a profile with the new values and intervals of its figures."""
    yaml = YAML()
    yaml.width = _UNBROKEN
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = yaml.load(path.read_text(encoding="utf-8"))
    for figure, fitted in found.items():
        if figure.profile == path.stem:
            _put(document.setdefault(figure.section, CommentedMap()), figure, fitted)
    for source in dict.fromkeys(fitted.source for fitted in found.values()):
        if source is not None:
            _say_once(document, source)
    stream = BytesIO()
    yaml.dump(document, stream)
    return stream.getvalue()


def _put(section: Any, figure: Figure, fitted: Fitted) -> None:
    said = section.setdefault(figure.knob.name, CommentedMap())
    if "value" not in said or figure.read(said["value"]) != fitted.value:
        said["value"] = figure.written(fitted.value)
    if fitted.source is not None:
        said["source"], said["from"] = "fitted", fitted.source
    ends = CommentedSeq(
        [figure.written(end) for end in (fitted.interval.low, fitted.interval.high)]
    )
    ends.fa.set_flow_style()
    _put_before(said, "interval", ends, "others")


def _say_once(document: Any, source: str) -> None:
    """If several figures have the same source, write its text only once: at the first figure, with
    YAML aliases at the others."""
    every = [
        said
        for section in document.values()
        if isinstance(section, CommentedMap)
        for said in section.values()
        if isinstance(said, CommentedMap) and "from" in said
    ]
    own = [said for said in every if said["from"] == source]
    if len(own) < 2:
        return
    others = [said["from"] for said in every if said["from"] != source]
    taken = {one.anchor.value for one in others if isinstance(one, ScalarString) and one.anchor}
    free = (name for n in count(1) if (name := f"{_ANCHOR}-{n}" if n > 1 else _ANCHOR) not in taken)
    shared = PlainScalarString(source, anchor=next(free))
    for said in own:
        said["from"] = shared


def _put_before(figure: Any, key: str, value: object, follower: str) -> None:
    """Set a key; a new key is inserted before `follower`, if that exists, else at the end."""
    if key in figure:
        figure[key] = value
    else:
        names = list(figure)
        figure.insert(names.index(follower) if follower in names else len(names), key, value)
