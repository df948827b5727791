"""The methods section; its numbers are the constants of the code."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.analysis.accounts import accounts_of
from netstudy.analysis.bootstrap import RESAMPLES
from netstudy.analysis.intervals import CONFIDENCE
from netstudy.analysis.rank import PERMUTATIONS
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import ALPHA, POWER, RUNS_RECOMMENDED
from netstudy.report.cellrefs import count, plain
from netstudy.report.prose.words import margin_sentence
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.time_words import whose_time
from netstudy.report.workloads import page_of
from netstudy.wire import DEPARTURES


def methods(result: StudyResult) -> list[Sentence]:
    """The methods that this report used."""
    return page_of(result.cells.workload).methods(result) or _of_runs(result)


def _of_runs(result: StudyResult) -> list[Sentence]:
    """The methods by which numbers are computed from the runs of a testbed."""
    level = plain(100 * CONFIDENCE, 0, "%", "confidence of all intervals")
    return [
        say(
            "The statistical unit is the run: everything is started anew for it. Replicates of a "
            "cell are pooled; means are sums over all {samples} ÷ their number, and goodput is all "
            "bytes ÷ all time (ratios of sums, never means of ratios).",
            samples=Name(f"{result.cells.workload.counted.noun}s"),
        ),
        say(
            "Intervals are Student intervals over runs at {level}. Where a cell has one run only, "
            "they come from batch means inside it, with batches long enough not to be correlated; "
            "such an interval leaves out the variation between runs.",
            level=level,
        ),
        say(
            "A level is compared with the base by the ratio of their means, with Fieller’s "
            "interval. “Same” is an equivalence: both one-sided tests place the ratio inside the "
            "noise band. “Different” is a minimum effect: one of two one-sided Welch tests places "
            "the ratio outside the band, or away from equality where the study declares no noise. "
            "Both are judged at {alpha} after Holm’s correction inside the table. Every other row "
            "is undecided, with the range of its simultaneous interval; the number of further runs "
            "aims at a power of {power}.",
            alpha=plain(ALPHA, 2, "", "level of all tests"),
            power=plain(100 * POWER, 0, "%", "power that further runs aim at"),
        ),
        # The next three are empty if the report does not use these methods.
        *_noise(result),
        *_scale(result),
        *_departures(result),
        say(
            "Rank correlations are Spearman’s, with p by {n} permutations from a fixed seed; p "
            "between {samples} is a sign test over the cells.",
            samples=Name(samples_of(result)),
            n=count(PERMUTATIONS, "random orders"),
        ),
        *_times(result),
        *_published(result),
        say(
            "Percentages, ratios and errors are computed from unrounded values. An empty cell was "
            "not measured; zero is written as a number."
        ),
        say(
            "A percentile has a value where two of the ordered samples enclose it at {level}. The "
            "interval of a percentile or a share is the wider of two: one over all samples, "
            "assumed independent (order statistics; Wilson’s for shares), and Student’s over the "
            "runs. Tests between cells use only the variance between runs.",
            level=level,
        ),
        say(
            "Warm-up is the beginning of a run that the plan excludes; MSER with batches of five "
            "warns if it is too short. At least {runs} runs a cell are recommended.",
            runs=count(RUNS_RECOMMENDED, "recommended runs a cell"),
        ),
    ]


def samples_of(result: StudyResult) -> str:
    """The items that tests inside a cell compare: iterations or runs."""
    panels = [found for case in result.cases for found in case.panels]
    return panels[0].causes.samples if panels else "runs"


def _times(result: StudyResult) -> Iterator[Sentence]:
    """How the time of units of work is divided; empty if no run has an account of it."""
    accounts = [account for row in result.cells.rows for _, account in accounts_of(row)]
    if not accounts:
        return
    is_exact = all(account.high_ps is None for account in accounts)
    yield say(
        "The time of {unit} is divided by following its last byte back to the start: each "
        "interval on this way is a part, and the parts add up to the whole. As cause, the work of "
        "the bytes in front stands for a wait in a queue. {how}",
        unit=Name(whose_time(accounts[0].unit)),
        how=say("One replicate of each cell is traced, and its parts are exact.")
        if is_exact
        else say(
            "Parts are bounds from the plan and from counters: lower bounds add up to at most the "
            "whole, upper bounds to at least the whole."
        ),
    )


def _published(result: StudyResult) -> list[Sentence]:
    if not result.sources:
        return []
    return [
        say(
            "The interval of a median error encloses both bootstrap intervals, percentile and "
            "basic, over {n} redrawn sets of each cell’s runs, stretched to the variance of a mean "
            "(Rao and Wu). It shows how far other runs of the same model could differ; published "
            "values are used as printed.",
            n=count(RESAMPLES, "redrawn sets of runs"),
        )
    ]


def _scale(result: StudyResult) -> list[Sentence]:
    """The consequences of scaled link rates for the results; empty if rates are not scaled."""
    if result.testbed.scaled_by is None:
        return []
    return [
        say(
            "Every link has the study’s rate × {scale}. So have shapers, policers and varying "
            "rates. Nothing else is scaled: {sized}, buffers, bursts, delays and timers are the "
            "study’s. So rates and times differ from the study at its own rates, and timers take a "
            "smaller share of the time.",
            scale=Name(result.testbed.scaled_by),
            sized=page_of(result.cells.workload).sized,
        )
    ]


def _departures(result: StudyResult) -> Iterator[Sentence]:
    """Settings of the study that the testbed cannot apply."""
    told = "\n".join(result.testbed.environment.get(DEPARTURES, ()))
    if told:
        lines = dict.fromkeys(told.split("\n"))
        yield say("Different from the study on this testbed: {what}", what=Name(" ".join(lines)))


def _noise(result: StudyResult) -> list[Sentence]:
    declared = margin_sentence(result)
    if not declared:
        return []
    return [
        *declared,
        say(
            "The report also gives the A/A noise, t × s × √(two ÷ n) of the replicates in percent "
            "of their mean: the difference to expect between two series of equal runs."
        ),
    ]
