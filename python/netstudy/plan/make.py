"""Makes a plan: from treatments to cells, from cells to runs, from runs to their form on the
wire."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan.estimate import Repeated, total_of
from netstudy.plan.identity import canonical, digest, run_id, run_seed
from netstudy.plan.loops import CaseTreatment, case_treatments, first_round, outer_loops
from netstudy.plan.lower import Lowered, Resolver
from netstudy.plan.planned import Cell, Estimate, Expanded, PlannedRun, PlannedStudy
from netstudy.plan.support import is_lowered, not_on_the_wire
from netstudy.plan.unused import check_all_are_used
from netstudy.study import Study
from netstudy.wire import Level, Treatment

UNSCALED = Fraction(1)

OnPlanning = Callable[[str, int, int], None]
"""Called while a plan is made, with the stage ("treatments", "runs"), the number done, and the
total."""


def _silent(made: str, done: int, of: int) -> None:
    """Reports nothing."""


def make_plan(
    study: Study,
    *,
    seed: int | None = None,
    only: Mapping[str, Sequence[Level]] | None = None,
    hardware: HardwareLibrary | None = None,
    scale: Fraction = UNSCALED,
    traces: bool = False,
    on_count: Callable[[int], None] | None = None,
    on_planning: OnPlanning = _silent,
) -> PlannedStudy:
    """Plan a study: its first round, and all runs that further rounds may add.

    `seed` defaults to the study's own, `only` (factor -> levels) to everything, `hardware` to the
    library next to the study; `scale` multiplies the rates of links and queues; `traces`: the
    simulator traces the first replicate of each treatment. `on_count` is called with the number of
    all runs before any long work, and may raise an error. Raises StudyError with the place of a
    contradiction.
    """
    seed = study.seed if seed is None else seed
    found = case_treatments(study, only or {})
    if not found:
        raise StudyError("nothing is left to run: no treatment has all the levels of --only")
    treatments = _shared(found)
    # A mistyped level can make millions of runs, so `on_count` is called before the long work.
    if on_count is not None:
        on_count(len(treatments) * study.replicates)
    loops = outer_loops(study, only or {})
    resolver = Resolver(study, hardware or HardwareLibrary.default(study.folder), scale)
    lowered = _lowered(resolver, study, treatments, on_planning)
    if lowered is not None and not study.was_carried_out:
        others = (one for _, one, _ in case_treatments(study, {}))
        of_study = chain(lowered.values(), map(resolver.lower, others))
        check_all_are_used(study, of_study)
    design = _Design(study, seed, treatments, lowered, on_planning, traces=traces)
    # All treatments are lowered now, so that a contradiction in a later round is reported at once.
    first = _shared(first_round(found, loops)) if loops else treatments
    return PlannedStudy(
        study=study,
        seed=seed,
        cells=tuple(_numbered(found, study)),
        estimate=design.estimate(first),
        most=design.estimate(treatments),
        loops=loops,
        one_of_each=design.one_of_each(),
        expand=lambda: design.expanded(first),
    )


@dataclass(frozen=True)
class _Shared:
    """A treatment with all test cases that contain it and share its runs."""

    treatment: Treatment
    cases: tuple[str, ...]


_Treatments = Mapping[str, _Shared]
"""Treatments by their text, in the study's order."""


@dataclass(frozen=True)
class _Design:
    """The treatments of a plan on the wire, before they are repeated as replicates."""

    study: Study
    seed: int
    treatments: _Treatments
    lowered: Mapping[str, Lowered] | None
    """Text of a treatment -> its form on the wire; None if this version does not support the
    study."""
    on_planning: OnPlanning
    traces: bool
    """True if the first replicate of each treatment is traced."""

    def estimate(self, treatments: _Treatments) -> Estimate:
        """The cost of all replicates of these treatments; only the number of runs if this version
        does not support them."""
        replicates = self.study.replicates
        if self.lowered is None:
            unknown = Estimate.of_count(replicates * len(treatments))
            return replace(unknown, packets=None, record_bytes=None)
        traced = 1 if self.traces else 0
        return total_of(
            Repeated(self.lowered[text], one.treatment, replicates, traced)
            for text, one in treatments.items()
        )

    def one_of_each(self) -> tuple[wire.Run, ...] | None:
        """The first replicate of each treatment."""
        return self._wired(_replicate(self.treatments.values(), 1, self.seed))

    def expanded(self, first: _Treatments) -> Expanded:
        """Expands the plan into the runs of the first round, and of all rounds."""
        whole = _in_blocks(self._runs(self.treatments), self.seed)
        possible = self._wired(whole, self.on_planning)
        if first is self.treatments:
            return Expanded(tuple(whole), possible, possible)
        runs = _in_blocks(self._runs(first), self.seed)
        wired = None if possible is None else _with_cases(possible, runs)
        return Expanded(tuple(runs), wired, possible)

    def _runs(self, treatments: _Treatments) -> list[PlannedRun]:
        return _runs(treatments, self.study.replicates, self.seed)

    def _wired(
        self, runs: Sequence[PlannedRun], on_planning: OnPlanning = _silent
    ) -> tuple[wire.Run, ...] | None:
        if self.lowered is None:
            return None
        found: list[wire.Run] = []
        for run in runs:
            on_planning("runs", len(found), len(runs))
            found.append(
                self.lowered[canonical(run.treatment)].run(
                    id=run.id,
                    cases=run.cases,
                    treatment=run.treatment,
                    replicate=run.replicate,
                    seed=run.seed,
                    plan_seed=self.seed,
                    trace=self.traces and run.replicate == 1,
                )
            )
        return tuple(found)


def _lowered(
    resolver: Resolver, study: Study, treatments: _Treatments, on_planning: OnPlanning
) -> dict[str, Lowered] | None:
    """All treatments on the wire, in the study's order, so that the first mistake in the study is
    reported first."""
    if not is_lowered(study):
        return None
    found: dict[str, Lowered] = {}
    for text, one in treatments.items():
        on_planning("treatments", len(found), len(treatments))
        found[text] = resolver.lower(one.treatment)
    return None if not_on_the_wire(study) else found


def make_round(planned: PlannedStudy, wanted: Iterable[CaseTreatment]) -> wire.Plan:
    """A further round: the runs of some treatments, ordered as in any plan.

    It may contain a run of an earlier round again, with the cases that need the run in this round.
    """
    study, seed = planned.study, planned.seed
    runs = _in_blocks(_runs(_shared(wanted), study.replicates, seed), seed)
    chosen = _with_cases(planned.whole_plan.runs, runs)
    return wire.Plan(study.study, seed, chosen)


def _with_cases(possible: Iterable[wire.Run], runs: Iterable[PlannedRun]) -> tuple[wire.Run, ...]:
    """The runs, each with the cases that need it in this round."""
    by_id = {run.id: run for run in possible}
    return tuple(replace(by_id[run.id], cases=run.cases) for run in runs)


def _numbered(found: Iterable[CaseTreatment], study: Study) -> Iterable[Cell]:
    replicates = range(1, study.replicates + 1)
    for case, treatment, whole in found:
        yield Cell(case, treatment, tuple(run_id(whole, replicate) for replicate in replicates))


def _shared(found: Iterable[CaseTreatment]) -> dict[str, _Shared]:
    """Each treatment once, with all its cases."""
    whole_by_text: dict[str, Treatment] = {}
    cases_by_text: dict[str, list[str]] = {}
    for case, _, whole in found:
        text = canonical(whole)
        whole_by_text.setdefault(text, whole)
        cases_by_text.setdefault(text, []).append(case)
    return {
        text: _Shared(whole, tuple(cases_by_text[text])) for text, whole in whole_by_text.items()
    }


def _runs(treatments: _Treatments, replicates: int, seed: int) -> list[PlannedRun]:
    """One run for each treatment and replicate, shared by the cases with that treatment."""
    numbers = range(1, replicates + 1)
    return [run for number in numbers for run in _replicate(treatments.values(), number, seed)]


def _replicate(treatments: Iterable[_Shared], number: int, seed: int) -> list[PlannedRun]:
    return [
        PlannedRun(
            id=run_id(one.treatment, number),
            cases=one.cases,
            treatment=one.treatment,
            replicate=number,
            seed=run_seed(one.treatment, number, seed),
        )
        for one in treatments
    ]


def _in_blocks(runs: list[PlannedRun], seed: int) -> list[PlannedRun]:
    """The runs in one block for each replicate; each block has its treatments in a random order."""
    return sorted(runs, key=lambda run: (run.replicate, digest("order", seed, run.id)))
