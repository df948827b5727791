"""Profiles with fitted figures, as YAML: all else stays as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from netstudy.calibration.figures import Figure
from netstudy.calibration.lists import Interval

_UNBROKEN = 10_000
"""No line that is there is broken anew."""


@dataclass(frozen=True)
class Fitted:
    """What a figure became."""

    value: float
    interval: Interval
    source: str | None = None
    """What it was fitted to; None: what the profile says of that stays."""


def written(path: Path, found: Mapping[Figure, Fitted]) -> bytes:
    """The text of a profile with these of its figures, each with its interval."""
    yaml = YAML()
    yaml.width = _UNBROKEN
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = yaml.load(path.read_text(encoding="utf-8"))
    for figure, fitted in found.items():
        if figure.profile == path.stem:
            _put(document.setdefault(figure.section, CommentedMap()), figure, fitted)
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


def _put_before(figure: Any, key: str, value: object, follower: str) -> None:
    """Set a key, in front of another one where that is there."""
    if key in figure:
        figure[key] = value
    else:
        names = list(figure)
        figure.insert(names.index(follower) if follower in names else len(names), key, value)
