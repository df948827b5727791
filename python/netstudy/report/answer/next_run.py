"""The next run: the one that would decide what is still open."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.analysis.case_result import CaseResult
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import RUNS_RECOMMENDED, Comparison
from netstudy.report.caveats.short_phase import needed_phase
from netstudy.report.cellrefs import count
from netstudy.report.conclusions import page_of_conclusion
from netstudy.report.refs import Name, Sentence, say


def next_run(result: StudyResult) -> Sentence | None:
    """The replicates or the phase that would probably decide the undecided comparisons of the
    deciding metric, else the levels to try; None: nothing is open, or published values cannot be
    repeated."""
    if result.testbed.published:
        return None
    return _of_comparisons(result) or _of_conclusions(result)


def _of_conclusions(result: StudyResult) -> Sentence | None:
    drawn = ((one, one.drawn) for one in result.concluded if one.drawn is not None)
    found = (page_of_conclusion(one).next_run(findings) for one, findings in drawn)
    return next((one for one in found if one is not None), None)


def _of_comparisons(result: StudyResult) -> Sentence | None:
    open_ = [row for row in _compared(result) if row.outcome == "undecided"]
    short = [row.unsettled for row in open_ if row.unsettled is not None]
    if short:
        return say("measure for at least {needed}.", needed=needed_phase(short))
    have = max((len(cell.runs) for cell in result.cells.rows), default=0)
    if any(row.too_few_samples for row in open_):
        return say("measure longer, so that each run has enough samples.")
    if any(row.within_one_run for row in open_):
        wanted = RUNS_RECOMMENDED
    else:
        known = [row.more_runs for row in open_ if row.more_runs is not None]
        if not known:
            return None
        wanted = have + max(known)
    if result.testbed.measured:
        return say(
            "measure {wanted} runs of each level, to decide the comparisons that are too close to "
            "call.",
            wanted=count(wanted, "runs that would probably decide"),
        )
    return say(
        "repeat the run with {option}, to decide the comparisons that are too close to call.",
        option=Name(f"--set replicates={wanted}", code=True),
    )


def _compared(result: StudyResult) -> Iterator[Comparison]:
    """Every comparison of the deciding metric."""
    for case in result.cases:
        yield from _in_case(result, case)


def _in_case(result: StudyResult, case: CaseResult) -> Iterator[Comparison]:
    for found in case.panels:
        for table in found.verdicts:
            if table.metric == result.deciding:
                yield from table.rows
