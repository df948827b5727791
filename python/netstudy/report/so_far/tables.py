"""The tables of an unfinished study: its cells with their numbers of runs, and its comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from netstudy.analysis.case_result import CaseResult
from netstudy.analysis.cells import CellRow
from netstudy.analysis.metrics import Metric
from netstudy.analysis.preliminary import PreliminaryPair, PreliminaryTable
from netstudy.analysis.study_result import StudyResult
from netstudy.report.cellrefs import (
    cell_number,
    column_decimals,
    count,
    plain,
    treatment_text,
    with_margin,
)
from netstudy.report.numbers import full_level, headed_level
from netstudy.report.prose.words import NOTHING, in_panel
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.report.tables import Group, Table, Value, bare_interval, lacking_text, numeric_level


def cells_table(result: StudyResult, case: CaseResult, table_id: str) -> Table:
    """One row for each cell: its levels, its runs, and its values so far."""
    rows = result.cells.of_case(case.name)
    metrics = tuple(dict.fromkeys((result.deciding, *result.headline)))
    decimals = {metric: column_decimals(rows, metric) for metric in metrics}
    factors = tuple(case.layout.factors)
    kinds = [(name, of) for name, of in _KINDS if name == "missing" or any(map(of, rows))]
    several = len(result.cases) > 1
    of_case = say(" of test case {name}", name=Name(case.name)) if several else NOTHING
    caption = say("Runs and values{of_case}", of_case=of_case)
    groups = (
        *map(Group, factors),
        Group("Runs", columns=("valid", *(name for name, _ in kinds))),
        *(Group(metric.title, metric.unit, metric.better) for metric in metrics),
    )
    lines = tuple(
        (
            *(numeric_level(row.treatment.get(factor), factor) for factor in factors),
            _valid(row),
            *(count(of(row), f"{name} runs") for name, of in kinds),
            *(_value(row, metric, decimals[metric]) for metric in metrics),
        )
        for row in rows
    )
    return Table(table_id, caption, groups, lines, stub=len(factors), notes=_single(rows))


def _single(rows: Iterable[CellRow | None]) -> tuple[Sentence, ...]:
    """A note if a cell has a single run: batches of a run say nothing of how runs differ."""
    if not any(row is not None and len(row.runs) == 1 for row in rows):
        return ()
    return (say("A single valid run shows no variation between runs, and ± leaves it out."),)


def _number_of(*kinds: str) -> Callable[[CellRow], int]:
    return lambda row: sum(one.kind in kinds for one in row.problems)


_KINDS = (
    ("failed", _number_of("failed")),
    ("invalid", _number_of("invalid", "limited")),
    ("missing", _number_of("missing")),
)


def _valid(row: CellRow | None) -> Number | None:
    """The number of valid runs of a cell, of its planned runs: "3 of 5"."""
    if row is None:
        return None
    source = f"valid runs, of the planned runs, {treatment_text(row.treatment)}"
    return Number(len(row.runs), f"{len(row.runs)} of {len(row.planned)}", source)


def _value(row: CellRow | None, metric: Metric, decimals: int) -> Number | None:
    found = cell_number(row, metric, decimals=decimals)
    return None if row is None or found is None else with_margin(found, row, metric)


def preliminary_table(found: PreliminaryTable, table_id: str) -> Table:
    """One row for each value of x: both values and their numbers of runs, the change with its
    interval so far, and the level that is ahead."""
    metric, panel = found.metric, found.panel
    pair = tuple(headed_level(found.factor, one) for one in (found.level, found.base))
    sign = "−" if metric.is_share else "relative to"
    head = () if panel.x is None else (Group(panel.x),)
    groups = (
        *head,
        Group(metric.title, metric.unit, columns=pair),
        Group("Valid runs", columns=pair),
        Group(
            "Change so far",
            "percentage points" if metric.is_share else "%",
            columns=("value", "95 % interval"),
            meaning=f"{pair[0]} {sign} {pair[1]}",
        ),
        Group("Preliminary"),
    )
    cells = [cell for one in found.pairs for cell in (one.a, one.base)]
    decimals = column_decimals(cells, metric)
    caption = say(
        "Preliminary: {metric}, {a} against {b}{held}",
        metric=Name(metric.label),
        a=Name(full_level(found.factor, found.level)),
        b=Name(full_level(found.factor, found.base)),
        held=in_panel(panel),
    )
    rows = tuple(_row(one, found, decimals) for one in found.pairs)
    is_within = any(one.is_within_noise for one in found.pairs)
    noise = (_noise(found.noise_pct),) if is_within and found.noise_pct is not None else ()
    notes = (*noise, *_single(cells))
    return Table(table_id, caption, groups, rows, stub=len(head), notes=notes)


def _noise(noise_pct: float) -> Sentence:
    return say(
        "Within the noise: by less than the study’s noise of {noise}.",
        noise=plain(noise_pct, 1, "%", "noise of the study"),
    )


def _row(one: PreliminaryPair, found: PreliminaryTable, decimals: int) -> tuple[Value, ...]:
    metric, x = found.metric, found.panel.x
    source = f"change of {metric.name}{'' if x is None else f', {x}={one.x}'}"
    digits = max(1, metric.decimals) if metric.is_share else 1
    return (
        *(() if x is None else (numeric_level(one.x, x),)),
        _value(one.a, metric, decimals),
        _value(one.base, metric, decimals),
        _valid(one.a),
        _valid(one.base),
        None if one.change is None else plain(one.change, digits, "", source, one.interval),
        bare_interval(one.interval, digits, f"95 % interval of the runs so far, {source}"),
        Name(_standing(one, found)),
    )


def _standing(one: PreliminaryPair, found: PreliminaryTable) -> str:
    """Which level is ahead so far, in words."""
    if not one.has_values:
        cells = [cell for cell in (one.a, one.base) if cell is not None]
        lacking = [lack for cell in cells if (lack := cell.lacking(found.metric)) is not None]
        if lacking:
            return lacking_text(lacking[0])
        is_complete = all(len(cell.runs) == len(cell.planned) for cell in cells)
        return "no value" if is_complete else "no value yet"
    if one.ahead is None:
        return "equal"
    if one.is_within_noise:
        return "within the noise"
    is_neutral = found.metric.direction == "neutral"
    return f"{full_level(found.factor, one.ahead)} {'larger' if is_neutral else 'ahead'}"
