"""The parameters of the laws that are fitted in a figure: in words, or as tables if there are
many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from netstudy.analysis.fits import LAWS, Fitted, Parameter
from netstudy.analysis.intervals import Interval
from netstudy.analysis.metrics import Metric
from netstudy.documents.problems import listed
from netstudy.report.numbers import significant_text
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table, Value, bare_percent, numeric_level
from netstudy.wire import Treatment

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
"""Unit of a time -> seconds, for the metrics of size laws."""
_DIGITS = 3
_SHORT_S = 0.1
"""Latencies below this are given in milliseconds."""
WORDS_MAX = 2
"""Up to this many fits are described in a figure's caption; more are in a table."""


@dataclass(frozen=True)
class Shown:
    """A parameter as the report shows it, such as a bandwidth instead of a time per byte."""

    name: str
    unit: str
    value: float
    interval: Interval | None


@dataclass(frozen=True, eq=False)
class SeriesFit:
    """A law fitted to the runs of one line of a figure."""

    held: Treatment
    """The levels of the panel."""
    series: str
    metric: Metric
    fitted: Fitted
    errors_pct: Mapping[str, float]
    """Level along x -> error of the law: law minus cell value, in percent of the cell value."""

    def shown(self) -> list[Shown]:
        """The parameters of the law."""
        scale = SECONDS.get(self.metric.unit)
        return [_shown(one, self.metric.unit, scale) for one in self.fitted.parameters]

    @property
    def text(self) -> str:
        """The law with its parameters and their 95 % intervals, as a sentence."""
        who = f"{self.series}: " if self.series else ""
        fit = f"{who}{self.fitted.law.name} fit: {', '.join(map(_words, self.shown()))}"
        error = f"largest error {self.error().text} %, at {self.furthest}."
        return f"{fit}; {error} {self.doubt}".rstrip()

    @property
    def furthest(self) -> str:
        """The level at which the law is furthest from the measured value."""
        return max(self.errors_pct, key=lambda level: abs(self.errors_pct[level]))

    def error(self) -> Number:
        """The largest error in percent of the measured value, negative if the law is lower."""
        source = f"{self.fitted.law.name} less the cell's value, in % of it, {self.metric.name}"
        where = f", {self.where}" if self.where else ""
        return bare_percent(self.errors_pct[self.furthest], f"{source}{where}")

    @property
    def where(self) -> str:
        """The levels of the panel, and the name of the line."""
        held = [f"{name}={level}" for name, level in self.held.items()]
        return ", ".join([*held, *([self.series] if self.series else [])])

    @property
    def doubt(self) -> str:
        """A sentence that says that the points do not follow the law, if a negative parameter shows
        this."""
        names = self.fitted.meaningless
        if not names:
            return ""
        text = f"{listed(names)} below zero mean{'s' * (len(names) == 1)} nothing"
        return f"{text[0].upper()}{text[1:]}: the points do not follow this law."


def _shown(one: Parameter, unit: str, scale: float | None) -> Shown:
    if one.name == "time a byte" and scale and one.value > 0:
        return _bandwidth(one, scale)
    if one.name == "latency" and scale and abs(one.value) * scale < _SHORT_S:
        return Shown(one.name, "ms", *_times(one, scale * 1e3))
    return Shown(
        one.name, unit if one.name in ("latency", "intercept") else "", one.value, one.interval
    )


def _times(one: Parameter, factor: float) -> tuple[float, Interval | None]:
    found = one.interval
    scaled = None if found is None else Interval(found.low * factor, found.high * factor)
    return one.value * factor, scaled


def _bandwidth(one: Parameter, scale: float) -> Shown:
    """The bandwidth that corresponds to a time per byte."""

    def mbps(each: float) -> float:
        return 8 / (each * scale) / 1e6

    found = one.interval
    ends = None if found is None or found.low <= 0 else Interval(mbps(found.high), mbps(found.low))
    return Shown("bandwidth", "Mbit/s", mbps(one.value), ends)


def _words(one: Shown) -> str:
    unit = f" {one.unit}" if one.unit else ""
    text = f"{one.name} {significant_text(one.value, _DIGITS)}{unit}"
    if one.interval is None:
        return text
    low, high = (significant_text(end, _DIGITS) for end in (one.interval.low, one.interval.high))
    return f"{text} (95 % CI {low} to {high}{unit})"


def fits_tables(found: Sequence[SeriesFit], title: str, key: str) -> Iterator[Table]:
    """One table for each law, with one row for each line; no tables if the caption has all
    parameters."""
    if len(found) <= WORDS_MAX:
        return
    laws = list(LAWS)
    # Equal laws must be adjacent for `groupby`, in an order that does not depend on the lines.
    by_law = sorted(found, key=lambda one: [LAWS[law] for law in laws].index(one.fitted.law))
    for law, own in groupby(by_law, key=lambda one: one.fitted.law):
        rows = list(own)
        held = list(dict.fromkeys(name for one in rows for name in one.held))
        has_series = any(one.series for one in rows)
        groups = (
            *(Group(name) for name in held),
            *((Group("line"),) if has_series else ()),
            *(
                Group(one.name, one.unit, columns=("value", "95 % interval"))
                for one in rows[0].shown()
            ),
            Group("Error", "%", columns=("largest", "at")),
        )
        yield Table(
            f"{key}-{law.name.lower().split(' ')[0]}",
            say("{title}: {law}", title=Name(title), law=Name(f"fits of {law.name}")),
            groups,
            tuple(_row(one, held, has_series=has_series) for one in rows),
            stub=max(1, len(held) + has_series),
            notes=tuple(_notes(rows)),
        )


def _notes(rows: Sequence[SeriesFit]) -> Iterator[str]:
    """Each doubt once, with the lines that it concerns."""
    for text in dict.fromkeys(one.doubt for one in rows if one.doubt):
        own = [one.where for one in rows if one.doubt == text]
        yield f"{listed(own)}: {text}" if len(own) < len(rows) else text


def _row(one: SeriesFit, held: Sequence[str], *, has_series: bool) -> tuple[Value, ...]:
    where = one.where
    cells: list[Value] = [numeric_level(one.held.get(name), name) for name in held]
    if has_series:
        cells.append(Name(one.series))
    for shown in one.shown():
        source = f"{shown.name} of {one.fitted.law.name}, {one.metric.name}, {where}"
        cells.append(Number(shown.value, significant_text(shown.value, _DIGITS), source))
        cells.append(_interval(shown.interval, source))
    return (*cells, one.error(), Name(one.furthest))


def _interval(found: Interval | None, source: str) -> Number | None:
    if found is None:
        return None
    low, high = (significant_text(end, _DIGITS) for end in (found.low, found.high))
    return Number((found.low + found.high) / 2, f"{low} to {high}", f"95 % interval, {source}")
