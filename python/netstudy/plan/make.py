"""Making a plan: treatments to cells, cells to runs, runs to what the wire carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan.estimate import estimate_of
from netstudy.plan.lower import Resolver
from netstudy.plan.planned import (
    Cell,
    Estimate,
    PlannedRun,
    PlannedStudy,
    canonical,
    digest,
    run_id,
    run_seed,
)
from netstudy.plan.support import is_lowered, not_on_the_wire, open_ended
from netstudy.study import Study, level_text
from netstudy.study.treatments import treatments
from netstudy.wire import Level, Treatment

UNSCALED = Fraction(1)


def make_plan(
    study: Study,
    *,
    seed: int | None = None,
    only: Mapping[str, Sequence[Level]] | None = None,
    hardware: HardwareLibrary | None = None,
    scale: Fraction = UNSCALED,
) -> PlannedStudy:
    """Lay a study out.

    `seed` defaults to the study's own, `only` (factor -> levels) to everything, `hardware` to the
    library beside the study; `scale` multiplies all link rates. Raises StudyError for what does not
    fit together, with its place.
    """
    seed = study.seed if seed is None else seed
    cells = _cells(study, only or {})
    if not cells:
        raise StudyError("nothing is left to run: no treatment has all the levels of --only")
    runs = _in_blocks(_runs(study, cells, seed), seed)
    resolver = Resolver(study, hardware or HardwareLibrary.default(study.folder), scale)
    if is_lowered(study):
        for _, _, treatment in cells:
            resolver.lower(treatment)  # in the study's order, so that its first mistake is told
    wired = None if not_on_the_wire(study) else tuple(_wired(resolver, runs))
    return PlannedStudy(
        study=study,
        seed=seed,
        cells=tuple(_numbered(cells, study)),
        runs=tuple(runs),
        estimate=_not_estimated(len(runs)) if wired is None else estimate_of(wired),
        open_ended=open_ended(study),
        wired=wired,
    )


def _cells(
    study: Study, only: Mapping[str, Sequence[Level]]
) -> list[tuple[str, Treatment, Treatment]]:
    """Case, the levels of its factors, and the whole treatment with what is fixed."""
    wanted = {name: {level_text(level) for level in levels} for name, levels in only.items()}
    return [
        (case.name, {factor.name: whole[factor.name] for factor in case.factors}, whole)
        for case in study.cases
        for whole in treatments(case)
        if all(level_text(whole[name]) in wanted[name] for name in wanted.keys() & whole.keys())
    ]


def _numbered(cells: Iterable[tuple[str, Treatment, Treatment]], study: Study) -> Iterable[Cell]:
    replicates = range(1, study.replicates + 1)
    for case, treatment, whole in cells:
        yield Cell(case, treatment, tuple(run_id(whole, replicate) for replicate in replicates))


def _runs(
    study: Study, cells: Iterable[tuple[str, Treatment, Treatment]], seed: int
) -> list[PlannedRun]:
    """One run a treatment and replicate, shared by the cases in which the treatment stands."""
    whole_by_text: dict[str, Treatment] = {}
    cases_by_text: dict[str, list[str]] = {}
    for case, _, whole in cells:
        text = canonical(whole)
        whole_by_text.setdefault(text, whole)
        cases_by_text.setdefault(text, []).append(case)
    return [
        PlannedRun(
            id=run_id(whole, replicate),
            cases=tuple(cases_by_text[text]),
            treatment=whole,
            replicate=replicate,
            seed=run_seed(whole, replicate, seed),
        )
        for replicate in range(1, study.replicates + 1)
        for text, whole in whole_by_text.items()
    ]


def _in_blocks(runs: list[PlannedRun], seed: int) -> list[PlannedRun]:
    """Each replicate a block of every treatment, each block in a random order of its own."""
    return sorted(runs, key=lambda run: (run.replicate, digest("order", seed, run.id)))


def _wired(resolver: Resolver, runs: Iterable[PlannedRun]) -> Iterable[wire.Run]:
    for run in runs:
        yield resolver.lower(run.treatment).run(
            id=run.id,
            cases=run.cases,
            treatment=run.treatment,
            replicate=run.replicate,
            seed=run.seed,
        )


def _not_estimated(runs: int) -> Estimate:
    """The estimate of a plan that cannot be carried out."""
    return Estimate(
        runs=runs,
        packets=None,
        per_hop_runs=0,
        per_hop_packets=0,
        record_bytes=None,
        line_seconds=0.0,
    )
