"""Sentences on cells with too few runs, or with runs that are all alike."""

from __future__ import annotations

from netstudy.analysis.caveats.few_runs import DependentRuns, FewRuns, IdenticalRuns, SingleRuns
from netstudy.analysis.verdict import ALPHA, RUNS_RECOMMENDED
from netstudy.report.caveats.base import caveat_sentence, named_cells
from netstudy.report.cellrefs import count, plain
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.report.workloads import page_of


@caveat_sentence.register
def few_runs(found: FewRuns) -> Sentence:
    """How many cells have few runs, and what cannot be known of them."""
    runs = [len(cell.runs) for cell in found.cells]
    low, high = min(runs), max(runs)
    single = page_of(found.table.workload).single
    if single is not None and high == 1 and found.is_published:
        return single(len(found.cells), len(found.table.rows))
    if high > 1:
        why = say("so few cannot show whether runs are distributed as the tests assume")
    else:
        why = say("run-to-run variation is unknown")
    return say(
        "{who} fewer than {wanted} runs ({runs}): {why}.",
        who=_who_has(len(found.cells), len(found.table.rows)),
        wanted=count(RUNS_RECOMMENDED, "recommended number of runs"),
        runs=Number(high, str(high) if low == high else f"{low} to {high}", "runs of such a cell"),
        why=why,
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


@caveat_sentence.register
def single_runs(found: SingleRuns) -> Sentence:  # noqa: ARG001  # its kind says it all
    """One run of a setting gives no verdict."""
    return say(
        "With one run of a setting, run-to-run variation is unknown, so there will be no verdict. "
        "Set {replicates} to {least} at least; {recommended} are better.",
        replicates=Name("replicates", code=True),
        least=count(2, "a spread needs two runs"),
        recommended=count(RUNS_RECOMMENDED, "runs that mostly decide"),
    )


@caveat_sentence.register
def identical_runs(found: IdenticalRuns) -> Sentence:
    """The cells in which all repetitions gave the same value."""
    total = len(found.table.rows)
    where = "in every cell" if total > 1 else "in the only cell"
    return say(
        "All runs gave the same {metric}{where}, so no variation can be judged.",
        metric=Name(found.metric.label),
        where=say(" {where}", where=Name(where))
        if len(found.cells) == total
        else say(" in {cells}", cells=named_cells(found.cells, found.table)),
    )


@caveat_sentence.register
def dependent_runs(caveat: DependentRuns) -> Sentence:
    """How unlikely the order of the replicates is, and what would help."""
    found = caveat.found
    return say(
        "The runs depend on the runs before them: only {p} of all orders of the {n} replicates "
        "would make neighbours as alike. Verdicts and intervals assume independent runs, so "
        "differences may be false and their error rate of {alpha} does not hold. Restart "
        "everything between replicates, or repeat the study on other days.",
        p=plain(100 * found.p, 1, "%", "p of the order of the replicates, by permutation"),
        n=count(found.replicates, "replicates in order"),
        alpha=plain(100 * ALPHA, 0, "%", "level of all tests"),
    )
