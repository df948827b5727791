"""How a growing factor ended: in sentences, and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from netstudy.analysis.case_result import CaseResult
from netstudy.analysis.growth import GrownLoop
from netstudy.analysis.steps import Outcome, Step
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import at, cell_number, count, plain, treatment_text
from netstudy.report.numbers import counted, level_text, spans
from netstudy.report.prose.words import NOTHING, within
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.tables import Group, Table, Value, bare, numeric_level

NO_VALUE = "no value"
"""Shown for a level whose runs give no value."""
_GAIN: Final[Mapping[Outcome, str]] = {"gain": "yes", "no gain": "no", "undecided": "undecided"}


def growth_sentences(case: CaseResult, margin_pct: float | None) -> list[Sentence]:
    """The growing factor and its rule, then one sentence for each combination of the other
    factors."""
    return [*_rule(case, margin_pct), *(loop_sentence(one) for one in case.loops)]


def loop_sentence(one: GrownLoop) -> Sentence:
    """The best level of a loop, and why it ended."""
    where = treatment_text(one.loop.held)
    best, row = one.judged.best, one.best_row
    value = cell_number(row, one.metric, unit=True) if row is not None else None
    if best is None or value is None:
        return say("{where}{ending}.", where=_where(where), ending=Name(_capital(ending_text(one))))
    return say(
        "{where}{metric} is best at {level}, {value}{fall}. {ending}.",
        where=_where(where),
        metric=Name(within(one.metric.title) if where else one.metric.title),
        level=at(one.loop.factor.name, best.level),
        value=value,
        fall=_fall(one),
        ending=Name(_capital(ending_text(one))),
    )


_FALL = 0.1
"""A decline is mentioned if it is more than this share of the best value."""


def _fall(one: GrownLoop) -> Sentence:
    """The worst level after the best one, if it is clearly worse."""
    best, metric = one.judged.best, one.metric
    if best is None or best.estimate is None or metric.direction == "neutral":
        return NOTHING
    sign = -1 if metric.direction == "lower" else 1
    later = list(zip(one.judged.steps, one.rows, strict=True))
    later = later[one.judged.steps.index(best) + 1 :]
    losses = [
        (sign * (best.estimate.value - step.estimate.value), step, row)
        for step, row in later
        if step.estimate is not None and step.threshold is not None
    ]
    if not losses:
        return NOTHING
    loss, step, row = max(losses, key=lambda found: found[0])
    if loss <= max(step.threshold or 0.0, _FALL * abs(best.estimate.value)):
        return NOTHING
    value = cell_number(row, metric, unit=True)
    assert value is not None, "a level with an estimate has a value"
    return say(
        "; at {level} it {falls} to {value}",
        level=at(one.loop.factor.name, step.level),
        falls=Name("falls" if sign > 0 else "rises"),
        value=value,
    )


def ending_text(one: GrownLoop) -> str:
    """Why a loop ended, in words: for sentences, tables and `status`."""
    steps, name = one.judged.steps, one.loop.factor.name
    last = counted(name, level_text(steps[-1].level)) if steps else ""
    match one.ending:
        case "no gain":
            after = [step for step in steps if _is_after(step, one)]
            levels = f"level, {last}, gains" if len(after) == 1 else f"{len(after)} levels gain"
            gained = one.judged.last_gain
            since = counted(name, level_text(gained.level)) if gained else ""
            return f"after {since} the next {levels} no more than the noise"
        case "at most":
            return f"it ended at {last}, the last that the study allows"
        case "list ended":
            is_last = steps[-1].level == one.loop.factor.names[-1]
            return f"it ended at {last}, the last {'of the list' if is_last else 'of this run'}"
        case "no valid run":
            return f"it ended at {last}, since no run of it is valid"
        case "not measured":
            return f"it ended at {last}, since its runs do not measure {one.metric.label}"
        case None:
            return f"it goes on after {last}" if last else "it has yet to begin"


def growth_table(case: CaseResult, table_id: str) -> Table:
    """One row for each loop: levels tried, best level, its value, level of the last gain, and why
    the loop ended."""
    loops = case.loops
    factor, metric = loops[0].loop.factor.name, loops[0].metric
    groups = (
        *(Group(name) for name in loops[0].loop.held),
        Group(f"{factor} tried"),
        Group(f"best {factor}"),
        Group(metric.title, metric.unit, metric.better),
        Group("last gain at"),
        Group("end"),
    )
    rows = tuple(_loop_row(one) for one in loops)
    caption = say("How {factor} grew", factor=Name(factor))
    return Table(table_id, caption, groups, rows, stub=len(loops[0].loop.held))


def steps_table(case: CaseResult, table_id: str) -> Table:
    """One row for each tried level, with its lead over the last level before it that gained."""
    loops = case.loops
    factor, metric = loops[0].loop.factor.name, loops[0].metric
    groups = (
        *(Group(name) for name in loops[0].loop.held),
        Group(factor),
        Group(metric.title, metric.unit, metric.better),
        Group("Ahead of the last gain", metric.unit),
        Group("Noise", metric.unit),
        Group("Gain"),
    )
    rows = tuple(row for one in loops for row in _step_rows(one))
    caption = say("Levels of {factor}, as they were tried", factor=Name(factor))
    return Table(table_id, caption, groups, rows, stub=len(loops[0].loop.held) + 1)


def _rule(case: CaseResult, margin_pct: float | None) -> Iterator[Sentence]:
    factor, metric = case.loops[0].loop.factor, case.loops[0].metric
    growth = factor.growth
    assert growth is not None, "the factor of a loop grows"
    confirm = count(growth.confirm, "levels without gain that end the growth")
    noise = (
        Name("the difference to expect between two series of identical runs")
        if margin_pct is None
        else plain(margin_pct, 1, "%", "the study's noise, of the value at the last gain")
    )
    yield say(
        "The factor {factor} grows, level after level, until {confirm} {bring} no gain. A level "
        "gains if its {metric} is better than at the last gain by more than the noise, {noise}. A "
        "level with a value in proportion to the load, or with a value that still rises, is "
        "undecided and does not count.",
        factor=Name(factor.name),
        confirm=say(
            "{n} {noun}", n=confirm, noun=Name("level" if growth.confirm == 1 else "levels")
        ),
        bring=Name("brings" if growth.confirm == 1 else "since the last gain bring"),
        metric=Name(metric.label),
        noise=noise,
    )


def _is_after(step: Step, one: GrownLoop) -> bool:
    steps, gained = one.judged.steps, one.judged.last_gain
    return gained is not None and steps.index(step) > steps.index(gained)


def _loop_row(one: GrownLoop) -> tuple[Value, ...]:
    judged, factor = one.judged, one.loop.factor.name
    levels = [step.level for step in judged.steps]
    best, gained = judged.best, judged.last_gain
    return (
        *_held(one),
        Name(listed(spans(levels, [*one.loop.factor.names]))),
        None if best is None else numeric_level(best.level, factor),
        None if one.best_row is None else cell_number(one.best_row, one.metric),
        None if gained is None else numeric_level(gained.level, factor),
        Name(ending_text(one)),
    )


def _step_rows(one: GrownLoop) -> Iterator[tuple[Value, ...]]:
    for step, row in zip(one.judged.steps, one.rows, strict=True):
        what = f"{treatment_text(row.treatment)}, against the last gain"
        gain = _GAIN[step.outcome] if step.estimate is not None else NO_VALUE
        yield (
            *_held(one),
            numeric_level(step.level, one.loop.factor.name),
            cell_number(row, one.metric),
            bare(step.ahead, one.metric, what),
            bare(step.threshold, one.metric, f"noise, {what}"),
            Name(gain),
        )


def _held(one: GrownLoop) -> tuple[Value, ...]:
    return tuple(numeric_level(level, name) for name, level in one.loop.held.items())


def _where(text: str) -> Name:
    return Name(f"With {text}: " if text else "")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
