"""Tolerances between two runs of a study, which `netstudy compare` applies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from netstudy.documents.fields import Scalar, Text, Typed
from netstudy.study.vocabulary import STANDARD_FIGURES, MetricName, split_metric
from netstudy.units import format_number

_ROUNDING = 1e-12
"""Tolerates rounding errors: 10 % more than 0.7 is not exactly 0.77 in floating point."""
_NUMBER = r"\d+(?:\.\d+)?"
_BAND = re.compile(rf"(?:(?P<pct>{_NUMBER})\s*%)?(?P<both>\s*or\s*)?(?P<absolute>{_NUMBER})?")


@dataclass(frozen=True)
class Band:
    """Tolerated difference between two values. If both bounds are given, it is enough to meet one
    of them."""

    pct: float | None
    """Bound in percent of the first value."""
    absolute: float | None
    """Bound in the metric's own unit, for values near zero, where a percentage means little."""

    @classmethod
    def parse(cls, text: str) -> Band:
        """Read `10 %`, `0.5` or `10 % or 0.5`. Raises ValueError."""
        match = _BAND.fullmatch(text.strip())
        given = (match["pct"], match["absolute"]) if match else (None, None)
        if match is None or given == (None, None) or bool(match["both"]) != all(given):
            raise ValueError(f'"{text}" is not a band; write 10 %, 0.5, or 10 % or 0.5')
        pct, absolute = (None if value is None else float(value) for value in given)
        return cls(pct, absolute)

    def holds(self, first: float, second: float) -> bool:
        """Whether the second value is within the tolerance."""
        return abs(second - first) <= self.reach(first) * (1 + _ROUNDING)

    def reach(self, first: float) -> float:
        """The largest tolerated distance from the first value."""
        relative = 0.0 if self.pct is None else abs(first) * self.pct / 100
        return max(relative, self.absolute or 0.0)

    def __str__(self) -> str:
        """As a study may write it."""
        relative = None if self.pct is None else f"{format_number(self.pct)} %"
        absolute = None if self.absolute is None else format_number(self.absolute)
        return " or ".join(part for part in (relative, absolute) if part is not None)


@dataclass(frozen=True)
class Bands:
    """The bands of a comparison."""

    named: Mapping[MetricName | str, Band]
    """Metric, or short name of a standard figure -> its band. A metric in this map must have been
    measured."""
    other: Band | None = None
    """The band of all other metrics; None: they are shown, but not judged."""
    asked: Mapping[MetricName | str, Band] = field(default_factory=dict)
    """Bands from the command line, which replace the study's."""


class _BandText(Scalar):
    """A percentage, a number in the metric's unit, or both joined by `or`."""

    def parse(self, value: object) -> Band:
        """Read a band."""
        return Band.parse(Text().parse(value))

    def json_schema(self) -> dict[str, Any]:
        """A number, or text."""
        pattern = rf"^({_NUMBER} *%( *or *{_NUMBER})?|{_NUMBER})$"
        text = {"type": "string", "pattern": pattern, "examples": ["10 %", "20 % or 0.5"]}
        return {"anyOf": [{"type": "number", "minimum": 0}, text]}


class _AgreedMetric(Scalar):
    """A metric, or the short name of its standard figure."""

    def parse(self, value: object) -> MetricName | str:
        """Read the name of a metric or of a standard figure."""
        name = Text().parse(value)
        return name if name in STANDARD_FIGURES else split_metric(name)

    def json_schema(self) -> dict[str, Any]:
        """A name."""
        return {"type": "string", "pattern": r"^\w+$"}


BandValue = Annotated[Band, Typed(_BandText(), refs=False)]
AgreedMetric = Annotated[MetricName | str, Typed(_AgreedMetric(), refs=False)]


def agreed_metric(name: str) -> MetricName | str:
    """The metric, or the name of a standard figure. Raises ValueError for any other."""
    return _AgreedMetric().parse(name)
