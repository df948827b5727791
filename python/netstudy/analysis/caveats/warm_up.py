"""MSER-5 as an alarm: does the measuring phase still contain part of the warm-up?

MSER (White 1997) picks the truncation point that minimises the standard error of the mean of the
remaining samples. MSER-5 applies this to means of five samples. On a stationary series it cuts a
few samples at random, so the alarm also requires that these samples differ from the rest by more
than chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from netstudy.analysis.caveats.base import Analysed, Caveat, reads
from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.claims import Claim
from netstudy.analysis.intervals import batch_means, student_quantile
from netstudy.analysis.samples import Floats
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.analysis.workloads.base import lengths_part

BATCH = 5
MIN_BATCHES = 16
"""Fewest batches: a shorter series cannot show a steady part after a warm-up."""
ROUNDING = 1e-9
"""Relative differences below this are floating-point error."""
FALSE_ALARM = 0.001
"""Probability that a cell without warm-up raises the alarm; small because many cells are tested."""


@dataclass(frozen=True)
class WarmUp:
    """The result of MSER-5 for the samples of one cell, averaged over its runs."""

    cut: int
    """Number of samples that MSER-5 would cut."""
    cut_mean: float | None
    kept_mean: float
    alarm: bool
    length: int
    """Length of the series in samples."""
    noun: str
    """Name of a sample."""

    @property
    def effect_pct(self) -> float:
        """By how much the samples that should be cut change the mean of the cell, in percent of the
        mean without them; infinite if that mean is 0."""
        if self.cut_mean is None:
            return 0.0
        if self.kept_mean == 0:
            return math.inf if self.cut_mean else 0.0
        excess = (self.cut_mean - self.kept_mean) * self.cut / self.length
        return 100 * excess / self.kept_mean


def mser5(values: Floats) -> int:
    """Number of samples to cut from the front: a multiple of five, at most half of the samples."""
    batches = values[: values.size // BATCH * BATCH].reshape(-1, BATCH).mean(axis=1)
    if batches.size < 2:
        return 0
    candidates = range(batches.size // 2 + 1)
    errors = [float(batches[d:].var()) / (batches.size - d) for d in candidates]
    return int(np.argmin(errors)) * BATCH


def warm_up_of(cell: CellRow, workload: WorkloadAnalysis) -> WarmUp | None:
    """The alarm for a cell; None if its runs are too short.

    The samples are first averaged over the runs (Welch's procedure). This preserves a warm-up that
    occurs in all runs and averages out everything else.
    """
    length = min(cell.runs.gathered("lengths", lengths_part(workload)), default=0)
    if length < MIN_BATCHES * BATCH:
        return None
    courses = [course for run in cell.runs if (course := workload.course(run)) is not None]
    mean = np.mean([course.values[:length] for course in courses], axis=0)
    return _alarm(mean, mser5(mean), courses[0].noun)


def _alarm(series: Floats, cut: int, noun: str) -> WarmUp:
    kept = batch_means(series[cut:], np.ones(series.size - cut))
    assert kept is not None, "at least half of the series is kept"
    if cut == 0:
        return WarmUp(0, None, kept.value, alarm=False, length=series.size, noun=noun)
    cut_mean = float(series[:cut].mean())
    per_sample = (kept.variance or 0.0) * (series.size - cut)
    error = math.sqrt((kept.variance or 0.0) + per_sample / cut)
    limit = student_quantile(1 - FALSE_ALARM / 2, max(1.0, kept.df)) * error
    differs = abs(cut_mean - kept.value) > max(limit, ROUNDING * kept.value)
    return WarmUp(cut, cut_mean, kept.value, alarm=differs, length=series.size, noun=noun)


def alarms(table: CellTable) -> tuple[tuple[CellRow, WarmUp], ...]:
    """The cells whose first samples suggest that the warm-up was too short."""
    found = ((cell, warm_up_of(cell, table.workload)) for cell in table.rows)
    return tuple((cell, warm) for cell, warm in found if warm is not None and warm.alarm)


TELLING_PCT = 0.05
"""A short warm-up is reported if it changes a mean by at least this: then the fourth digit
differs."""


@dataclass(frozen=True)
class OnlyAtFirst(Caveat):
    """Cells in which all that was measured lies in the first samples."""

    cells: tuple[CellRow, ...]
    table: CellTable
    noun: str
    """Name of a sample."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[OnlyAtFirst]:
        """One caveat for all of them."""
        found = [one for one in alarms(analysed.cells) if math.isinf(one[1].effect_pct)]
        if found:
            yield cls(tuple(cell for cell, _ in found), analysed.cells, found[0][1].noun)

    def forbids(self, claim: Claim) -> bool:
        """Claims about these cells, which no longer did anything when they were measured."""
        return any(reads(claim, cell.treatment) for cell in self.cells)


@dataclass(frozen=True)
class ShortWarmUp(Caveat):
    """Cells whose first samples differ from the later ones."""

    cells: tuple[CellRow, ...]
    table: CellTable
    noun: str
    """Name of a sample."""
    most_pct: float
    """The largest effect on a mean."""
    margin_pct: float | None
    """The noise that the study declares; None: it declares none."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[ShortWarmUp]:
        """One caveat for all of them, if some mean changes by a telling amount."""
        found = [one for one in alarms(analysed.cells) if math.isfinite(one[1].effect_pct)]
        most_pct = max((abs(warm.effect_pct) for _, warm in found), default=0.0)
        if most_pct >= TELLING_PCT:
            cells = tuple(cell for cell, _ in found)
            margin_pct = analysed.planned.study.margin_pct
            yield cls(cells, analysed.cells, found[0][1].noun, most_pct, margin_pct)

    def forbids(self, claim: Claim) -> bool:
        """Equality of these cells, if the warm-up shifts a mean by more than the noise."""
        is_large = self.margin_pct is not None and self.most_pct > self.margin_pct
        touched = any(reads(claim, cell.treatment) for cell in self.cells)
        return claim.kind == "equal" and is_large and touched
