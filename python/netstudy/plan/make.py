"""Makes a plan: from treatments to cells, from cells to runs, from runs to their form on the
wire."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan.estimate import Repeated, total_of
from netstudy.plan.identity import canonical, digest, run_id, run_seed
from netstudy.plan.loops import CaseTreatment, case_treatments, first_round, outer_loops
from netstudy.plan.lower import Lowered, Resolver
from netstudy.plan.planned import Cell, Estimate, PlannedStudy, Runs
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
        first=(made_first := design.runs(first)),
        whole=made_first if first is treatments else design.runs(treatments),
        runs_of_first=study.replicates * len(first),
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
        """The first replicate of each treatment, in the study's order."""
        if self.lowered is None:
            return None
        return tuple(self._run(text, one, 1) for text, one in self.treatments.items())

    def runs(self, treatments: _Treatments) -> Runs | None:
        """Makes the runs in one block for each replicate; each block has its treatments in a random
        order."""
        return None if self.lowered is None else partial(self._runs, treatments)

    def _runs(self, treatments: _Treatments) -> Iterator[wire.Run]:
        count = 0
        for replicate in range(1, self.study.replicates + 1):
            block = [self._run(text, one, replicate) for text, one in treatments.items()]
            for run in sorted(block, key=self._place):
                self.on_planning("runs", count, self.study.replicates * len(treatments))
                count += 1
                yield run

    def _place(self, run: wire.Run) -> str:
        return digest("order", self.seed, run.id)

    def _run(self, text: str, one: _Shared, replicate: int) -> wire.Run:
        assert self.lowered is not None, "the callers have looked"
        return self.lowered[text].run(
            id=run_id(text, replicate),
            cases=one.cases,
            treatment=one.treatment,
            replicate=replicate,
            seed=run_seed(text, replicate, self.seed),
            plan_seed=self.seed,
            trace=self.traces and replicate == 1,
        )


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
    cases = {text: one.cases for text, one in _shared(wanted).items()}
    runs = planned.whole_plan.runs
    texts = {id(run.treatment): canonical(run.treatment) for run in runs}
    chosen = (
        replace(run, cases=cases[text])
        for run in runs
        if (text := texts[id(run.treatment)]) in cases
    )
    return wire.Plan(planned.study.study, planned.seed, tuple(chosen))


def _numbered(found: Iterable[CaseTreatment], study: Study) -> Iterable[Cell]:
    for case, treatment, whole in found:
        find_ids = partial(_ids, canonical(whole), study.replicates)
        yield Cell(case, treatment, study.replicates, find_ids)


def _ids(treatment: str, replicates: int) -> tuple[str, ...]:
    return tuple(run_id(treatment, replicate) for replicate in range(1, replicates + 1))


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
