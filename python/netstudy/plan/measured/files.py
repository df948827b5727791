"""The plan of a study whose runs were measured elsewhere, in files or tables of the user: a run for
each measurement.

A run that was measured elsewhere has no network. Its measuring phase has the length that its file
gives, if the file has times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan.identity import canonical, digest, run_seed
from netstudy.plan.measured.tables import table_runs
from netstudy.plan.measured.whole import (
    UNKNOWN_NETWORK,
    declared_metric,
    is_kept,
    planned_study,
)
from netstudy.plan.planned import PlannedStudy
from netstudy.study import Study
from netstudy.study.measured_files import FoundRun, found_runs
from netstudy.study.measured_runs import contents_of
from netstudy.study.model import MAIN_CASE
from netstudy.wire import Level

_NS_PER_S = 10**9


def measured_plan(
    study: Study, *, seed: int | None = None, only: Mapping[str, Sequence[Level]] | None = None
) -> PlannedStudy:
    """Plan the runs of the study's files and tables.

    Raises StudyError if a file is missing or at no level of the study, or if no run is left.
    """
    runs = study.file.measured
    assert runs is not None, "a study without `measured` has no files"
    seed = study.seed if seed is None else seed
    own = tuple(_runs_of_files(study, seed, only or {})) if runs.files else ()
    tables = tuple(table_runs(study, seed, only or {})) if runs.tables else ()
    if not own and not tables:
        raise StudyError("no run is left: no file has the levels of this run")
    if not tables and not any(_work(run).metrics for run in own):
        raise StudyError(f"no file has a value: {_first_error(study)}")
    return planned_study(study, seed, (*own, *tables))


def _work(run: wire.Run) -> wire.Measured:
    assert isinstance(run.workload, wire.Measured), "this plans nothing else"
    return run.workload


def _first_error(study: Study) -> str:
    """The first file, and why it has no value."""
    first = found_runs(study)[0]
    return f"{first.file.path}: {first.measurement.error or 'it has none that is known'}"


def _runs_of_files(
    study: Study, seed: int, only: Mapping[str, Sequence[Level]]
) -> Iterator[wire.Run]:
    """Repetitions are counted in each cell, for each format."""
    counted: Counter[tuple[str, str]] = Counter()
    for found in found_runs(study):
        if not is_kept(found.levels, only):
            continue
        treatment = dict(found.levels)
        key = canonical(treatment), found.file.format
        counted[key] += 1
        yield wire.Run(
            id=digest("measured", found.file.path, found.file.test)[:12],
            cases=(MAIN_CASE,),
            treatment=treatment,
            replicate=counted[key],
            seed=run_seed(key[0], counted[key], seed),
            network=UNKNOWN_NETWORK,
            workload=_workload(study, found),
            phases=tuple(_phases(found)),
        )


def _workload(study: Study, found: FoundRun) -> wire.Measured:
    contents, own = contents_of(found), study.file.metrics
    metrics = (
        declared_metric(one.name, own[one.name], one) if one.name in own else one
        for one in contents.metrics
    )
    return wire.Measured(
        of=None, files=contents.run.files, block=found.block, metrics=tuple(metrics)
    )


def _phases(found: FoundRun) -> Iterator[wire.Phase]:
    window_s = found.measurement.window_s
    if window_s is not None:
        ns = round((window_s[1] - window_s[0]) * _NS_PER_S)
        yield wire.Phase(kind="measure", until=wire.UntilTime(ns=ns))
