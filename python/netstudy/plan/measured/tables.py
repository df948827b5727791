"""Plans from tables: a run for each cell with published values, or for each repetition of the cell.

The run of a published cell has no network and no phases: the study file describes how its author
would run the study, not how the published results were measured. The workload holds the values,
so that its record can be made from the plan without other files. A cell without published values is
not planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from netstudy import wire
from netstudy.documents.problems import raise_problems
from netstudy.errors import StudyError
from netstudy.plan.identity import canonical, digest, run_seed
from netstudy.plan.measured.whole import UNKNOWN_NETWORK, declared_metric, is_kept, planned_study
from netstudy.plan.planned import PlannedStudy
from netstudy.plan.workloads import measured_work
from netstudy.study import Case, Study
from netstudy.study.published_values import published_values
from netstudy.study.reference_files import PublishedValue, read_table, with_published_levels
from netstudy.study.treatments import treatments
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level, Treatment

_Key = tuple[str, int, tuple[wire.MeasuredValue, ...]]
"""A treatment as text, a repetition, and its values."""


def published_plan(
    study: Study, *, seed: int | None = None, only: Mapping[str, Sequence[Level]] | None = None
) -> PlannedStudy:
    """Plan the cells that have values in the study's reference data.

    Raises StudyError if there are no values, if the data do not give the level of a factor, or if
    two references give different values for the same cell.
    """
    seed = study.seed if seed is None else seed
    values = published_values(study)
    if not study.reference:
        raise StudyError("the study has no reference data, so it has no published values")
    runs = tuple(_runs(study, values, seed, only or {}))
    if not runs:
        raise StudyError("no published value is left: none has the levels of this run")
    return planned_study(study, seed, runs)


def table_runs(study: Study, seed: int, only: Mapping[str, Sequence[Level]]) -> Iterator[wire.Run]:
    """The runs of the tables of measured runs. Raises StudyError if a table has a mistake."""
    assert study.file.measured is not None, "only a study of measured runs has tables"
    tables = [read_table(study, index) for index in range(len(study.file.measured.tables))]
    raise_problems([problem for table in tables for problem in table.problems])
    values = [value for table in tables for value in table.values]
    return _runs(study, values, seed, only)


def not_published(study: Study, planned: PlannedStudy) -> int:
    """Number of the study's cells without published values. This includes cells that `only`
    excludes from the plan."""
    covered = {(cell.case, canonical(cell.treatment)) for cell in planned.cells}
    own = (
        (case.name, canonical({factor.name: whole[factor.name] for factor in case.factors}))
        for case in _cases(study, published_values(study))
        for whole in treatments(case)
    )
    return sum(key not in covered for key in own)


def _runs(
    study: Study,
    values: Sequence[PublishedValue],
    seed: int,
    only: Mapping[str, Sequence[Level]],
) -> Iterator[wire.Run]:
    """The runs; several cases share a run if they have the same treatment and the same values."""
    of = None if study.is_measured else study.workload.kind
    declared = {name: declared_metric(name, one) for name, one in study.file.metrics.items()}
    found: dict[_Key, list[str]] = {}
    works: dict[_Key, wire.Measured] = {}
    wholes: dict[str, Treatment] = {}
    for case in _cases(study, values):
        for whole in treatments(case):
            if not is_kept(whole, only):
                continue
            text = canonical(whole)
            wholes.setdefault(text, whole)
            for repetition, read in _by_repetition(case, whole, values).items():
                work = measured_work(of, read, declared)
                # The values are part of the key: two cases with the same treatment may have
                # different data, and then they must not share a run.
                key = (text, repetition, work.given)
                found.setdefault(key, []).append(case.name)
                works[key] = work
    for key, cases in found.items():
        text, repetition, _ = key
        yield wire.Run(
            id=digest("published", text, repetition, *cases)[:12],
            cases=tuple(cases),
            treatment=wholes[text],
            replicate=repetition,
            seed=run_seed(canonical(wholes[text]), repetition, seed),
            network=UNKNOWN_NETWORK,
            workload=works[key],
            phases=(),
        )


def _cases(study: Study, values: Sequence[PublishedValue]) -> Iterator[Case]:
    """The test cases. A factor with endless levels gets the published levels."""
    for case in study.cases:
        yield with_published_levels(case, (one for one in values if one.case in (None, case.name)))


def _by_repetition(
    case: Case, whole: Treatment, values: Iterable[PublishedValue]
) -> dict[int, list[PublishedValue]]:
    """Repetition -> the values of a cell. Raises StudyError for a value that does not belong to
    exactly one cell."""
    found: dict[int, dict[MetricName, PublishedValue]] = {}
    for value in values:
        if value.case not in (None, case.name) or not value.is_of(whole):
            continue
        _check_levels(case, value)
        metrics = found.setdefault(value.repetition, {})
        first = metrics.setdefault(value.metric, value)
        if first != value:
            raise StudyError(
                f"gives {value.metric} of a cell, and {first.place} gives it too; leave one of "
                "them out, or name the test case that each belongs to",
                str(value.place),
            )
    return {number: list(metrics.values()) for number, metrics in sorted(found.items())}


def _check_levels(case: Case, value: PublishedValue) -> None:
    for factor in case.factors:
        if factor.name not in value.levels and len(factor.levels) > 1:
            raise StudyError(
                f"does not say at which level of {factor.name} it was measured; name the column "
                "in reference.factors, or the level in reference.at",
                str(value.place),
            )
