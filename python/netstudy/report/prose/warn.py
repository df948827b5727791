"""Caveats: problems of the runs, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from netstudy.analysis.agreement import OrderAgreement
from netstudy.analysis.cells import CellRow, CellTable, ProblemKind
from netstudy.analysis.demand import OffDemand
from netstudy.analysis.metrics import Metric
from netstudy.analysis.not_given import TooFew
from netstudy.analysis.repetition import repeated_for_nothing
from netstudy.analysis.size_law import LAW, OffLaw
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.truncated import Truncated
from netstudy.analysis.verdict import RUNS_RECOMMENDED
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import (
    cell_number,
    count,
    level_name,
    percent,
    plain,
    treatment_text,
)
from netstudy.report.numbers import full_level, level_text, spans
from netstudy.report.prose import signals
from netstudy.report.prose.starving import cut_off, starved
from netstudy.report.prose.unsettled import too_short
from netstudy.report.prose.untested import untested_sentence
from netstudy.report.prose.words import NOTHING, things, value_range
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import lacking_text
from netstudy.report.testbed_tables import check_sentence, limit_sentence
from netstudy.report.workloads import page_of
from netstudy.study.levels import is_numeric
from netstudy.units import rough_size
from netstudy.wire import Level

KINDS: dict[ProblemKind, tuple[str, str]] = {
    "failed": ("failed", "failed"),
    "invalid": (
        "broke a conservation law and is kept out of the numbers",
        "broke a conservation law and are kept out of the numbers",
    ),
    "limited": (
        "is invalid, because the machine was late, and kept out of the numbers",
        "are invalid, because the machine was late, and kept out of the numbers",
    ),
    "missing": ("was planned and has no record", "were planned and have no record"),
}
"""Kind of problem -> its words, for one run and for several."""


def warnings(result: StudyResult) -> list[Sentence]:
    """Every reason to doubt, one sentence each; empty when there is none."""
    found = result.warnings
    return [
        *_problems(result),
        *_made_again(result),
        *_set_aside(result),
        *_empty(found.empty_cells, result.cells),
        *_few(found.few_runs, result),
        *_alike(result),
        *_warm_up(result),
        *_waits(result),
        *map(_off_law, found.off_law),
        *map(_off_demand, found.off_demand),
        *(_truncated(one, result.cells) for one in found.truncated),
        *_starving(result),
        *(
            too_short(one, _named([cell for cell, _ in one.cells], result.cells))
            for one in found.unsettled
        ),
        *map(untested_sentence, found.untested),
        *_not_measured(found.not_measured),
        *map(_too_few, found.too_few),
        *(say("{text}.", text=Name(text)) for text in found.reference),
        *(_contradicted(order) for order in found.contradicted),
        *map(limit_sentence, found.exceeded),
        *map(check_sentence, found.disagreeing),
        *(
            say("The study asks for “{text}”, which is not shown.", text=Name(text))
            for text in found.not_shown
        ),
        *_left_out(found.left_out, "with --without"),
        *_left_out(found.left_out_by_variant, "by its variant for this testbed"),
    ]


def _off_demand(found: OffDemand) -> Sentence:
    """A published row that differs from the others, and the number of CPUs with which it would
    fit."""
    one = found.demand
    fits = NOTHING
    if one.cpus != found.fitting_cpus:
        taken = one.cpus != one.taken_cpus and one.taken_cpus == found.fitting_cpus
        fits = say(
            "; with {cpus} CPUs it would be as in the others{taken}",
            cpus=count(found.fitting_cpus, "CPUs printed ÷ ratio to the other rows"),
            taken=Name(", which is what the study takes" if taken else ""),
        )
    source = f"CPU % × CPUs ÷ throughput, {one.row}"
    return say(
        "The published row {row} breaks the law of the others: with its {cpus} CPUs, the CPU time "
        "of {host} by what it serves is {ms}, {ratio} times the median of the {n} other rows "
        "({others}){fits}.",
        row=Name(one.row, code=True),
        cpus=plain(one.cpus, 0, "", f"CPUs of {one.host}, {one.row}"),
        host=Name(one.host),
        ms=plain(one.ms, 2, "ms", source),
        ratio=plain(found.ratio, 2, "", f"{source} ÷ median of the other rows"),
        n=count(found.rows, "other published rows"),
        others=plain(found.others_ms, 2, "ms", "median of the other published rows"),
        fits=fits,
    )


def _off_law(found: OffLaw) -> Sentence:
    """A size whose times do not fit the law of the other sizes, and the size that these times
    imply."""
    several = found.settings > 1
    basis = f"{found.metric.name} at {found.factor}={level_text(found.level)}"
    return say(
        "At {level} the law {law} is broken{where}: {metric} is {ratio} times that of the law "
        "through the other sizes, by which it is that of {size}.",
        level=Name(full_level(found.factor, found.level)),
        law=Name(LAW),
        where=say(" in all {n} settings", n=count(found.settings, "settings along the size"))
        if several
        else NOTHING,
        metric=Name(found.metric.label),
        ratio=_span(found.ratio, lambda one: f"{one:.1f}", f"{basis} ÷ that of the law"),
        size=_span(
            found.implied_bytes,
            lambda one: rough_size(round(one)),
            f"(mean {basis} - latency) × bandwidth",
        ),
    )


def _span(ends: tuple[float, float], text: Callable[[float], str], source: str) -> Number:
    low, high = (text(one) for one in ends)
    return Number(ends[0], low if low == high else f"{low} to {high}", source)


def _waits(result: StudyResult) -> Iterator[Sentence]:
    for case in result.cases:
        for found in case.panels:
            yield from signals.unexplained_waits(found)


def _left_out(parts: Sequence[str], how: str) -> Iterator[Sentence]:
    if parts:
        yield say(
            "Parts of the study were left out {how}: {parts}.",
            how=Name(how),
            parts=Name(listed(list(parts))),
        )


def _truncated(found: Truncated, cells: CellTable) -> Sentence:
    """A sentence on cells with many unanswered requests, in which percentiles may be too low."""
    shares = [cell_number(row, found.metric, unit=True) for row in found.rows]
    return say(
        "{what} in {cells}: {share}. They have no latency, so that percentiles and means may be "
        "too low there.",
        what=Name(found.metric.title),
        cells=_of_all(len(found.rows), len(cells.rows)),
        share=value_range([one for one in shares if one is not None]),
    )


def _starving(result: StudyResult) -> Iterator[Sentence]:
    found, metric = result.warnings.starving, result.cells.workload.response
    rows = [one.row for one in found if one.starved is not None and one.starved.number]
    yield from starved(found, _named(rows, result.cells))
    if metric is not None:
        rows = [one.row for one in found if one.answered is not None]
        yield from cut_off(found, metric, _named(rows, result.cells))


def _of_all(some: int, total: int) -> Sentence:
    if some == total:
        return say("every cell" if total > 1 else "the only cell")
    return say(
        "{n} of {total} cells",
        n=count(some, "cells with unanswered requests"),
        total=count(total, "cells of the plan"),
    )


def _not_measured(found: Mapping[str, Metric]) -> Iterator[Sentence]:
    """Metrics that the study names but no run measured; each metric is listed once."""
    for metric in dict.fromkeys(found.values()):
        places = [path for path, one in found.items() if one == metric]
        yield say(
            "The study asks for “{metric}” ({places}), which no run measured.",
            metric=Name(metric.title),
            places=Name(listed(places)),
        )


def _too_few(found: TooFew) -> Sentence:
    return say(
        "The study asks for “{metric}” ({places}), which has no value in {n} of {all}: {why}.",
        metric=Name(found.metric.title),
        places=Name(listed(found.places)),
        n=count(found.cells, "cells with too few samples"),
        all=things(count(found.every, "cells with runs"), "cell"),
        why=Name(lacking_text(found.fewest)),
    )


def _problems(result: StudyResult) -> Iterator[Sentence]:
    kinds = Counter(problem.kind for _, problem in result.warnings.problems)
    planned = count(len(result.plan.runs), "runs of the plan")
    for kind, (singular, plural) in KINDS.items():
        if kinds[kind]:
            yield say(
                "{n} of {planned} runs {text}{advice}.",
                n=count(kinds[kind], f"runs that are {kind}"),
                planned=planned,
                text=Name(singular if kinds[kind] == 1 else plural),
                advice=_advice(result) if kind == "limited" else NOTHING,
            )


def _made_again(result: StudyResult) -> Iterator[Sentence]:
    again = result.testbed.made_again
    if again:
        attempts = sum(int(one.limit.value or 0) for one in again)
        yield say(
            "{n} of {planned} runs {were} made again, because the machine was late; {attempts} "
            "{do} not count.",
            n=count(len(again), "runs that were made again"),
            planned=count(len(result.plan.runs), "runs of the plan"),
            were=Name("was" if len(again) == 1 else "were"),
            attempts=things(count(attempts, "attempts that do not count"), "attempt"),
            do=Name("does" if attempts == 1 else "do"),
        )


def _set_aside(result: StudyResult) -> Iterator[Sentence]:
    if result.testbed.set_aside:
        yield say(
            "Attempts that the machine disturbed were set aside and repeated: {n}.",
            n=count(result.testbed.set_aside, "records of invalid runs that were set aside"),
        )


def _advice(result: StudyResult) -> Sentence:
    """Advice for runs on a machine that was late."""
    return say(
        ": make them again on an idle machine by {again}, or run the study at a smaller scale, "
        "such as {option}",
        again=Name("netstudy run --resume", code=True),
        option=Name(f"--scale {result.testbed.smaller_scale}", code=True),
    )


def _empty(cells: Sequence[CellRow], table: CellTable) -> Iterator[Sentence]:
    if cells:
        yield say("No run gives numbers for {cells}.", cells=_named(cells, table, "for"))


def _few(cells: Sequence[CellRow], result: StudyResult) -> Iterator[Sentence]:
    if not cells:
        return
    runs = [len(cell.runs) for cell in cells]
    low, high = min(runs), max(runs)
    single = page_of(result.cells.workload).single
    if single is not None and high == 1:
        yield single(len(cells), len(result.cells.rows))
        return
    if high > 1:
        why = say("so few cannot show whether runs are distributed as the tests assume")
    else:
        why = say("run-to-run variation is unknown")
    yield say(
        "{who} fewer than {wanted} runs ({runs}): {why}.",
        who=_who_has(len(cells), len(result.cells.rows)),
        wanted=count(RUNS_RECOMMENDED, "recommended number of runs"),
        runs=Number(high, str(high) if low == high else f"{low} to {high}", "runs of such a cell"),
        why=why,
    )


def _alike(result: StudyResult) -> Iterator[Sentence]:
    """Cells in which all repetitions gave the same value."""
    alike = repeated_for_nothing(result.cells.rows, result.deciding)
    if alike:
        total = len(result.cells.rows)
        where = "in every cell" if total > 1 else "in the only cell"
        yield say(
            "All runs gave the same {metric}{where}: repetition shows nothing here.",
            metric=Name(result.deciding.label),
            where=say(" {where}", where=Name(where))
            if len(alike) == total
            else say(" in {cells}", cells=_named(alike, result.cells)),
        )


def _who_has(some: int, total: int) -> Sentence:
    """Cells as a subject with its verb: each cell has, 1 of 8 cells has, 3 of 8 cells have."""
    if some == total:
        return say("Each cell has" if total > 1 else "The only cell has")
    return say(
        "{n} of {total} cells {have}",
        n=count(some, "cells with fewer runs than recommended"),
        total=count(total, "cells"),
        have=Name("has" if some == 1 else "have"),
    )


def _contradicted(order: OrderAgreement) -> Sentence:
    return say(
        "In {metric} the published data put {level} and {base} the other way round in {n} of "
        "{total} rows that differ clearly: the model of one of them may be wrong.",
        metric=Name(order.metric.label),
        level=level_name(order.level),
        base=level_name(order.base),
        n=count(order.compared - order.same, "rows in the other order"),
        total=count(order.compared, "rows that differ by more than the noise on both sides"),
    )


_TELLING_PCT = 0.05
"""A short warm-up is reported if it changes a mean by at least this: then the fourth digit
differs."""


def _warm_up(result: StudyResult) -> Iterator[Sentence]:
    found = [one for one in result.warnings.warm_up if math.isfinite(one[1].effect_pct)]
    ended = [cell for cell, warm in result.warnings.warm_up if math.isinf(warm.effect_pct)]
    if ended:
        yield say(
            "In {cells} all that was measured lies in the first {samples}; nothing came later.",
            samples=Name(f"{result.warnings.warm_up[0][1].noun}s"),
            cells=_named(ended, result.cells),
        )
    if any(abs(warm.effect_pct) >= _TELLING_PCT for _, warm in found):
        yield say(
            "The first {samples} differ from the later ones in {cells}, so the warm-up may be too "
            "short (MSER); they shift a mean by {effect} at most.",
            samples=Name(f"{found[0][1].noun}s"),
            effect=percent(
                max(abs(warm.effect_pct) for _, warm in found),
                f"largest (mean − mean without the first {found[0][1].noun}s) ÷ the latter",
            ),
            cells=_named([cell for cell, _ in found], result.cells),
        )


def _named(cells: Sequence[CellRow], table: CellTable, word: str = "in") -> Sentence:
    """Lists cells by their levels; cells that differ only in the factor along x become one span.
    `word` is the preposition before the list, which is repeated before its last item.

    A factor with the same level in all cells does not distinguish them, and is left out.
    """
    along = next((f for f, levels in table.factors.items() if is_numeric(levels)), None)
    telling = {f for f, levels in table.factors.items() if len(levels) > 1} or set(table.factors)
    groups: dict[str, list[Level]] = {}
    for cell in cells:
        rest = {f: level for f, level in cell.treatment.items() if f in telling and f != along}
        groups.setdefault(treatment_text(rest), []).append(cell.treatment.get(along or "", ""))
    if along is None:
        return join([Name(text) for text in groups], between="; ")
    names = [_span_name(text, along, chosen, table) for text, chosen in groups.items()]
    return join(names, last=f"and {word}", between="; ")


def _span_name(text: str, along: str, chosen: Sequence[Level], table: CellTable) -> Name:
    levels = listed(spans(chosen, table.factors[along]))
    return Name(f"{text}, {along}={levels}" if text else f"{along}={levels}")
