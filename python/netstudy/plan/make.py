"""Making a plan: treatments to cells, cells to runs, runs to their form on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan.estimate import estimate_of
from netstudy.plan.loops import CaseTreatment, case_treatments, first_round, outer_loops
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
from netstudy.plan.support import is_lowered, not_on_the_wire
from netstudy.study import Study
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
    """Plan a study: its first round, and all runs that further rounds may add.

    `seed` defaults to the study's own, `only` (factor -> levels) to everything, `hardware` to the
    library beside the study; `scale` multiplies all link rates. Raises StudyError with the place of
    a contradiction.
    """
    seed = study.seed if seed is None else seed
    found = case_treatments(study, only or {})
    if not found:
        raise StudyError("nothing is left to run: no treatment has all the levels of --only")
    loops = outer_loops(study, only or {})
    resolver = Resolver(study, hardware or HardwareLibrary.default(study.folder), scale)
    if is_lowered(study):
        for one in found:
            resolver.lower(one.whole)  # in the study's order, to report its first mistake first
    runs = whole = _in_blocks(_runs(study, found, seed), seed)
    wired = possible = None if not_on_the_wire(study) else tuple(_wired(resolver, whole))
    estimate = most = _estimate(len(whole), possible)
    if loops:
        runs = _in_blocks(_runs(study, first_round(found, loops), seed), seed)
        wired = None if possible is None else _with_cases(possible, runs)
        estimate = _estimate(len(runs), wired)
    return PlannedStudy(
        study=study,
        seed=seed,
        cells=tuple(_numbered(found, study)),
        runs=tuple(runs),
        estimate=estimate,
        most=most,
        loops=loops,
        wired=wired,
        possible=possible,
    )


def make_round(planned: PlannedStudy, wanted: Iterable[CaseTreatment]) -> wire.Plan:
    """A further round: the runs of some treatments, ordered as in any plan.

    A run of an earlier round can be in this one too, with the cases that want it now.
    """
    study, seed = planned.study, planned.seed
    runs = _in_blocks(_runs(study, wanted, seed), seed)
    chosen = _with_cases(planned.whole_plan.runs, runs)
    return wire.Plan(study=study.study, seed=seed, runs=chosen)


def _with_cases(possible: Iterable[wire.Run], runs: Iterable[PlannedRun]) -> tuple[wire.Run, ...]:
    """The runs, each with the cases that want it in this round."""
    by_id = {run.id: run for run in possible}
    return tuple(by_id[run.id].model_copy(update={"cases": run.cases}) for run in runs)


def _numbered(found: Iterable[CaseTreatment], study: Study) -> Iterable[Cell]:
    replicates = range(1, study.replicates + 1)
    for case, treatment, whole in found:
        yield Cell(case, treatment, tuple(run_id(whole, replicate) for replicate in replicates))


def _runs(study: Study, found: Iterable[CaseTreatment], seed: int) -> list[PlannedRun]:
    """One run for each treatment and replicate, shared by the cases with that treatment."""
    whole_by_text: dict[str, Treatment] = {}
    cases_by_text: dict[str, list[str]] = {}
    for case, _, whole in found:
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
    """One block for each replicate, with every treatment in its own random order."""
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


def _estimate(runs: int, wired: Sequence[wire.Run] | None) -> Estimate:
    """The cost of that many runs; for runs that cannot be carried out, little is known."""
    if wired is not None:
        return estimate_of(wired)
    return Estimate(
        runs=runs,
        packets=None,
        per_hop_runs=0,
        per_hop_packets=0,
        record_bytes=None,
        line_seconds=0.0,
        timed_seconds=0.0,
    )
