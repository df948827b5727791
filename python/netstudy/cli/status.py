"""`netstudy status`: completed, missing and failed runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netstudy.cli import _options as options
from netstudy.cli._terminal import (
    continue_with,
    derived_changed_text,
    explain,
    print_json,
    rounds_begun,
    show,
    state,
    treatment,
    write_anew,
)
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.store import Folder
    from netstudy.store.records import Status

NAME = "status"
EPILOG = "Example: netstudy status incast"

_UNUSED: Final[tuple[Status, ...]] = ("failed", "invalid")
"""Statuses of runs whose values are not used."""
_SHOWN = 10
"""At most this number of missing runs is listed."""


def command(
    run: options.RunName = None,
    results: options.Results = options.RESULTS,
    json: options.Json = False,
) -> None:
    """Show the progress of a run: done, missing, failed and invalid runs; for a growing factor,
    the levels tried and why it ended.
    """
    from netstudy.store import Results

    folder = Results(results).resolve(run, done=False)
    told = _status(folder)
    if json:
        print_json(told)
    else:
        _tell(told)


def _status(folder: Folder) -> dict[str, Any]:
    runs, missing, now = len(folder.plan().runs), folder.missing(), state(folder)
    changed = _changed(folder) if now == "done" else None
    can_continue = now == "unfinished" or (changed and missing)
    return {
        "folder": str(folder.path),
        "study": folder.plan().study,
        "state": "changed" if changed else now,
        "changed": changed,
        "derived_changed": folder.derived_changed() if now == "done" else [],
        "runs": runs,
        "done": runs - len(missing),
        "continue": continue_with(folder) if can_continue else None,
        "rounds": folder.rounds(),
        "growth": _growth(folder),
        "missing": [{"run": run.id, "treatment": treatment(run)} for run in missing],
        **{
            status: [
                {"run": record.run, "treatment": treatment(record), "error": explain(record)}
                for record in folder.records(folder.ended_as(status))
            ]
            for status in _UNUSED
        },
    }


def _changed(folder: Folder) -> str | None:
    """A message on the files that changed after the folder was sealed, with advice; None if no file
    changed."""
    try:
        folder.refuse_changed()
    except StudyError as error:
        return str(error)
    return None


def _growth(folder: Folder) -> list[dict[str, Any]]:
    """The state of each growing factor at each combination of the other factors; empty if no factor
    grows."""
    if not _grows(folder):
        return []
    from netstudy.analysis.growth import loops_in
    from netstudy.report.prose.grow import ending_text

    return [
        {
            "case": one.loop.case,
            "factor": one.loop.factor.name,
            "at": one.loop.held,
            "metric": one.metric.name,
            "tried": [
                {"level": step.level, "value": step.estimate and step.estimate.value}
                for step in one.judged.steps
            ],
            "best": one.judged.best and one.judged.best.level,
            "ending": one.ending,
            "told": ending_text(one),
        }
        for one in loops_in(folder)
    ]


def _grows(folder: Folder) -> bool:
    """Whether a factor grows. If this version cannot read the study: False if there was a single
    round; otherwise raises StudyError."""
    try:
        return folder.invocation().has_rounds(folder.study())
    except StudyError:
        if folder.rounds() > 1:
            raise
        return False


def _tell(told: dict[str, Any]) -> None:
    rounds = f", {rounds_begun(told['rounds'])}" if told["growth"] else ""
    show(f"{told['folder']}: {told['state']}, {told['done']} of {told['runs']} runs{rounds}")
    if told["changed"]:
        show(f"  {told['changed']}")
    if told["derived_changed"]:
        show(f"  {derived_changed_text(told['derived_changed'])}")
        if not told["changed"]:
            show(f"  write them anew with: {write_anew(told['folder'])}")
    for one in told["growth"]:
        held = "".join(f" {name}={level}" for name, level in one["at"].items())
        show(f"  grows    {one['factor']}{held}: {one['told']}")
    for status in ("failed", "invalid"):
        for run in told[status]:
            show(f"  {status}  {run['run']}  {run['treatment']}: {run['error']}")
    for run in told["missing"][:_SHOWN]:
        show(f"  missing  {run['run']}  {run['treatment']}")
    more = len(told["missing"]) - _SHOWN
    if more > 0:
        show(f"  and {more} more missing")
    if told["continue"]:
        show(f"  continue with: {told['continue']}")
