"""`netstudy diagnose`: the bottleneck of each cell of a run, and runs that confirm it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netstudy.cli import _completion as completion
from netstudy.cli import _options as options
from netstudy.cli._folders import finished_folder
from netstudy.cli._terminal import output, print_json, say, show
from netstudy.errors import MISSED, StudyError

if TYPE_CHECKING:
    from netstudy.analysis.confirmation import Confirmation
    from netstudy.analysis.diagnosis import Diagnosis
    from netstudy.analysis.study_result import Pooled
    from netstudy.cli._confirm import Outcome
    from netstudy.store import Folder
    from netstudy.wire import Level

NAME = "diagnose"
EPILOG = "Example: netstudy diagnose incast --confirm --at servers=32"


class FailOn(StrEnum):
    """A finding that makes the exit code 1."""

    UNDECIDED = "undecided"


def command(
    run: options.RunName = None,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm",
            help="Raise the limit, and another resource, in further runs, and check the "
            "predictions of the laws.",
        ),
    ] = False,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="FACTOR=LEVEL",
            help="The cell to confirm. [default: the highest load, where throughput is highest]",
        ),
    ] = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            help="Exit with 1 if the limit of some cell is undecided.",
            autocompletion=completion.words(FailOn),
        ),
    ] = None,
    results: options.Results = options.RESULTS,
    threads: options.Threads = None,
    max_time: Annotated[
        str, typer.Option("--max-time", help="Refuse a run estimated to take longer.")
    ] = "24h",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Say what limits throughput in each cell of a run, and which run would confirm it.

    Resources, waits of the senders and the load itself are compared by the operational laws. A
    limit is one of: link, port (a switch's buffer), packet_rate, cpu, disk, bus, slots (threads,
    connections of a pool, slots of a database), window (the peer's), send_buffer,
    congestion_window, timeouts, delayed_ack, round_trip, think_time, wait (in the application),
    generator (the load's own host), machine (below all hosts), resource (that the study names),
    none.

    --confirm doubles the limit and, in another run, only a resource that is ruled out, for one cell
    on the same testbed; the results go to a study of the same name with -confirm.
    Exit codes: 0 done, 1 a prediction is refuted, or --fail-on asks for it, 2 bad input, 3 the
    testbed failed.
    """
    from netstudy.analysis.diagnosis import diagnose
    from netstudy.analysis.study_result import pool

    folder = finished_folder(results, run, or_part=True)
    pooled = pool(folder)
    levels = _levels(pooled, at or [])
    diagnosis = diagnose(pooled.study, pooled.cells)
    if not diagnosis.settings:
        metric = pooled.cells.workload.throughput.label
        raise StudyError(f"{folder.path} has no value of {metric}, so no limit can be told")
    found = _confirmation(folder, pooled, diagnosis, levels)
    outcomes: list[Outcome] = []
    if confirm:
        outcomes = _confirm(folder, found, threads, max_time, is_quiet=quiet)
    if json:
        print_json(_as_data(folder, pooled, diagnosis, found, outcomes))
    else:
        _print(diagnosis, found, outcomes)
    is_failed = fail_on is not None and diagnosis.is_undecided
    if is_failed or any(one.verdict == "refuted" for one in outcomes):
        raise typer.Exit(MISSED)


def _levels(pooled: Pooled, at: list[str]) -> dict[str, Level]:
    from netstudy.study import parse_only

    chosen = parse_only(at, pooled.study, "--at")
    for name, found in chosen.items():
        if len(found) > 1:
            raise StudyError(f"choose one level of {name}", "--at")
    return {name: found[0] for name, found in chosen.items()}


def _confirmation(
    folder: Folder, pooled: Pooled, diagnosis: Diagnosis, levels: dict[str, Level]
) -> Confirmation | str:
    """The runs that would confirm the limit, or the reason why there is none."""
    from netstudy.analysis.confirmation import chosen, confirmation
    from netstudy.analysis.raising import CannotRaiseError
    from netstudy.units import parse_scale

    scale = parse_scale(folder.invocation().scale or 1)
    try:
        setting, level = chosen(diagnosis, levels)
        return confirmation(pooled.study, pooled.cells, setting, level, scale)
    except CannotRaiseError as error:
        return str(error)


def _confirm(
    folder: Folder,
    found: Confirmation | str,
    threads: int | None,
    max_time: str,
    *,
    is_quiet: bool,
) -> list[Outcome]:
    from netstudy.cli._confirm import carry_out
    from netstudy.cli.run import Interrupted, Manner

    if isinstance(found, str):
        raise StudyError(found, "--confirm")
    manner = Manner(_results_of(folder), threads, json=False, is_quiet=is_quiet)
    try:
        return carry_out(folder, found, manner, max_time)
    except Interrupted as stopped:
        say(f"netstudy: stopped by {stopped}; results so far are in {manner.results}")
        raise typer.Exit(stopped.exit_code) from None


def _results_of(folder: Folder) -> Path:
    """The folder that holds `<study>/<UTC time>/`; the folder above, if this one was moved."""
    above = folder.path.resolve().parent
    return above.parent if above.name == folder.study().study else above


def _as_data(
    folder: Folder,
    pooled: Pooled,
    diagnosis: Diagnosis,
    found: Confirmation | str,
    outcomes: list[Outcome],
) -> dict[str, Any]:
    data = {"study": pooled.study.study, "folder": str(folder.path), **diagnosis.as_data()}
    if isinstance(found, str):
        return data | {"confirm_by": None, "not_confirmed": found}
    data |= {"confirm_by": found.as_data()}
    return data | ({"confirmed": [one.as_data() for one in outcomes]} if outcomes else {})


def _print(diagnosis: Diagnosis, found: Confirmation | str, outcomes: list[Outcome]) -> None:
    from netstudy.report.conclusions import sentences_of
    from netstudy.report.confirmation import expected, outcome
    from netstudy.report.terminal import print_sentences

    console = output()
    for one in diagnosis.concluded:
        if len(diagnosis.concluded) > 1:
            show(f"{one.case}:")
        print_sentences(console, sentences_of(one))
    if isinstance(found, str):
        show(f"No run is proposed: {found}.")
        return
    if outcomes:
        print_sentences(console, [outcome(one.experiment, one.measured) for one in outcomes])
        for each in outcomes:
            show(each.folder)
        return
    print_sentences(console, [expected(found, one) for one in found.experiments])
