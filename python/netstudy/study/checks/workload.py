"""Checks of the workload and of the phases in which it runs."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire
from netstudy.documents.problems import Path, Problem
from netstudy.study.model import Study
from netstudy.study.procedure import Procedure, field_of_phase


def workload_problems(study: Study) -> Iterator[Problem]:
    """Problems of the workload and its phases."""
    spec = study.workload.spec
    yield from spec.problems(study, ("workload", study.workload.kind))
    yield from _application_problems(study)
    yield from _time_problems(study)
    yield from _other_problems(study)


def _application_problems(study: Study) -> Iterator[Problem]:
    if study.workload.spec.has_application:
        return
    for field in map(field_of_phase, wire.APPLICATION_PHASES):
        if getattr(study.procedure, field) is not False:
            key = Procedure.model_fields[field].alias or field
            message = f"is a phase of an application; the workload {study.workload.kind} has none"
            yield study.document.problem(("procedure", key), message, of_key=True)


def _time_problems(study: Study) -> Iterator[Problem]:
    spec, procedure = study.workload.spec, study.procedure
    for key, own in (("warmup", "warmup"), ("measure", spec.counted)):
        if getattr(procedure, key) is None or own is None:
            continue
        path: Path = ("procedure", key)
        said = f"workload.{study.workload.kind}.{own}"
        if not spec.timed:
            message = f"the workload {study.workload.kind} has no time limit; write {said} instead"
            yield study.document.problem(path, message, of_key=True)
        elif getattr(spec, own, None) is not None:
            message = f"is a time, but {said} is a count; keep one of the two"
            yield study.document.problem(path, message, of_key=True)


def _other_problems(study: Study) -> Iterator[Problem]:
    procedure, problem = study.procedure, study.document.problem
    if procedure.idle is not None and study.workload.probe is None:
        message = "only the probe runs in this phase; add workload.probe, such as probe: 10 ms"
        yield problem(("procedure", "idle"), message, of_key=True)
    if procedure.start != "together" and (why := _starts_together(study)):
        yield problem(("procedure", "start"), why, of_key=True)
    if procedure.stop is not False and not _warms_up(study):
        yield problem(
            ("procedure", "stop"), "stops the warm-up, but there is no warm-up", of_key=True
        )


def _starts_together(study: Study) -> str | None:
    """Why the starts of the flows cannot be spread; None: they can."""
    if not study.workload.spec.spreads:
        return f"spreads the starts of flows; the workload {study.workload.kind} sets its own"
    if study.procedure.warmup in (None, 0):
        return "is drawn from the time of the warm-up; add procedure.warmup, such as warmup: 60 s"
    if study.procedure.stop is not False:
        return "has no effect, because after the stop all flows start together again"
    return None


def _warms_up(study: Study) -> bool:
    counted = getattr(study.workload.spec, "warmup", None)
    return study.procedure.warmup not in (None, 0) or counted not in (None, 0)
