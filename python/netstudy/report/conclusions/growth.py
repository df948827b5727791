"""How throughput grows with a factor, in sentences."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions.cells import Growth
from netstudy.analysis.metrics import Metric
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import at, cell_number, percent, plain, treatment_text
from netstudy.report.numbers import are_several, counted, spans
from netstudy.report.prose.words import NOTHING, alike, held_in_each, held_levels, value_range
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.units import format_rate


def growth_sentences(found: Sequence[Growth]) -> Iterator[Sentence]:
    """One sentence for all settings with the same growth."""
    for group in alike(found, _end):
        yield _growth(group, found)
        for one in group:
            yield from _overdrive(one)


def more_load(found: Sequence[Growth]) -> Sentence | None:
    """The run that would show where growth ends; None: it has ended at each setting."""
    going_on = [one for one in found if not one.has_ended]
    if not going_on:
        return None
    one = going_on[0]
    level = at(one.factor, one.cells[-1].treatment[one.factor])
    return say("try more than {level}, to see where growth ends.", level=level)


def _end(one: Growth) -> Hashable:
    """The grouping key of growth: metric, factor, link rate, levels at the end of the growth, and
    whether this end is decided and certain."""
    levels = tuple(cell.treatment[one.factor] for cell in (one.last_gain, *one.beyond))
    return one.metric.name, one.factor, one.line_bps, levels, one.has_ended, one.is_uncertain


def _growth(group: Sequence[Growth], every: Sequence[Growth]) -> Sentence:
    """The sentence on the growth in `group`, the settings that share an end, out of `every`
    setting."""
    first = group[0]
    known = _values([one.last_gain for one in group], first.metric)
    if first.beyond and not first.has_ended:
        template = "Whether {metric} grows beyond {level}{held} is not decided: {value}{share} "
        template += "there, {last} at {largest}"
    elif first.is_uncertain:
        ends = "grows up to {level}{held}" if first.has_ended else "still grows at {level}{held}"
        template = f"Whether {{metric}} {ends} is not decided: {{value}}{{share}}, a gain smaller "
        template += "than the variation between runs"
    elif not first.beyond:
        template = "{metric} still grows at {level}, the largest level{held}: {value}{share}"
    elif first.last_gain is first.cells[0]:
        template = "{metric} does not grow beyond {level}, the first level{held}, {value}{share}"
    else:
        template = "{metric} grows up to {level}{held}, {value}{share}"
    gains = "; {more} {more:gains} no more than the noise" if first.has_ended else ""
    more = [cell.treatment[first.factor] for cell in first.beyond]
    return say(
        f"{template}{gains}.",
        metric=Name(first.metric.label if template.startswith("Whether") else first.metric.title),
        level=at(first.factor, first.last_gain.treatment[first.factor]),
        held=held_in_each([one.held for one in group], [one.held for one in every]),
        value=value_range(known),
        share=_of_the_link(first, known),
        last=value_range(_values([one.cells[-1] for one in group], first.metric)),
        largest=at(first.factor, first.cells[-1].treatment[first.factor]),
        more=Name(
            counted(first.factor, listed(spans(more, more))),
            several=len(more) > 1 or are_several(first.factor, more[0]) if more else False,
        ),
    )


def _values(rows: Sequence[CellRow], metric: Metric) -> list[Number]:
    values = [cell_number(row, metric, unit=True) for row in rows]
    known = [value for value in values if value is not None]
    assert len(known) == len(rows), "a level without a value is no step"
    return known


def _overdrive(one: Growth) -> Iterator[Sentence]:
    """The sentence on overdrive: beyond the knee only the delay grows."""
    found = one.overdrive
    if found is None or one.delay is None or found[1] <= found[0]:
        return
    here, there = one.last_gain, one.beyond[-1]
    source = f"{one.delay.name}, {treatment_text(there.treatment)} ÷ at the knee"
    yield say(
        "Overdrive beyond the knee{held}: from {knee} to {most} {metric} grows from {before} to "
        "{after}, by a factor of {ratio}.",
        held=held_levels(one.held),
        knee=at(one.factor, here.treatment[one.factor]),
        most=at(one.factor, there.treatment[one.factor]),
        metric=Name(one.delay.label),
        before=cell_number(here, one.delay, unit=True) or NOTHING,
        after=cell_number(there, one.delay, unit=True) or NOTHING,
        ratio=plain(found[1] / found[0], 2, "", source),
    )


def _of_the_link(one: Growth, values: Sequence[Number]) -> Sentence:
    if one.line_bps is None:
        return NOTHING
    source = f"{one.metric.name} ÷ line rate"
    shares = [percent(100 * value.value * 1e6 / one.line_bps, source) for value in values]
    return say(
        " or {share} of the link's {rate}",
        share=value_range(shares),
        rate=Name(format_rate(one.line_bps)),
    )
