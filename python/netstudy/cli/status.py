"""`netstudy status`: what is there of a run, what is missing, what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netstudy.cli import _options as options
from netstudy.cli._output import print_json
from netstudy.cli._words import continue_with, explain, state, treatment

if TYPE_CHECKING:
    from netstudy.store import Folder

NAME = "status"
EPILOG = "Example: netstudy status incast"

_SHOWN = 10
"""Missing runs that are listed by name."""


def command(
    run: options.RunName = None,
    results: options.Results = options.RESULTS,
    json: options.Json = False,
) -> None:
    """Tell how far a run of a study is: done, missing, failed and invalid runs."""
    from netstudy.store import Results

    folder = Results(results).resolve(run, done=False)
    told = _status(folder)
    if json:
        print_json(told)
    else:
        _tell(told)


def _status(folder: Folder) -> dict[str, Any]:
    records, missing = folder.records(), folder.missing()
    return {
        "folder": str(folder.path),
        "study": folder.plan().study,
        "state": state(folder),
        "runs": len(records) + len(missing),
        "done": len(records),
        "continue": continue_with(folder) if state(folder) == "unfinished" else None,
        "missing": [{"run": run.id, "treatment": treatment(run)} for run in missing],
        **{
            status: [
                {"run": record.run, "treatment": treatment(record), "error": explain(record)}
                for record in records
                if record.status == status
            ]
            for status in ("failed", "invalid")
        },
    }


def _tell(told: dict[str, Any]) -> None:
    print(f"{told['folder']}: {told['state']}, {told['done']} of {told['runs']} runs")
    for status in ("failed", "invalid"):
        for run in told[status]:
            print(f"  {status}  {run['run']}  {run['treatment']}: {run['error']}")
    for run in told["missing"][:_SHOWN]:
        print(f"  missing  {run['run']}  {run['treatment']}")
    more = len(told["missing"]) - _SHOWN
    if more > 0:
        print(f"  and {more} more missing")
    if told["continue"]:
        print(f"  continue with: {told['continue']}")
