"""The order in time of runs that were measured elsewhere: levels one after the other, drift, and
sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import ClassVar, Final

from netstudy.analysis.caveats.base import COMPARISONS, Analysed, Caveat
from netstudy.analysis.claims import Claim
from netstudy.analysis.rank import rank_correlation
from netstudy.analysis.samples import RunSample
from netstudy.wire import Level, Measured

ALPHA: Final = 0.05
"""Level of the test for drift."""
GAP: Final = 10
"""A gap of this many times the median gap between runs begins a new session."""
_GAPS_MIN: Final = 3
"""Fewest gaps with a meaningful median."""


@dataclass(frozen=True)
class UnknownOrder(Caveat):
    """Runs whose files do not say when they were measured."""

    is_in_answer: ClassVar[bool] = True
    runs: int
    of: int

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[UnknownOrder]:
        """One caveat for all of them."""
        runs = _runs(analysed)
        unknown = sum(_started(run) is None for run in runs)
        if unknown:
            yield cls(unknown, len(runs))


@dataclass(frozen=True)
class LevelsInTurn(Caveat):
    """Levels of the compared factor that were measured one after the other, so that whatever
    changed with time looks like a difference of the levels."""

    is_in_answer: ClassVar[bool] = True
    factor: str
    levels: tuple[Level, ...]
    """In the order of time."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[LevelsInTurn]:
        """At most one caveat."""
        found = _in_turn(analysed)
        if found is not None:
            yield cls(*found)


@dataclass(frozen=True)
class Drift(Caveat):
    """Values that changed with time within a level, although levels were measured in turn."""

    factor: str
    p: float

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[Drift]:
        """One caveat if drift is shown in the deciding metric."""
        found = _in_turn(analysed)
        p = None if found is None else _drift(analysed)
        if found is not None and p is not None and p < ALPHA:
            yield cls(found[0], p)

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of these levels: time may have made the difference."""
        return claim.kind in COMPARISONS and claim.factor == self.factor


@dataclass(frozen=True)
class Sessions(Caveat):
    """Runs of several sessions: blocks that the study names, or with long gaps between them."""

    sessions: int
    longest_gap_s: float | None
    """None: the study names the blocks."""
    factor: str | None
    """The compared factor, if some of its levels are not in all sessions."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[Sessions]:
        """One caveat if there are several sessions."""
        sessions, gap_s = _sessions(_runs(analysed))
        if len(sessions) < 2:
            return
        factor = _compared(analysed)
        is_apart = factor is not None and any(
            _levels(one, factor) != _levels([run for each in sessions for run in each], factor)
            for one in sessions
        )
        yield cls(len(sessions), gap_s, factor if is_apart else None)


def _runs(analysed: Analysed) -> list[RunSample]:
    """The valid runs of files, in the order of time; runs of unknown time come first."""
    if not isinstance(analysed.planned.plan.runs[0].workload, Measured):
        return []
    runs = [
        run
        for row in analysed.rows
        for run in row.runs
        if run.record.measured is not None and run.record.measured.files
    ]
    return sorted(runs, key=lambda run: _started(run) or 0.0)


def _started(run: RunSample) -> float | None:
    return None if run.record.measured is None else run.record.measured.started_s


def _compared(analysed: Analysed) -> str | None:
    compare = analysed.planned.study.compare
    return None if compare is None else compare.factor


def _levels(runs: Sequence[RunSample], factor: str) -> set[Level]:
    return {run.record.treatment[factor] for run in runs}


def _in_turn(analysed: Analysed) -> tuple[str, tuple[Level, ...]] | None:
    """The compared factor and its levels, if all runs of each level were measured together: as many
    spells as levels, and several runs in a level."""
    factor, runs = _compared(analysed), _runs(analysed)
    if factor is None or any(_started(run) is None for run in runs):
        return None
    order = [level for level, _ in groupby(run.record.treatment[factor] for run in runs)]
    is_in_turn = len(order) == len(set(order)) and 1 < len(order) < len(runs)
    return (factor, tuple(order)) if is_in_turn else None


def _drift(analysed: Analysed) -> float | None:
    """The probability of a rank correlation of time and value as strong as this one, if there is no
    drift: both as deviations from the means of their cell. None: too few runs."""
    times: list[float | None] = []
    values: list[float | None] = []
    for row in analysed.rows:
        pairs = [
            (started, value)
            for run in row.runs
            if (started := _started(run)) is not None
            and (value := analysed.deciding.reading.of_run(run)) is not None
        ]
        if len(pairs) < 2:
            continue
        mean_s, mean = (sum(one) / len(pairs) for one in zip(*pairs, strict=True))
        times += [started - mean_s for started, _ in pairs]
        values += [value / mean - 1 if mean else 0.0 for _, value in pairs]
    return rank_correlation(times, values).p


def _sessions(runs: Sequence[RunSample]) -> tuple[list[list[RunSample]], float | None]:
    """The sessions, and the longest gap between two of them; None: the study names them."""
    named = {run.record.measured.block for run in runs if run.record.measured is not None}
    if None not in named:
        return [[run for run in runs if _block(run) == block] for block in named], None
    times = [started for run in runs if (started := _started(run)) is not None]
    gaps_s = [after - before for before, after in pairwise(times)]
    if len(times) < len(runs) or len(gaps_s) < _GAPS_MIN:
        return [list(runs)], None
    long_s = GAP * median(gaps_s)
    sessions: list[list[RunSample]] = [[runs[0]]]
    for run, gap_s in zip(runs[1:], gaps_s, strict=True):
        if gap_s > long_s:
            sessions.append([])
        sessions[-1].append(run)
    return sessions, max(gaps_s)


def _block(run: RunSample) -> str | None:
    return None if run.record.measured is None else run.record.measured.block
