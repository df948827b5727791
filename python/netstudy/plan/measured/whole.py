"""Plans of runs that were measured elsewhere have no network and no cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from netstudy import wire
from netstudy.plan.identity import canonical
from netstudy.plan.planned import Cell, Estimate, PlannedStudy
from netstudy.plan.workloads import values_bytes
from netstudy.plan_lines import plan_bytes
from netstudy.study import Study, level_text
from netstudy.study.measured import DeclaredMetric
from netstudy.study.measured_runs import DIRECTIONS
from netstudy.wire import Level, Treatment

UNKNOWN_NETWORK: Final = wire.Network(groups=(), nodes=(), links=())
"""The network of a run that was measured elsewhere."""
_RECORD_BYTES: Final = 1_000
"""Size of a record without its values."""


def planned_study(study: Study, seed: int, runs: tuple[wire.Run, ...]) -> PlannedStudy:
    """The study with these runs."""
    size = sum(_RECORD_BYTES + values_bytes(run) for run in runs)
    plan_size = len(plan_bytes(wire.Plan(study.study, seed, runs)))
    # Nothing is run, so there are no packets and no time; only records are written.
    estimate = Estimate(len(runs), 0, 0, 0, size, 0.0, 0.0, plan_bytes=plan_size)

    def made() -> Iterator[wire.Run]:
        return iter(runs)

    return PlannedStudy(
        study=study,
        seed=seed,
        cells=tuple(_cells(study, runs)),
        estimate=estimate,
        most=estimate,
        loops=(),
        one_of_each=runs,
        first=made,
        whole=made,
        runs_of_first=len(runs),
    )


def declared_metric(
    name: str, own: DeclaredMetric, of_file: wire.MeasuredMetric | None = None
) -> wire.MeasuredMetric:
    """A metric that the study declares; `of_file` is the metric of the same name that a file gives,
    whose label and unit count if the study gives none."""
    found = of_file or wire.MeasuredMetric(
        name=name,
        label=name,
        unit="",
        direction="neutral",
        decimals=0,
        formula="as its source gives it",
        instrument="table",
    )
    return found.model_copy(
        update={
            "direction": DIRECTIONS[own.better],
            "decimals": own.decimals,
            "unit": own.unit or found.unit,
            "label": own.label or found.label,
        }
    )


def is_kept(whole: Mapping[str, Level], only: Mapping[str, Sequence[Level]]) -> bool:
    """True if a treatment has the levels that an option keeps."""
    return all(
        level_text(whole[name]) in set(map(level_text, levels))
        for name, levels in only.items()
        if name in whole
    )


def _cells(study: Study, runs: Sequence[wire.Run]) -> Iterator[Cell]:
    for case in study.cases:
        ids: dict[str, list[str]] = {}
        levels: dict[str, Treatment] = {}
        for run in runs:
            if case.name in run.cases:
                own = {factor.name: run.treatment[factor.name] for factor in case.factors}
                ids.setdefault(canonical(own), []).append(run.id)
                levels[canonical(own)] = own
        for text, found in ids.items():
            yield Cell(case.name, levels[text], len(found), partial(tuple, found))
