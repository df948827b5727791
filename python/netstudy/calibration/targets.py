"""The targets of a calibration: measured values, each with the run that corresponds to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan import PlannedStudy
from netstudy.study import Study, level_text
from netstudy.study.published_values import published_values
from netstudy.study.reference_files import PublishedValue
from netstudy.study.vocabulary import PUBLISHED, MetricName, split_metric

if TYPE_CHECKING:
    from netstudy.analysis.intervals import Estimate
    from netstudy.store import Folder

_HALF_WIDTHS = 1.96
"""Half the width of a 95 % interval ÷ standard error."""


@dataclass(frozen=True)
class Target:
    """A measured value: published, or from the study's own runs."""

    run: str
    """Id of the corresponding run; if it has several replicates, of the first."""
    treatment: wire.Treatment
    row: str
    """Where the value comes from: file and line of a published value, or the levels of a measured
    cell."""
    file: str
    """The source. All values of a relative metric from one source are in percent of the same
    base."""
    metric: MetricName
    value: float
    predicted: bool
    """Whether the value is only predicted, not fitted: its reference lists the cells to fit, and
    this cell is not in the list."""
    rounding: float = 0.0
    spread: float = 0.0
    """The standard error of the value; 0 if it was not repeated."""

    def tolerance(self, own: float, share: float) -> float:
        """The largest error of the model that is accepted: the largest of `own`, in the metric's
        unit, `share` of the value, half of the source's rounding, and the standard error."""
        return max(own, abs(self.value) * share, self.rounding / 2, self.spread)


def published_targets(study: Study, planned: PlannedStudy) -> tuple[Target, ...]:
    """All values of the reference files for which the study has a run.

    If a reference lists the cells that profiles were fitted to, the other cells of its file are not
    fitted. Raises StudyError if no value is left to fit.
    """
    if not study.reference:
        raise StudyError(
            "the study has no reference data, so there is nothing to fit to; name the results "
            "folder of measured runs instead"
        )
    found = tuple(_published(study, planned))
    if not any(not one.predicted for one in found):
        reason = 'its list "fitted" names no value' if found else "no run has the levels of a value"
        raise StudyError(f"the reference has nothing to fit to: {reason}")
    return found


def _published(study: Study, planned: PlannedStudy) -> Iterator[Target]:
    runs = _first_replicates(planned)
    names_fitted = {one.file for one in study.reference if one.fitted is not None}
    for value in published_values(study):
        run = next((run for run in runs if _shows(run, value)), None)
        if run is not None and _is_over_same_phase(run, value):
            yield Target(
                run=run.id,
                treatment=run.treatment,
                row=value.row,
                file=value.file,
                metric=value.metric,
                value=value.value,
                predicted=value.file in names_fitted and not value.fitted,
                rounding=value.rounding,
            )


def measured_targets(
    folder: Folder, planned: PlannedStudy, metrics: Sequence[str]
) -> tuple[Target, ...]:
    """The measured values of these metrics in a results folder, one target per cell.

    Raises StudyError for a folder of published values, and for metrics without any value.
    """
    from netstudy.analysis.named import metric_named
    from netstudy.analysis.related import cell_table

    if folder.invocation().testbed == PUBLISHED:
        raise StudyError(
            f"{folder.path} holds published values, not measured runs; name the study instead: it "
            "says which values are kept for a blind check"
        )
    by_treatment = {treatment_text(run.treatment): run for run in _first_replicates(planned)}
    table = cell_table(folder)
    found = []
    for text in metrics:
        name = _known(text)
        metric = None if name is None else metric_named(name, table.vocabulary)
        if name is None or metric is None:
            raise StudyError(f'there is no metric "{text}" in these runs')
        for cell in table.rows:
            estimate, run = cell.estimate(metric), by_treatment.get(treatment_text(cell.treatment))
            # Cells that the study no longer plans cannot be simulated, so they are no targets.
            if estimate is None or run is None:
                continue
            found.append(
                Target(
                    run=run.id,
                    treatment=cell.treatment,
                    row=treatment_text(cell.treatment),
                    file=str(folder.path),
                    metric=name,
                    value=estimate.value,
                    predicted=False,
                    spread=_spread(estimate),
                )
            )
    if not found:
        raise StudyError(f"no run of {folder.path} has a value of {', '.join(metrics)}")
    return tuple(found)


def _known(text: str) -> MetricName | None:
    try:
        return split_metric(text)
    except ValueError:
        return None


def _spread(estimate: Estimate) -> float:
    """The standard error of a measured value; 0 if nothing was repeated."""
    if estimate.variance is not None:
        return math.sqrt(estimate.variance)
    interval = estimate.interval
    return 0.0 if interval is None else (interval.high - interval.low) / 2 / _HALF_WIDTHS


def treatment_text(treatment: wire.Treatment) -> str:
    """The factors with their levels as text, in alphabetical order."""
    return ", ".join(f"{name} {level_text(level)}" for name, level in sorted(treatment.items()))


def _first_replicates(planned: PlannedStudy) -> list[wire.Run]:
    return [run for run in planned.whole_plan.runs if run.replicate == 1]


def _is_over_same_phase(run: wire.Run, value: PublishedValue) -> bool:
    """Whether a value can be compared with a simulated run: a total of a run needs a phase of the
    same length or work."""
    until = run.until("measure")
    if not value.metric.is_total:
        return True
    if isinstance(until, wire.UntilTime):
        return value.measured_s is not None and until.ns == round(value.measured_s * 1e9)
    return until is not None and until.count == value.counted


def _shows(run: wire.Run, value: PublishedValue) -> bool:
    return value.is_of(run.treatment) and (value.case is None or value.case in run.cases)
