"""The report's text on published runs: the sources of their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netstudy.analysis.intervals import CONFIDENCE
from netstudy.analysis.rank import PERMUTATIONS
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import ALPHA
from netstudy.report.cellrefs import count, plain
from netstudy.report.prose.words import margin_sentence, number_range, things
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.workloads.base import WorkloadPage
from netstudy.wire import Published, Run


def _work(run: Run) -> Published:
    assert isinstance(run.workload, Published), "this is the page of published values"
    return run.workload


def _listed(sources: Iterable[str]) -> Name:
    """The sources, separated by semicolons, since they contain commas."""
    return Name("; ".join(sources))


def _description(runs: Sequence[Run]) -> list[Sentence]:
    works = [_work(run) for run in runs]
    sources = dict.fromkeys(source for work in works for source in work.source)
    given = number_range([len(work.given) for work in works], "published values of a run")
    return [
        say(
            "The values are published ones, {given} a run: {sources}.",
            given=things(given, "value"),
            sources=_listed(sources),
        ),
        say("The runs were not made here: only their source describes them."),
    ]


def _methods(result: StudyResult) -> list[Sentence]:
    """The sentences on methods, for published values, whose runs are not known."""
    # The usual sentences on runs do not apply: warm-up, pooling and batches are unknown.
    return [
        say(
            "Every value is taken from the source as it is printed. Where a cell has several "
            "repetitions, its value is their mean and its interval Student’s at {level}, with at "
            "least the variance of rounding. A value without repetitions has no interval, because "
            "only its rounding is known.",
            level=plain(100 * CONFIDENCE, 0, "%", "confidence of all intervals"),
        ),
        say(
            "A level is compared with the base by the ratio of their values. Without repetitions "
            "two values are “different” if they differ by more than the noise threshold, and "
            "“same” if they do not, provided that one unit of the last digit could not change "
            "this; run-to-run variation is unknown. With repetitions the tests are as for runs: "
            "two one-sided tests for “same”, and two for “different”, judged at {alpha} after "
            "Holm’s correction inside the table.",
            alpha=plain(ALPHA, 2, "", "level of all tests"),
        ),
        *margin_sentence(result),
        say(
            "Rank correlations are Spearman’s, with p by {n} permutations from a fixed seed.",
            n=count(PERMUTATIONS, "random orders"),
        ),
        say(
            "Percentages and ratios are computed from the values as published. An empty cell was "
            "not published."
        ),
    ]


def _provenance(result: StudyResult) -> Sentence:
    return say("Published values, from {sources}", sources=_listed(result.sources))


def _single(cells: int, total: int) -> Sentence:
    return say(
        "{n} of {total} cells have one published value: its rounding is known, and run-to-run "
        "variation is unknown.",
        n=count(cells, "cells with one published value"),
        total=count(total, "cells"),
    )


PUBLISHED = WorkloadPage(
    description=_description,
    senders="the senders",
    methods=_methods,
    provenance=_provenance,
    single=_single,
)
