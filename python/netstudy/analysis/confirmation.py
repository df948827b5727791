"""The runs that would confirm a bottleneck: one raises the limit, another only the nearest resource
that is no limit. The operational laws predict the throughput of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from netstudy.analysis.bounds.candidates import Candidate
from netstudy.analysis.bounds.parts import Part
from netstudy.analysis.bounds.verdict import Level
from netstudy.analysis.cells import CellTable
from netstudy.analysis.diagnosis import UNSURE, Diagnosis, Setting, is_undecided
from netstudy.analysis.metrics import Metric
from netstudy.analysis.predictions import OF_LOSSES, Laws, Prediction
from netstudy.analysis.raising import Bound, CannotRaiseError, Raise, Raiser
from netstudy.documents.problems import listed
from netstudy.study.levels import has_levels, level_text
from netstudy.wire import Level as FactorLevel

if TYPE_CHECKING:
    from netstudy.study import Study

Claim = Literal["limit", "one of several limits", "ruled out"]


@dataclass(frozen=True, eq=False)
class Experiment:
    """A run with raised bounds, and the predicted throughput."""

    claim: Claim
    """The role of the raised bounds in the cell."""
    raised: Raise
    metric: Metric
    """Throughput."""
    predicted: Prediction

    @property
    def names(self) -> str:
        """The raised bounds, in words."""
        return listed([one.name for one in self.raised.bounds])

    def as_data(self) -> dict[str, Any]:
        """For JSON; ratios are of throughput after to before, with the noise."""
        expected = {
            "metric": self.metric.name,
            "ratio_at_least": self.predicted.low,
            "ratio_at_most": self.predicted.high,
            "noise": self.predicted.noise,
        }
        return {
            "claim": self.claim,
            "names": [one.name for one in self.raised.bounds],
            "set": dict(self.raised.values),
            "expected": expected,
        }


@dataclass(frozen=True, eq=False)
class Confirmation:
    """The experiments for one cell."""

    setting: Setting
    level: Level
    experiments: tuple[Experiment, ...]
    """First the limit is raised; then only another bound, if a key of the study raises one."""

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        first, *others = self.experiments
        data = {"at": self.level.row.treatment, **first.as_data()}
        return data | {"others": [one.as_data() for one in others]}


def chosen(diagnosis: Diagnosis, at: Mapping[str, FactorLevel]) -> tuple[Setting, Level]:
    """The cell to confirm: the highest load, among the settings with these levels, of the one with
    the highest throughput; a setting that is decided comes first. Raises CannotRaiseError if there
    is none."""
    found = [
        (not is_undecided(fit[-1]), fit[-1].seen.throughput, place, one, fit[-1])
        for place, one in enumerate(diagnosis.settings)
        if (fit := [each for each in one.limits.levels if has_levels(each.row.treatment, at)])
    ]
    if not found:
        levels = ", ".join(f"{name}={level_text(level)}" for name, level in at.items())
        raise CannotRaiseError(f"no cell with throughput has {levels}")
    _, _, _, setting, level = max(found, key=lambda each: (each[0], each[1], -each[2]))
    return setting, level


def confirmation(
    study: Study, table: CellTable, setting: Setting, level: Level, scale: Fraction
) -> Confirmation:
    """The runs that would confirm the limit of a cell. Raises CannotRaiseError if it is undecided,
    or if no key of the study raises it."""
    if is_undecided(level):
        raise CannotRaiseError("the limit is not decided, so there is nothing to confirm")
    raiser = Raiser(study, level.row, table.workload, setting.load, scale)
    laws = Laws(setting.limits, level, study.margin_pct)
    metric = setting.limits.metric
    each = [raiser.of(one) for one in _bounds(level)]
    raised = each[0]
    for further in each[1:]:
        raised = raised.with_(further)
    first = Experiment("limit", raised, metric, laws.of_limit(raised))
    other = next(_others(raiser, laws, level, raised), None)
    if other is None and len(each) > 1 and not each[0].touches(each[1]):
        other = Experiment("one of several limits", each[0], metric, laws.of_joint())
    return Confirmation(setting, level, (first,) if other is None else (first, other))


def _bounds(level: Level) -> list[Bound]:
    if level.cause == "served":
        return [Bound("none", "", "", "load")]
    if level.part is not None:
        return [_of_part(level, level.part)]
    return [_of_candidate(one) for one in level.limits]


def _of_candidate(one: Candidate) -> Bound:
    resource = one.resource
    return Bound(resource.kind, resource.node, resource.part, one.name)


def _of_part(level: Level, part: Part) -> Bound:
    """The resource of a part of the time, if it is the use of a resource; else the wait."""
    name = part.name.removeprefix("the ")
    own = (_of_candidate(one) for one in level.candidates if one.resource.key == part.key)
    return next(own, Bound(*part.key, name))


def _others(raiser: Raiser, laws: Laws, level: Level, limit: Raise) -> Iterator[Experiment]:
    """Resources that are no limit and can be raised without the limit, the nearest to their bounds
    first. Where losses limit, a faster link is none of them: it may lose less."""
    is_lossy = level.part is not None and level.part.kind in OF_LOSSES
    no_others = ("none", "link") if is_lossy else ("none",)
    for one in level.candidates:
        kind = one.resource.kind
        if one.state in (*UNSURE, "limit") or kind in no_others or not one.share_pct:
            continue
        try:
            raised = raiser.of(_of_candidate(one))
        except CannotRaiseError:
            continue
        if not raised.touches(limit):
            yield Experiment("ruled out", raised, laws.limits.metric, laws.of_ruled_out(raised))
