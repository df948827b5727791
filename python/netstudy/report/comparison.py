"""The comparison of two results folders as tables and sentences, and as data for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from netstudy.analysis.comparison import CellPair, Difference, Setting
from netstudy.analysis.folder_verdicts import BASE, NEW
from netstudy.documents.problems import listed
from netstudy.report.appendix import UNSET, setting_text
from netstudy.report.cellrefs import count, metric_number, treatment_text
from netstudy.report.folder_verdicts import verdicts_data
from netstudy.report.numbers import SMALLEST, level_text, scale_of
from netstudy.report.prose.words import things
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import (
    Group,
    Table,
    Value,
    bare,
    bare_interval,
    bare_percent,
    numeric_level,
)

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow
    from netstudy.analysis.comparison import Apart, FolderComparison
    from netstudy.analysis.folder_verdicts import FolderVerdicts
    from netstudy.analysis.intervals import Estimate, Interval
    from netstudy.analysis.metrics import Metric
    from netstudy.store import Folder


MINUS = "NEW − BASE"
OF_BASE = "% of BASE"
SIGNIFICANT = 3
"""The smallest value in a table is rounded to at least this number of digits, so that different
values look different."""


@dataclass(frozen=True)
class Side:
    """One of the two folders: its path, and where its results come from."""

    folder: str
    testbed: str
    facts: dict[str, str]
    """Other facts that may explain differences: versions, seed, machine."""


def side_of(folder: Folder) -> Side:
    """Where the results in a folder come from."""
    invocation, engine, machine = folder.invocation(), folder.engine(), folder.environment()
    facts = {
        "study": folder.study().study,
        "netstudy": invocation.versions.get("netstudy"),
        "engine": engine.version if engine else None,
        "seed": str(invocation.seed),
        "variant": invocation.variant,
        "scale": invocation.scale,
        "kernel": machine.get("kernel"),
        "CPU": machine.get("cpu"),
    }
    known = {name: str(value) for name, value in facts.items() if value is not None}
    return Side(str(folder.path), invocation.testbed, known)


def sides_table(a: Side, b: Side) -> Table:
    """A table of the two folders and where their results come from; facts that are equal in both
    are left out."""
    names = dict.fromkeys((*a.facts, *b.facts))
    rows: list[tuple[Value, ...]] = [
        (Name("folder"), Name(a.folder), Name(b.folder)),
        (Name("testbed"), Name(a.testbed), Name(b.testbed)),
    ]
    for name in names:
        if a.facts.get(name) != b.facts.get(name):
            rows.append((Name(name), *(_fact(side.facts.get(name)) for side in (a, b))))
    groups = (Group(""), Group(BASE), Group(NEW))
    return Table("sides", say("Compared folders"), groups, tuple(rows), sortable=False)


def _fact(text: str | None) -> Name | None:
    return None if text is None else Name(text)


def settings_table(settings: Sequence[Setting]) -> Table:
    """A table of the settings that differ between the two plans in matched cells."""
    rows = tuple(
        (Name(one.path), _settings_text(one, one.a), _settings_text(one, one.b)) for one in settings
    )
    groups = (Group("setting"), Group(BASE), Group(NEW))
    return Table("settings", say("Settings that differ between the two plans"), groups, rows)


def _settings_text(setting: Setting, values: Sequence[Any]) -> Name:
    name = setting.path.rpartition(".")[2]
    return Name(listed([_value_text(name, value) for value in values], last="or"))


def _value_text(name: str, value: object) -> str:
    return UNSET if value is None else setting_text(name, value)


def metric_tables(found: FolderComparison) -> Iterator[Table]:
    """One table for each metric that either folder measured: both values, the difference, the
    band."""
    for metric in found.metrics:
        pairs = [(pair, one) for pair in found.pairs for one in _of(pair, metric)]
        if any(one.a or one.b for _, one in pairs):
            yield _metric_table(metric, pairs)


def bands_table(found: FolderComparison) -> Table:
    """One table, for a page, with every value that has a band."""
    judged = [(pair, one) for pair in found.pairs for one in pair.differences if one.outcome]
    factors = tuple(dict.fromkeys(name for pair, _ in judged for name in pair.treatment))
    heads = ("metric", BASE, NEW, MINUS, "95 % interval", OF_BASE, "band", "NEW lies")
    rows = tuple(
        (
            *(numeric_level(pair.treatment.get(factor), factor) for factor in factors),
            *_with_unit(one.metric, _values(pair, one, _shown(one.metric, [(pair, one)]))),
            *_judged(one),
        )
        for pair, one in judged
    )
    groups = tuple(map(Group, (*factors, *heads)))
    return Table("bands", say("Values that have a band"), groups, rows, stub=len(factors) + 1)


def _with_unit(metric: Metric, values: Sequence[Value]) -> tuple[Value, ...]:
    """The name of a row's metric with the most readable unit, and the values in this unit."""
    shown = [one for one in values if isinstance(one, Number)]
    scale = scale_of(metric.unit, [end for one in shown if one.shown for end in one.shown.values])
    title = f"{metric.title} ({scale.unit})" if scale.unit else metric.title
    scaled = (one.scaled(scale.power) if isinstance(one, Number) else one for one in values)
    return Name(title), *scaled


def _of(pair: CellPair, metric: Metric) -> Iterator[Difference]:
    return (one for one in pair.differences if one.metric == metric)


def _metric_table(metric: Metric, pairs: Sequence[tuple[CellPair, Difference]]) -> Table:
    factors = tuple(dict.fromkeys(name for pair, _ in pairs for name in pair.treatment))
    banded = any(one.band is not None for _, one in pairs)
    shown = _shown(metric, pairs)
    groups = (
        *(Group(factor) for factor in factors),
        Group("Value", metric.unit, columns=(BASE, NEW)),
        Group(MINUS, metric.unit, columns=("value", "95 % interval", OF_BASE)),
        *((Group("Band", columns=("declared", "NEW lies")),) if banded else ()),
    )
    rows = tuple(
        (
            *(numeric_level(pair.treatment.get(factor), factor) for factor in factors),
            *_values(pair, one, shown),
            *(_judged(one) if banded else ()),
        )
        for pair, one in pairs
    )
    caption = say("{metric}", metric=Name(metric.title))
    return Table(f"compare-{metric.figure}", caption, groups, rows, stub=len(factors))


def _shown(metric: Metric, pairs: Sequence[tuple[CellPair, Difference]]) -> Metric:
    """The metric with enough decimals to distinguish its smallest values."""
    estimates = (estimate for _, one in pairs for estimate in (one.a, one.b))
    sizes = [abs(estimate.value) for estimate in estimates if estimate and estimate.value]
    wanted = SIGNIFICANT - 1 - math.floor(math.log10(min(sizes))) if sizes else 0
    return replace(metric, decimals=max(metric.decimals, min(wanted, SMALLEST)))


def _values(pair: CellPair, one: Difference, metric: Metric) -> tuple[Value, ...]:
    where = treatment_text(pair.treatment)
    return (
        *(
            bare(side.value, metric, f"{name}, {where}", interval=side.interval) if side else None
            for name, side in ((BASE, one.a), (NEW, one.b))
        ),
        bare(one.value, metric, f"{MINUS}, {where}", interval=one.interval),
        bare_interval(one.interval, metric.decimals, f"95 % interval of {MINUS}, {where}"),
        None if one.pct is None else bare_percent(one.pct, f"({MINUS}) ÷ BASE, {where}"),
    )


def _judged(one: Difference) -> tuple[Value, ...]:
    band = None if one.band is None else Name(str(one.band))
    return band, Name(outcome_text(one)) if one.outcome else None


def outcome_text(one: Difference) -> str:
    """Inside or outside the band; followed by "not sure" if the interval allows both."""
    return f"{one.outcome}, not sure" if one.sure is False else f"{one.outcome}"


def sentences(found: FolderComparison) -> Iterator[Sentence]:
    """How many cells were matched, which were not, and how many values are inside their bands."""
    yield say(
        "{n} of cells matched{by}.",
        n=things(count(len(found.pairs), "pairs of cells"), "pair"),
        by=say(" by {factors}", factors=join([Name(name) for name in found.matched_by]))
        if found.matched_by
        else say(""),
    )
    yield from map(_apart_text, found.apart)
    for name, rows in ((BASE, found.only_a), (NEW, found.only_b)):
        if rows:
            yield say(
                "{n} only in {side}: {cells}.",
                n=things(count(len(rows), f"cells only in {name}"), "cell"),
                side=Name(name),
                cells=Name("; ".join(treatment_text(row.treatment) for row in rows)),
            )
    yield from _no_numbers(found)
    if found.judged:
        yield say(
            "{kept} of {n} with a band lie inside it.",
            kept=count(found.judged - len(found.broken), "values inside their band"),
            n=things(count(found.judged, "values that have a band"), "value"),
        )


def _apart_text(one: Apart) -> Sentence:
    factor = Name(one.factor)
    if one.a and one.b:
        return say(
            "{factor} is {a} in BASE and {b} in NEW; cells were not matched by it.",
            factor=factor,
            a=_levels(one.a),
            b=_levels(one.b),
        )
    side, levels = (BASE, one.a) if one.a else (NEW, one.b)
    return say(
        "{factor} is a factor only in {side} ({levels}).",
        factor=factor,
        side=Name(side),
        levels=_levels(levels),
    )


def _levels(levels: Sequence[Any]) -> Name:
    return Name(listed([level_text(level) for level in levels]))


def _no_numbers(found: FolderComparison) -> Iterator[Sentence]:
    """For each of the two folders: the number of runs left out, and the cells that have no other
    runs."""
    for name, rows in (
        (BASE, _distinct([pair.a for pair in found.pairs])),
        (NEW, _distinct([pair.b for pair in found.pairs])),
    ):
        # Missing runs may still be made, so they are counted separately from failed and invalid
        # ones.
        missing = sum(one.kind == "missing" for row in rows for one in row.problems)
        bad = sum(len(row.problems) for row in rows) - missing
        if bad:
            yield say(
                "{n} of {side} failed or {verb} invalid, and left out.",
                n=things(count(bad, f"runs of {name} without numbers"), "run"),
                side=Name(name),
                verb=Name("is" if bad == 1 else "are"),
            )
        if missing:
            yield say(
                "{n} of {side} {verb} missing.",
                n=things(count(missing, f"missing runs of {name}"), "run"),
                side=Name(name),
                verb=Name("is" if missing == 1 else "are"),
            )
        if empty := [row for row in rows if not row.runs]:
            yield say(
                "{n} without a valid run in {side}: {cells}.",
                n=things(count(len(empty), f"cells of {name} without a run"), "cell"),
                side=Name(name),
                cells=Name("; ".join(treatment_text(row.treatment) for row in empty)),
            )


def _distinct(rows: Sequence[CellRow]) -> list[CellRow]:
    return list({id(row): row for row in rows}.values())


def comparison_tables(a: Side, b: Side, found: FolderComparison) -> tuple[Table, ...]:
    """The tables of the two folders, of the settings that differ, and of each metric."""
    settings = [settings_table(found.settings)] if found.settings else []
    return (sides_table(a, b), *settings, *metric_tables(found))


def as_data(a: Side, b: Side, found: FolderComparison, verdicts: FolderVerdicts) -> dict[str, Any]:
    """The whole comparison as data for programs."""
    return {
        "verdicts": verdicts_data(verdicts),
        "a": {"folder": a.folder, "testbed": a.testbed, **a.facts},
        "b": {"folder": b.folder, "testbed": b.testbed, **b.facts},
        "matched_by": list(found.matched_by),
        "not_matched_by": {one.factor: {"a": list(one.a), "b": list(one.b)} for one in found.apart},
        "settings": {one.path: {"a": list(one.a), "b": list(one.b)} for one in found.settings},
        "cells": [
            {
                "treatment": pair.treatment,
                "metrics": {one.metric.name: _difference_data(one) for one in pair.differences},
            }
            for pair in found.pairs
        ],
        "only_a": [row.treatment for row in found.only_a],
        "only_b": [row.treatment for row in found.only_b],
        "judged": found.judged,
        "broken": len(found.broken),
    }


def _difference_data(one: Difference) -> dict[str, Any]:
    return {
        "a": _estimate_data(one.a),
        "b": _estimate_data(one.b),
        "difference": one.value,
        "interval": _interval_data(one.interval),
        "difference_pct": one.pct,
        "band": None if one.band is None else str(one.band),
        "outcome": one.outcome,
        "sure": one.sure,
    }


def _estimate_data(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "interval": _interval_data(estimate.interval), "n": estimate.n}


def _interval_data(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def broken(found: FolderComparison) -> tuple[Sentence, ...]:
    """A sentence for each value outside its band."""
    return tuple(_broken_text(pair, one) for pair, one in found.broken)


def _broken_text(pair: CellPair, one: Difference) -> Sentence:
    where = Name(treatment_text(pair.treatment) or "the one cell")
    if one.outcome == "not measured":
        side = BASE if one.a is None else NEW
        return say(
            "{metric} at {where} was not measured in {side}.",
            metric=Name(one.metric.name),
            where=where,
            side=Name("BASE and NEW" if one.a is one.b else side),
        )
    assert one.value is not None, "a value outside its band was measured"
    return say(
        "{metric} at {where}: {difference}{pct}, allowed {band}.",
        metric=Name(one.metric.name),
        where=where,
        difference=metric_number(one.value, one.metric, MINUS),
        pct=say(" ({pct} %)", pct=bare_percent(one.pct, f"({MINUS}) ÷ BASE"))
        if one.pct
        else say(""),
        band=Name(str(one.band)),
    )
