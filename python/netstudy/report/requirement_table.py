"""The requirements of a study as a table: condition, worst cell, outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from netstudy.analysis.metrics import Metric
from netstudy.analysis.requirements import CheckedRequirement
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import (
    cell_number,
    interval_number,
    metric_number,
    treatment_text,
)
from netstudy.report.numbers import counted, exact_text, level_text
from netstudy.report.prose.change import told_apart
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table, Value, lacking_text
from netstudy.study.outcome import Bound
from netstudy.wire import Level


def requirements_table(found: Sequence[CheckedRequirement]) -> Table:
    """One row for each requirement. Its worst cell is the one that breaks the bound most or, if
    none does, is closest to it."""
    groups = (
        Group("Required"),
        Group("At"),
        Group("Outcome"),
        Group("Cells"),
        Group("Worst cell", columns=("value", "95 % interval", "where")),
    )
    rows = tuple(map(_row, found))
    return Table("requirements", say("Requirements of the study"), groups, rows, stub=2)


def _row(one: CheckedRequirement) -> tuple[Value, ...]:
    worst = one.worst
    value = interval = where = None
    if worst is not None and one.metric is not None:
        value = worst_number(one)
        assert worst.estimate is not None, "the worst cell is one that was measured"
        about = f"95 % interval of {one.metric.name}"
        bounds = worst.estimate.interval
        interval = interval_number(bounds, one.metric.decimals, one.metric.unit, about)
        where = Name(treatment_text(worst.cell.treatment))
    return (
        Name(condition_text(one)),
        Name(where_text(one)),
        Name(too_few(one) or one.outcome),
        Number(len(one.cells), str(len(one.cells)), "cells that it speaks of"),
        value,
        interval,
        where,
    )


def worst_number(one: CheckedRequirement) -> Number | None:
    """The value of the worst cell, with enough digits to distinguish it from the bound."""
    if one.worst is None or one.metric is None:
        return None
    found = cell_number(one.worst.cell, one.metric, unit=True)
    if found is None:
        return None
    # The digits are not limited by the uncertainty here, since the unrounded value is compared with
    # the bound.
    value = replace(metric_number(found.value, one.metric, ""), source=found.source)
    bound = metric_number(one.bound.value, one.metric, "the bound")
    return told_apart(value, bound, one.metric)[0]


def too_few(one: CheckedRequirement) -> str | None:
    """For a percentile that was not measured: "too few …" samples, as the reason; None in all other
    cases."""
    if one.outcome != "not measured" or one.metric is None:
        return None
    lacking = [found for held in one.cells if (found := held.cell.lacking(one.metric)) is not None]
    fewest = min(lacking, key=lambda found: found.samples, default=None)
    return None if fewest is None else lacking_text(fewest)


def condition_text(one: CheckedRequirement) -> str:
    """The condition as text, with its unit."""
    return bound_text(one.bound, one.metric)


def bound_text(bound: Bound, metric: Metric | None) -> str:
    """A bound as text, with the unit of its metric."""
    number = exact_text(bound.value, metric.unit if metric else "")
    return f"{bound.metric} {bound.sign} {number}"


def where_text(one: CheckedRequirement) -> str:
    """The levels at which the requirement must hold."""
    return at_text(one.at, one.partly) or "every cell"


def at_text(at: Mapping[str, Sequence[Level]], partly: Mapping[str, Sequence[Level]]) -> str:
    """The levels at which a condition must hold, such as "2 to 4 servers (this run has 2 and 4)";
    empty for all levels. `partly` has, for factors of which this run has only some of these levels,
    the levels that it has."""
    return "; ".join(
        counted(name, listed([_span_text(level) for level in levels])) + _of_these(partly.get(name))
        for name, levels in at.items()
    )


def _of_these(levels: Sequence[Level] | None) -> str:
    return f" (this run has {listed([level_text(level) for level in levels])})" if levels else ""


def _span_text(level: Level) -> str:
    """A level; a span, which a study writes as 2..4, becomes "2 to 4"."""
    return level_text(level).replace("..", " to ")


def requirement_text(one: CheckedRequirement) -> str:
    """One line: the condition, the levels at which it must hold, and the worst cell."""
    condition = f"{condition_text(one)} at {where_text(one)}"
    if one.outcome == "not in this run":
        return f"{condition}: not in this run"
    if one.worst is None or one.metric is None:
        return f"{condition}: {too_few(one) or 'not measured'}"
    value = worst_number(one)
    at = treatment_text(one.worst.cell.treatment)
    not_measured = ", other cells not measured" if one.outcome == "not measured" else ""
    return f"{condition}: worst {value}{f' ({at})' if at else ''}{not_measured}"
