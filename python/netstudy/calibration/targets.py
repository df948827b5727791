"""What a model has to meet: the values of a study's reference, each with the run that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan import PlannedStudy
from netstudy.study import Study
from netstudy.study.published import PublishedValue, published_values

RELATIVE = "_pct"
"""What the names of metrics relative to a base row end in."""


@dataclass(frozen=True)
class Target:
    """A value that was measured elsewhere."""

    run: str
    """Id of the run that shows it."""
    treatment: wire.Treatment
    row: str
    """File and line."""
    file: str
    metric: str
    value: float
    rounding: float
    predicted: bool
    """The reference keeps it for a blind check: it is never fitted."""

    def tolerance(self, own: Mapping[str, float], share: float) -> float:
        """How far the model may be from it and count as met: what was said for the metric, else a
        share of the value, and never less than the source's rounding."""
        return max(own.get(self.metric, abs(self.value) * share), self.rounding / 2)


def targets_of(study: Study, planned: PlannedStudy) -> tuple[Target, ...]:
    """The values of all reference files that a run of the study shows, the first replicate each.

    Raises StudyError where there are none to fit.
    """
    if not study.reference:
        raise StudyError("the study has no reference data, so there is nothing to fit to")
    found = tuple(_targets(study, planned))
    if not any(not one.predicted for one in found):
        marked = "all of it is marked predict: true" if found else "no run shows a value of it"
        raise StudyError(f"the reference has nothing to fit to: {marked}")
    return found


def _targets(study: Study, planned: PlannedStudy) -> Iterator[Target]:
    runs = [run for run in planned.whole_plan.runs if run.replicate == 1]
    for value in published_values(study):
        run = next((run for run in runs if _shows(run, value)), None)
        if run is None:
            continue
        yield Target(
            run=run.id,
            treatment=run.treatment,
            row=value.row,
            file=value.file,
            metric=value.metric,
            value=value.value,
            rounding=value.rounding,
            predicted=value.predict,
        )


def _shows(run: wire.Run, value: PublishedValue) -> bool:
    return value.is_of(run.treatment) and (value.case is None or value.case in run.cases)
