"""The verdicts on two results folders as an answer, a table and sentences, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from netstudy.analysis.folder_verdicts import BASE, NEW, FolderVerdict, FolderVerdicts
from netstudy.analysis.intervals import Interval
from netstudy.report.cellrefs import (
    count,
    interval_number,
    metric_number,
    p_number,
    plain,
    treatment_text,
)
from netstudy.report.prose.change import (
    TIMES,
    Change,
    change_of,
    compared,
    is_endless,
    is_or_are,
    lead,
    size_of,
    told_apart,
)
from netstudy.report.prose.undecided import undecided_pair
from netstudy.report.prose.words import NOTHING, alike, things
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import (
    Group,
    Table,
    Value,
    Verdict,
    bare,
    bare_percent,
    compared_decimals,
    lacking_text,
    numeric_level,
)

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow
    from netstudy.analysis.metrics import Metric
    from netstudy.analysis.verdict import Comparison

FailOn = Literal["different", "worse"]

_NAMED: Final = 3
"""The answer names at most this number of cells of a metric."""
_RATES: Final = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "1/s")
_IN_BASE, _IN_NEW = Name("in BASE"), Name("in NEW")


def failing(found: FolderVerdicts, fail_on: FailOn) -> tuple[FolderVerdict, ...]:
    """The verdicts that fail a check: all differences, or only differences for the worse."""
    different = found.with_outcome("different")
    return tuple(one for one in different if fail_on == "different" or one.is_worse)


def answer(found: FolderVerdicts) -> Sentence:
    """Whether NEW differs from BASE, in which cells, and how many cells show no difference."""
    clauses = [clause for metric in found.metrics for clause in _clauses(found, metric)]
    if clauses:
        different = say("NEW is {clauses}.", clauses=join(clauses, between="; ", last=""))
        return say("{different}{others}", different=different, others=_others(found))
    same = len(found.with_outcome("same"))
    if same == len(found.verdicts):
        return say(
            "NEW is the same as BASE in {cells}: {metrics}{within}.",
            cells=_all_cells(found),
            metrics=_metrics(found.metrics),
            within=_within_noise(found),
        )
    return say(
        "NEW is not shown to differ from BASE in any of {cells}: {metrics}.{others}",
        cells=_cells(found),
        metrics=_metrics(found.metrics),
        others=_others(found),
    )


def _clauses(found: FolderVerdicts, metric: Metric) -> Iterator[Sentence]:
    """For each direction of difference: "slower than BASE in 2 of 6 cells: …"."""
    rows = found.of(metric)
    different = [one for one in rows if one.outcome == "different"]
    for word, chosen in (
        (words(metric)[0], [one for one in different if one.is_worse]),
        (words(metric)[1], [one for one in different if one.is_better]),
        (None, [one for one in different if not one.is_worse and not one.is_better]),
    ):
        if chosen:
            yield say(
                "{how} BASE in {n} of {cells}: {metric} {sizes}",
                how=Name("different from" if word is None else f"{word} than"),
                n=count(len(chosen), f"cells that differ in {metric.name}"),
                cells=things(count(len(rows), f"cells judged by {metric.name}"), "cell"),
                metric=Name(metric.label),
                sizes=_sizes(chosen),
            )


def _sizes(rows: Sequence[FolderVerdict]) -> Sentence:
    """The largest differences with their cells."""
    largest = sorted(rows, key=lambda one: -size_of(one.compared, one.metric))
    told: list[Sentence] = [
        say("{size}{place}", size=_size(one), place=_place(one)) for one in largest[:_NAMED]
    ]
    if len(rows) > _NAMED:
        told.append(say("{n} more", n=count(len(rows) - _NAMED, "further cells that differ")))
    return join(told)


def _place(one: FolderVerdict) -> Sentence:
    where = treatment_text(one.treatment)
    return say(" at {where}", where=Name(where)) if where else NOTHING


def _size(one: FolderVerdict) -> Sentence:
    """The size of a difference: "5.1 % longer"; both values if one of them is zero."""
    change = _change(one)
    row = one.compared
    if not is_endless(change):
        return lead(one.metric, change).without_asides()
    assert row.value is not None, "a cell that differs has a value in both folders"
    assert row.base_value is not None, "a cell that differs has a value in both folders"
    return say(
        "{new} instead of {base}",
        new=metric_number(row.value, one.metric, NEW),
        base=metric_number(row.base_value, one.metric, BASE),
    )


def _change(one: FolderVerdict) -> Change:
    where = treatment_text(one.treatment)
    return change_of(one.compared, f"{one.metric.name}: NEW ÷ BASE, {where}")


def words(metric: Metric) -> tuple[str, str]:
    """The words for a worse and for a better value: "slower" and "faster" for times and rates."""
    is_time = metric.direction == "lower" and metric.unit in TIMES
    is_rate = metric.direction == "higher" and metric.unit in _RATES
    return ("slower", "faster") if is_time or is_rate else ("worse", "better")


def _others(found: FolderVerdicts) -> Sentence:
    """The numbers of verdicts that show no difference; empty if there are none."""
    texts = {"same": "the same", "undecided": "undecided", "missing": "not measured in both"}
    told = [
        say("{n} {text}", n=count(n, f"verdicts: {text}"), text=Name(text))
        for outcome in ("same", "undecided", "missing")
        if (n := len(found.with_outcome(outcome))) and (text := texts[outcome])
    ]
    if not told:
        return NOTHING
    several = len(found.metrics) > 1
    return say(
        " {head}: {told}.",
        head=Name("Other cells and metrics" if several else "Other cells")
        if found.with_outcome("different")
        else Name("Cells and metrics" if several else "Cells"),
        told=join(told),
    )


def _within_noise(found: FolderVerdicts) -> Sentence:
    if found.noise is None or not found.noise.pct:
        return NOTHING
    return say(
        ", within the noise of {noise}",
        noise=plain(found.noise.pct, 1, "%", "noise band"),
    )


def _all_cells(found: FolderVerdicts) -> Sentence:
    cells = len(found.of(found.metrics[0]))
    return say("the one cell") if cells == 1 else say("all {cells}", cells=_cells(found))


def _cells(found: FolderVerdicts) -> Sentence:
    return things(count(len(found.of(found.metrics[0])), "cells of both folders"), "cell")


def _metrics(metrics: Sequence[Metric]) -> Sentence:
    return join([Name(metric.label) for metric in metrics])


def noise_sentence(found: FolderVerdicts) -> Sentence:
    """The noise band of the verdicts, and its origin."""
    if found.noise is None:
        return say(
            "No noise is declared, so any difference that is shown counts, and no cell can be "
            "shown to be the same unless all its runs have one value; declare {noise} in the study "
            "or give {option}.",
            noise=Name("noise", code=True),
            option=Name("--noise", code=True),
        )
    source = found.noise.source
    return say(
        "Differences within the noise of {noise} ({source}) do not count.",
        noise=plain(found.noise.pct, 1, "%", "noise band"),
        source=Name(source if source == "--noise" else f"from the study of {source}"),
    )


def verdicts_table(rows: Sequence[FolderVerdict]) -> Table:
    """One row for each verdict: both values, the change with its interval, the verdict. The column
    headings have the unit if all verdicts are about one metric."""
    factors = tuple(dict.fromkeys(name for one in rows for name in one.treatment))
    metrics = tuple(dict.fromkeys(one.metric for one in rows))
    only = metrics[0] if len(metrics) == 1 else None
    heads = (*factors, *(("metric",) if only is None else ()))
    title = NOTHING if only is None else say(": {metric}", metric=Name(only.label))
    decimals = None if only is None else compared_decimals([one.compared for one in rows], only)
    groups = (
        *map(Group, heads),
        Group("Value", "" if only is None else only.unit, columns=(BASE, NEW)),
        Group("NEW is", columns=("than BASE", "95 % interval")),
        Group("A/A noise", "%"),
        Group("Verdict"),
    )
    return Table(
        "verdicts",
        say("NEW compared with BASE{title}", title=title),
        groups,
        tuple(_row(one, heads, decimals) for one in rows),
        stub=len(heads),
    )


def _row(one: FolderVerdict, heads: Sequence[str], decimals: int | None) -> tuple[Value, ...]:
    """A row of the table. `decimals`: the decimals of both values; None: the values have their own
    units."""
    levels = one.treatment
    noise = one.compared.noise_pct
    source = f"A/A noise, {one.metric.name}, {treatment_text(levels)}"
    return (
        *(
            Name(one.metric.label) if name == "metric" else numeric_level(levels.get(name), name)
            for name in heads
        ),
        *(_both_values(one) if decimals is None else _bare_values(one, decimals)),
        *_how_much(one),
        None if noise is None else bare_percent(noise, source),
        Verdict(verdict_text(one), outcome=one.outcome),
    )


def _bare_values(one: FolderVerdict, decimals: int) -> Iterator[Number | None]:
    row, where = one.compared, treatment_text(one.treatment)
    for side, value in ((BASE, row.base_value), (NEW, row.value)):
        what = f"{side}, {where}"
        yield bare(value, one.metric, what, decimals, is_published=row.by_rounding)


def _both_values(one: FolderVerdict) -> tuple[Number | None, Number | None]:
    """The values in BASE and NEW with their units, with enough digits to look different."""
    row, where = one.compared, treatment_text(one.treatment)
    base, new = (
        None if value is None else metric_number(value, one.metric, f"{side}, {where}")
        for side, value in ((BASE, row.base_value), (NEW, row.value))
    )
    return (base, new) if base is None or new is None else told_apart(base, new, one.metric)


def _how_much(one: FolderVerdict) -> tuple[Sentence | None, Number | None]:
    """The size of the change, and its interval: in percent, or in percentage points."""
    row = one.compared
    if row.ratio is None or row.ratio <= 0 or not row.difference:
        return None, None
    source = f"95 % interval of the change, {treatment_text(one.treatment)}"
    size = lead(one.metric, _change(one)).without_asides()
    if one.metric.is_share:
        decimals = max(1, one.metric.decimals)
        return size, interval_number(row.difference_interval, decimals, "points", source)
    ratio = row.interval
    change = None if ratio is None else Interval(100 * (ratio.low - 1), 100 * (ratio.high - 1))
    return size, interval_number(change, 1, "%", source)


def verdict_text(one: FolderVerdict) -> str:
    """The verdict in a word: "slower", "better", "same", "undecided"."""
    worse, better = words(one.metric)
    if one.is_worse or one.is_better:
        return worse if one.is_worse else better
    return "not measured" if one.outcome == "missing" else one.outcome


def verdict_sentence(one: FolderVerdict) -> Sentence:
    """The difference, or the reason why the cell shows none, with both values."""
    row = one.compared
    text = say("{text}.", text=_reason(one).capitalised())
    base, new = _both_values(one)
    if base is None or new is None:
        return text
    p = row.p_different
    return say(
        "{text} BASE: {base} in {base_runs}, NEW: {new} in {new_runs}{p}.",
        text=text,
        base=base,
        base_runs=_runs(one.base, BASE),
        new=new,
        new_runs=_runs(one.new, NEW),
        p=NOTHING
        if p is None or row.by_rounding
        else say(", p after Holm: {p}", p=p_number(p, "p of a difference within the noise")),
    )


def _reason(one: FolderVerdict) -> Sentence:
    match one.outcome:
        case "different":
            return compared(one.metric, _change(one), _IN_NEW, _IN_BASE)
        case "undecided":
            return _undecided(one)
        case "missing":
            return _missing(one)
        case _:
            return say(
                "{metric} {are} the same in NEW and BASE",
                metric=Name(one.metric.label),
                are=is_or_are(one.metric),
            )


def _runs(cell: CellRow | None, side: str) -> Sentence:
    return things(count(len(cell.runs) if cell else 0, f"runs of {side}"), "run")


def _undecided(one: FolderVerdict) -> Sentence:
    row = one.compared
    if row.by_rounding:
        return say("the rounding of published values leaves the difference undecided")
    if row.unsettled is not None:
        return say(
            "the measuring phase of {phase} is too short for the {metric}; measure at least "
            "{needed}",
            phase=plain(row.unsettled.phase_s, 1, "s", "measuring phase"),
            metric=Name(one.metric.label),
            needed=plain(row.unsettled.needed_s, 1, "s", "shortest phase that may be long enough"),
        )
    if row.too_few_samples:
        return say(
            "single runs have too few samples for the {metric}, so run-to-run variation is unknown",
            metric=Name(one.metric.label),
        )
    if row.within_one_run:
        return say(
            "{side} has a single run, so run-to-run variation is unknown",
            side=Name(" and ".join(_single(one)) or "a folder"),
        )
    return say(
        "{pair}{more}",
        pair=undecided_pair(row, one.metric, _IN_NEW, _IN_BASE),
        more=_more_runs(row),
    )


def _single(one: FolderVerdict) -> list[str]:
    """The folders with a single run of the cell."""
    return [name for name, cell in ((BASE, one.base), (NEW, one.new)) if cell and _is_single(cell)]


def _is_single(cell: CellRow) -> bool:
    return len(cell.runs) == 1


def _more_runs(row: Comparison) -> Sentence:
    if row.more_runs is None:
        return say("; no practical number of runs would decide it")
    return say(
        "; {n} of each cell would probably decide it",
        n=things(count(row.more_runs, "runs for a power of 80 %"), "further run"),
    )


def _missing(one: FolderVerdict) -> Sentence:
    for side, cell in ((BASE, one.base), (NEW, one.new)):
        if cell is None:
            return say("{side} does not have this cell", side=Name(side))
    if not one.has_one_base:
        return say(
            "{metric} is a percentage of a base row, and the two folders have different base rows",
            metric=Name(one.metric.label),
        )
    if empty := [_no_run(side, cell) for side, cell in _cells_of(one) if not cell.runs]:
        return join(empty)
    if one.compared.lacking is not None:
        return say(
            "there are {lacking}",
            lacking=Name(lacking_text(one.compared.lacking)),
        )
    without = [
        Name(side)
        for side, value in ((BASE, one.compared.base_value), (NEW, one.compared.value))
        if value is None
    ]
    return say(
        "{metric} {are} not measured in {sides}",
        metric=Name(one.metric.label),
        are=is_or_are(one.metric),
        sides=join(without),
    )


def _cells_of(one: FolderVerdict) -> Iterator[tuple[str, CellRow]]:
    yield from (
        (side, cell) for side, cell in ((BASE, one.base), (NEW, one.new)) if cell is not None
    )


def _no_run(side: str, cell: CellRow) -> Sentence:
    missing = sum(one.kind == "missing" for one in cell.problems)
    bad = len(cell.problems) - missing
    told = [
        say("{n} {text}", n=count(n, f"runs of {side} that are {text}"), text=Name(text))
        for n, text in ((bad, "failed or invalid"), (missing, "missing"))
        if n
    ]
    return say("{side} has no valid run ({told})", side=Name(side), told=join(told))


def notable(found: FolderVerdicts) -> Iterator[Sentence]:
    """A sentence for each difference, for the noise, and for each reason why cells show none."""
    for one in found.with_outcome("different"):
        where = treatment_text(one.treatment)
        text = verdict_sentence(one)
        yield say("{where}: {text}", where=Name(where), text=text) if where else text
    yield noise_sentence(found)
    for outcome in ("undecided", "missing"):
        for rows in alike(found.with_outcome(outcome), lambda one: str(_reason(one))):
            yield _for_one_reason(rows)


def _for_one_reason(rows: Sequence[FolderVerdict]) -> Sentence:
    """The cells that show no difference for the same reason."""
    places = dict.fromkeys(treatment_text(one.treatment) or "the one cell" for one in rows)
    named = [Name(place) for place in list(places)[:_NAMED]]
    more = len(places) - len(named)
    return say(
        "{reason} ({places}{more}).",
        reason=_reason(rows[0]).capitalised(),
        places=join(named, between="; ", last=""),
        more=say("; {n} more", n=count(more, "further cells")) if more else NOTHING,
    )


def failed_text(failed: Sequence[FolderVerdict]) -> str:
    """The cells that fail a check, for the message on the terminal."""
    cells = [
        f"{one.metric.name} is {verdict_text(one)}{_at(one)}" for one in failed[:_FAILED_NAMED]
    ]
    more = len(failed) - len(cells)
    return "; ".join([*cells, *([f"and {more} more"] if more else [])])


_FAILED_NAMED: Final = 20


def _at(one: FolderVerdict) -> str:
    where = treatment_text(one.treatment)
    return f" at {where}" if where else ""


def verdicts_data(found: FolderVerdicts) -> dict[str, Any]:
    """The verdicts as data for programs."""
    return {
        "answer": str(answer(found)),
        "on": [metric.name for metric in found.metrics],
        "noise_pct": found.noise.pct if found.noise else None,
        "noise_from": found.noise.source if found.noise else None,
        "cells": [_verdict_data(one) for one in found.verdicts],
    }


def _verdict_data(one: FolderVerdict) -> dict[str, Any]:
    row = one.compared
    ratio = row.interval
    return {
        "treatment": one.treatment,
        "metric": one.metric.name,
        "verdict": one.outcome,
        "better": row.winner,
        "base": row.base_value,
        "new": row.value,
        "ratio": row.ratio,
        "ratio_interval": None if ratio is None else [ratio.low, ratio.high],
        "p_different": row.p_different,
        "p_same": row.p_same,
        "aa_noise_pct": row.noise_pct,
        "more_runs": row.more_runs,
        "sentence": str(verdict_sentence(one)),
    }


def ordered(found: FolderVerdicts) -> tuple[FolderVerdict, ...]:
    """The verdicts with the most important ones first: differences, undecided, missing, same."""
    order = ("different", "undecided", "missing", "same")
    return tuple(sorted(found.verdicts, key=lambda one: order.index(one.outcome)))
