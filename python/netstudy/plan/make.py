"""Making a plan: treatments to cells, cells to runs, runs to what the wire carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan.network import Resolver
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
from netstudy.plan.support import not_on_the_wire, open_ended
from netstudy.study import Study, level_text
from netstudy.study.treatments import treatments
from netstudy.units import header_bytes
from netstudy.wire import Level, Treatment

UNSCALED = Fraction(1)

_RECORD_BYTES = 2_000
"""A run record without its samples: the largest of the incast study, rounded up."""
_ITERATION_BYTES = 22
"""What one iteration adds to a record, four numbers and their commas: the most, rounded up."""


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
    wired = None
    if not not_on_the_wire(study):
        library = hardware or HardwareLibrary.default(study.folder)
        resolver = Resolver(study, library, scale)
        for _, _, treatment in cells:
            resolver.incast(treatment)  # in the study's order, so that its first mistake is told
        wired = tuple(_wired(resolver, runs))
    return PlannedStudy(
        study=study,
        seed=seed,
        cells=tuple(_numbered(cells, study)),
        runs=tuple(runs),
        estimate=_estimate(runs, wired),
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
        network, workload = resolver.incast(run.treatment)
        yield wire.Run(
            id=run.id,
            cases=run.cases,
            treatment=run.treatment,
            replicate=run.replicate,
            seed=run.seed,
            network=network,
            workload=workload,
        )


def _estimate(runs: Sequence[PlannedRun], wired: Sequence[wire.Run] | None) -> Estimate:
    if wired is None:
        return Estimate(
            runs=len(runs),
            packets=None,
            per_hop_runs=0,
            per_hop_packets=0,
            record_bytes=None,
            line_seconds=0.0,
        )
    iterations = sum(run.workload.iterations for run in wired)
    per_hop = [run for run in wired if is_per_hop(run.network)]
    return Estimate(
        runs=len(runs),
        packets=sum(map(useful_packets, wired)),
        per_hop_runs=len(per_hop),
        per_hop_packets=sum(map(useful_packets, per_hop)),
        record_bytes=len(runs) * _RECORD_BYTES + iterations * _ITERATION_BYTES,
        line_seconds=sum(map(_line_seconds, wired)),
    )


def is_per_hop(network: wire.Network) -> bool:
    """Whether the simulator needs one event a hop: for PAUSE, and for segments that are merged."""
    switch, nics = network.switch, [group.nic for group in network.hosts]
    return (
        switch.honours_pause
        or switch.pause_high_bytes is not None
        or any(nic.honours_pause or nic.pause_high_frames is not None for nic in nics)
        or any(nic.receive_merge_bytes > 0 for nic in nics)
    )


def _line_seconds(run: wire.Run) -> float:
    work = run.workload
    servers = next(group.count for group in run.network.hosts if group.name == work.servers)
    rate_bps = next(link.rate_bps for link in run.network.links if work.client in link.between)
    payload = work.block_bytes * (1 if work.striped else servers)
    return (work.iterations + work.warmup_iterations) * payload * 8 / rate_bps


def useful_packets(run: wire.Run) -> int:
    """Full-sized data packets that the run must carry at least, warm-up included."""
    work = run.workload
    servers = next(group.count for group in run.network.hosts if group.name == work.servers)
    mtu = min(link.mtu_bytes for link in run.network.links)
    size = work.block_bytes // servers if work.striped else work.block_bytes
    packets = -(-size // (mtu - header_bytes(timestamps=True)))
    return servers * (work.iterations + work.warmup_iterations) * packets
