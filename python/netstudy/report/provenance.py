"""The title of a report, and the origin of its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from netstudy.analysis.study_result import StudyResult
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Sentence, join, say
from netstudy.report.workloads import page_of

if TYPE_CHECKING:
    from netstudy.store import Folder


def title_of(result: StudyResult) -> str:
    """The study's title. If link rates are scaled, it has the scale, so that they are not mistaken
    for the study's rates."""
    title, scale = result.title or result.question, result.testbed.scaled_by
    return f"{title} (all link rates × {scale})" if scale else title


def provenance(folder: Folder, result: StudyResult) -> Sentence:
    """The origin of the numbers, in one line."""
    invocation, engine = folder.invocation(), folder.engine()
    authors = [Name(name) for name in result.authors]
    by = say("By {authors}. ", authors=join(authors)) if authors else NOTHING
    own = page_of(result.cells.workload).provenance
    if own is not None:
        return say(
            "{by}{values}; netstudy {version}, results {folder}.",
            by=by,
            values=own(result),
            version=Name(invocation.versions.get("netstudy", "unknown")),
            folder=Name(folder.path.name),
        )
    return say(
        "{by}Testbed {testbed}, seed {seed}, netstudy {version}, engine {engine}; {when}; results "
        "{folder}.",
        by=by,
        when=_when(folder.environment()),
        testbed=Name(invocation.testbed),
        seed=Name(str(invocation.seed)),
        version=Name(invocation.versions.get("netstudy", "unknown")),
        engine=Name(engine.version if engine else "unknown"),
        folder=Name(folder.path.name),
    )


def _when(environment: Mapping[str, Any]) -> Name:
    """The date of the run, and the machine: "23 November 2026, AMD EPYC (2 CPUs, 6.1.0)"."""
    started = datetime.fromisoformat(environment["started_utc"])
    machine = environment.get("cpu") or environment.get("machine") or "unknown machine"
    day = f"{started.day} {started:%B %Y}"
    return Name(f"{day}, {machine} ({environment.get('cores')} CPUs, {environment.get('kernel')})")
