"""The conclusions: the winner at each level, the size of its lead, changes of the lead, undecided
rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.verdict import RUNS_SEARCHED, Comparison, VerdictTable
from netstudy.report.cellrefs import (
    at,
    count,
    metric_number,
    percent,
    plain,
    ratio_number,
    ratio_source,
)
from netstudy.report.prose.change import (
    change_of,
    comparative,
    is_number_of,
    lead,
    size_of,
    told_apart,
)
from netstudy.report.prose.explain import cause_summary
from netstudy.report.prose.unsettled import needed
from netstudy.report.prose.words import (
    NOTHING,
    Point,
    at_level,
    at_levels,
    in_panel,
    named,
    not_compared,
    overtakings,
    point,
    why_no_verdict,
)
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.wire import Level


def conclusions(found: PanelResult) -> list[Point]:
    """The points on a panel: verdict, cause and noise; empty if the study compares nothing."""
    tables = deciding(found)
    if not tables:
        return []
    return [
        *(one for table in tables for one in verdict_points(found, table)),
        *point("Why", cause_summary(found)),
        *(one for table in tables for one in point("Noise", _noise(table))),
    ]


def verdict_points(found: PanelResult, table: VerdictTable) -> list[Point]:
    """The points for the executive summary: the winner at each level, its lead, undecided rows."""
    panel = found.panel
    measured = [row for row in table.rows if row.difference is not None]
    if not measured and not any(row.lacking for row in table.rows):
        return point("No verdict", [not_compared(table)])
    if all(row.within_one_run for row in measured):
        return point("No verdict", _one_run(panel, table))
    return [
        *point(
            "Verdict",
            [_counts(panel, table), *_winners(panel, table), *_crossovers(panel, table)],
        ),
        *point("Size", _sizes(found, table)),
        *point("Undecided", _undecided(panel, table)),
    ]


def deciding(found: PanelResult) -> list[VerdictTable]:
    """The verdicts on the deciding metric, which is the first metric that the study compares."""
    return [table for table in found.verdicts if table.metric == found.verdicts[0].metric]


def _one_run(panel: Panel, table: VerdictTable) -> Iterator[Sentence]:
    """Which level was ahead where, but without a verdict, since the variation between runs is
    unknown."""
    yield say("{why}{held}.", why=why_no_verdict(table), held=in_panel(panel))
    for level in (table.level, table.base):
        ahead = [row for row in table.rows if table.ahead(row) == level]
        if ahead:
            yield say(
                "In these runs {level} {level:has} {better} {metric}{at}.",
                level=named(table.factor, level),
                better=_better(table.metric),
                metric=Name(table.metric.label),
                at=at_levels(panel, [row.x for row in ahead]),
            )


def _better(metric: Metric) -> Name:
    word = comparative(metric)
    return Name(word if is_number_of(metric) else f"the {word}")


def _counts(panel: Panel, table: VerdictTable) -> Sentence:
    """At how many values of x the levels differ, and at which they are equal, undecided or not
    measured."""
    total = len(table.rows)
    rest = [
        say("{word}{where}", word=Name(word), where=at_levels(panel, [row.x for row in rows]))
        for word, rows in (
            ("equal", table.with_outcome("same")),
            ("too close to call", table.with_outcome("undecided")),
            ("not measured on both sides", table.with_outcome("missing")),
        )
        if rows
    ]
    return say(
        "In {metric}{held}, {a} and {b} differ at {n} of {total} {points}{rest}.",
        metric=Name(table.metric.label),
        held=in_panel(panel),
        a=named(table.factor, table.level),
        b=named(table.factor, table.base),
        n=count(len(table.with_outcome("different")), "rows that are different"),
        total=count(total, "rows compared"),
        points=Name(_points(panel, total)),
        rest=say("; {parts}", parts=join(rest)) if rest else NOTHING,
    )


def _points(panel: Panel, total: int) -> str:
    if panel.x is None:
        return "comparison" if total == 1 else "comparisons"
    return f"{'level' if total == 1 else 'levels'} of {panel.x}"


def _winners(panel: Panel, table: VerdictTable) -> Iterator[Sentence]:
    for level in (table.level, table.base):
        rows = table.won_by(level)
        if rows:
            yield say(
                "{level} {level:has} {better} {metric}{at}.",
                level=named(table.factor, level),
                better=_better(table.metric),
                metric=Name(table.metric.label),
                at=at_levels(panel, [row.x for row in rows]),
            )


def _crossovers(panel: Panel, table: VerdictTable) -> Iterator[Sentence]:
    if panel.x is None or not panel.x_numeric:
        return
    yield from overtakings(panel, table)
    winners = {row.winner for row in table.rows}
    if len(table.rows) > 1 and len(winners) == 1 and None not in winners:
        yield say("{level} {level:is} ahead throughout.", level=named(table.factor, winners.pop()))


def _sizes(found: PanelResult, table: VerdictTable) -> Iterator[Sentence]:
    """The largest lead of each of the two levels, and the difference at the end of the range."""
    rows = [row for row in table.rows if row.ratio is not None or row.winner is not None]
    leads = [
        row for level in (table.level, table.base) if (row := _largest(rows, level, table.metric))
    ]
    for row in leads:
        case = say("Best case of {level}", level=named(table.factor, row.winner))
        alone = len(table.rows) == 1
        yield _size(found.panel, table, row, say("The difference") if alone else case)
    last = rows[-1:] if len(table.rows) > 1 and rows and rows[-1] not in leads else []
    for row in last:
        yield _size(found.panel, table, row, say("At the end of the range"))
    drops = found.verdict(found.workload.drops, table.level)
    if drops is not None and table.metric == found.workload.deciding:
        yield from _drops(found.panel, drops, [row.x for row in (*leads, *last)])


def _largest(rows: Sequence[Comparison], winner: Level, metric: Metric) -> Comparison | None:
    won = [row for row in rows if row.winner == winner]
    return max(won, key=lambda row: size_of(row, metric), default=None)


def _size(panel: Panel, table: VerdictTable, row: Comparison, what: Sentence) -> Sentence:
    """Both values, the better one first, and the size of its lead."""
    is_first = (table.ahead(row) if row.winner is None else row.winner) == table.level
    sides = [(row.value, table.level), (row.base_value, table.base)]
    (value, level), (other, other_level) = sides if is_first else sides[::-1]
    assert value is not None, "a row with a ratio has both values"
    assert other is not None, "a row with a ratio has both values"
    change = change_of(row, ratio_source(row, table))
    one, two = (
        metric_number(number, table.metric, f"{table.factor}={name}", is_published=row.by_rounding)
        for number, name in ((value, level), (other, other_level))
    )
    numbers = told_apart(one, two, table.metric)
    return say(
        "{what}{at}: {value} on {level} against {other} on {other_level}, {ahead}{undecided}.",
        what=what,
        at=NOTHING if panel.x is None else say(", {x}", x=at(panel.x, row.x)),
        value=numbers[0],
        level=named(table.factor, level),
        other=numbers[1],
        other_level=named(table.factor, other_level),
        ahead=lead(table.metric, change if is_first else change.inverse()),
        undecided=say("; too close to call") if row.outcome == "undecided" else NOTHING,
    )


def _drops(panel: Panel, table: VerdictTable, chosen: Iterable[Level | None]) -> Iterator[Sentence]:
    """The ratio of dropped packets at the values of x whose completion times were given before."""
    if all(row.value == 0 for row in table.rows):
        yield say("{a} dropped nothing.", a=named(table.factor, table.level))
        return
    times = {row.x: ratio_number(row, table) for row in table.rows}
    parts = [
        say("{times} times as many{at}", times=ratio, at=at_level(panel, x))
        for x in chosen
        if (ratio := times.get(x)) is not None and ratio.value > 0
    ]
    if parts:
        yield say(
            "Dropped packets: {a} {a:has} {parts} as {b}.",
            a=named(table.factor, table.level),
            b=named(table.factor, table.base),
            parts=join(parts),
        )


def _undecided(panel: Panel, table: VerdictTable) -> Iterator[Sentence]:
    """The undecided rows, and the number of further runs that would probably decide them."""
    rows = table.with_outcome("undecided")
    rounded = [row for row in rows if row.by_rounding]
    if rounded:
        where = at_levels(panel, [row.x for row in rounded])
        yield say("Too close to call{where}: the published digits do not tell.", where=where)
    short = [row for row in rows if row.unsettled is not None]
    if short:
        yield say(
            "Undecided{where}: the measuring phase is too short; measure at least {needed}.",
            where=at_levels(panel, [row.x for row in short]),
            needed=needed(row.unsettled for row in short if row.unsettled is not None),
        )
    # A row whose cells have repetitions is judged by these, even if other rows are judged by
    # rounding.
    others = [row for row in rows if not row.by_rounding and row.unsettled is None]
    yield from _undecided_by_runs(panel, table, others)


def _undecided_by_runs(
    panel: Panel, table: VerdictTable, rows: Sequence[Comparison]
) -> Iterator[Sentence]:
    if not rows:
        return
    where = at_levels(panel, [row.x for row in rows])
    if any(row.too_few_samples for row in rows):
        yield say("Too close to call{where}: {why}.", where=where, why=why_no_verdict(table))
        return
    known = [row.more_runs for row in rows if row.more_runs is not None]
    if len(known) < len(rows):
        yield say(
            "Too close to call{where}; for some, even {n} runs per configuration would not settle "
            "it.",
            where=where,
            n=count(RUNS_SEARCHED, "largest number of runs considered"),
        )
    else:
        yield say(
            "Too close to call{where}; about {n} more runs per configuration would settle it.",
            where=where,
            n=count(max(known), "largest number of runs to add, at the power of the methods"),
        )


def _noise(table: VerdictTable) -> Iterator[Sentence]:
    """The study's threshold compared with the noise of the replicates."""
    measured = [row.noise_pct for row in table.rows if row.noise_pct is not None]
    if not measured:
        return
    refs: dict[str, Name | Number] = {
        "metric": Name(table.metric.label),
        "a": named(table.factor, table.level),
        "b": named(table.factor, table.base),
        "middle": percent(median(measured), "median of the A/A noise over the rows"),
        "largest": percent(max(measured), "largest A/A noise of a row"),
    }
    if table.margin_pct is None:
        yield say(
            "Two series of equal runs of {a} or {b} would differ in {metric} by up to {middle} in "
            "the median row and {largest} in the noisiest; the study states no threshold.",
            **refs,
        )
        return
    above = sum(noise > table.margin_pct for noise in measured)
    yield say(
        "Two series of equal runs of {a} or {b} would differ in {metric} by up to {middle} in the "
        "median row and {largest} in the noisiest; {above} of {total} rows exceed the study’s "
        "threshold of {threshold}.",
        threshold=plain(table.margin_pct, 1, "%", "compare.noise of the study"),
        above=count(above, "rows whose A/A noise exceeds the threshold"),
        total=count(len(measured), "rows with an A/A noise"),
        **refs,
    )
