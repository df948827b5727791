"""`netstudy run`: run a study, or the remaining runs of an interrupted one."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _options as options
from netstudy.cli._cluster import cluster_of, refuse_other_testbeds, testbed_of
from netstudy.cli._foreseen import foreseen_warnings
from netstudy.cli._hosts import show_commands
from netstudy.cli._prepare import Asked, Prepared, prepare
from netstudy.cli._programs import refuse_programs, say_programs
from netstudy.cli._terminal import (
    continue_with,
    meter,
    phases,
    rounds_begun,
    runs_left,
    say,
    show,
    treatment,
)
from netstudy.cli.report import PAGES, Pages
from netstudy.errors import ChangedFolderError, NetstudyError, StudyError

if TYPE_CHECKING:
    from netstudy.cli.report import Published
    from netstudy.store import Folder, Invocation
    from netstudy.study import Command
    from netstudy.testbed.base import Testbed
    from netstudy.testbed.sweep.address import Where
    from netstudy.wire import Plan

_MANY_RUNS = 10_000
"""With at least this number of runs, writing the plan and reading it again takes seconds."""
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

NAME = "run"
EPILOG = "Example: netstudy run studies/incast --only servers=1..6 --set replicates=1"


MAX_TIME = "24h"
"""The longest estimated time of a plan that is not refused."""


@dataclass(frozen=True)
class Manner:
    """Options of the run that do not change its results."""

    results: Path
    threads: int | None
    json: bool
    pages: Pages = PAGES
    no_start: bool = False
    """Whether to refuse a study that starts a program."""
    is_quiet: bool = False
    on: Where | None = None
    """The cluster whose workers execute the runs; None: this machine's engine does."""
    only_prepares: bool = False
    """True if only the results folder is made."""


def command(
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY", help="A study.yaml, its folder, or with --resume a results folder."
        ),
    ],
    testbed: options.TestbedName = None,
    variant: options.Variant = None,
    scale: options.Scale = None,
    seed: options.Seed = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue an interrupted study with its remaining runs."),
    ] = False,
    only: options.Only = None,
    overrides: options.Set = None,
    replicates: options.Replicates = None,
    results: options.Results = options.RESULTS,
    quick: options.Quick = False,
    without: options.Without = None,
    threads: options.Threads = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only print the plan, or with --resume its remaining runs; for hosts, also each "
            "command that would be run there.",
        ),
    ] = False,
    preparing: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="Only make the results folder, for runs that are executed elsewhere: see `plan "
            "--slice` and `collect`.",
        ),
    ] = False,
    max_time: Annotated[
        str, typer.Option("--max-time", help="Refuse a plan estimated to take longer.")
    ] = MAX_TIME,
    no_start: Annotated[
        bool,
        typer.Option("--no-start", help="Refuse a study that starts a program of its own."),
    ] = False,
    on: options.On = None,
    trust_network: options.TrustNetwork = False,
    static: options.Static = False,
    png: options.Png = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Run a study and print its answer, its tables and the path of its report.

    An interrupted study keeps its finished runs; --resume does the remaining ones, with the study
    as it was. In the simulator, failed and invalid runs count as done: the same plan gives the
    same outcome. On a real machine, --resume repeats failed runs and runs that the machine
    disturbed. With --quiet only the path of the results folder is printed.
    Exit codes: 0 done, 1 a requirement of the study is missed, 2 bad input, 3 the testbed failed,
    or a run failed or is invalid.
    """
    changes = options.with_replicates(overrides, replicates)
    asked = Asked(study, seed, only or (), changes, quick, testbed, variant, scale, without or ())
    where = cluster_of(on, threads, trusts_network=trust_network)
    manner = Manner(results, threads, json, Pages(static, png), no_start, quiet, where, preparing)
    # A dry run always ends with exit code 0 if there is no error: without runs, no requirement can
    # be missed.
    if dry_run:
        _refuse_pages(manner.pages)
        if resume:
            _show_remainder(asked, manner)
        else:
            _show_plan(asked, manner, max_time)
        return
    if preparing and resume:
        raise StudyError("the folder of --resume is there already; leave it out", "--prepare")
    raise typer.Exit(_resume(asked, manner) if resume else begin(asked, manner, max_time))


def _refuse_pages(pages: Pages) -> None:
    """Refuses options of the report, which a dry run does not write."""
    for option, is_given in (("--static", pages.is_static), ("--png", pages.with_png)):
        if is_given:
            raise StudyError(
                "a dry run writes no report; leave out this option or --dry-run", option
            )


def _show_plan(asked: Asked, manner: Manner, max_time: str) -> None:
    """Print the whole plan. Raises StudyError if the plan needs too much time, memory or disk
    space: after the plan was printed or, with --json, instead of printing it."""
    from netstudy.cli._limits import check_cost, most
    from netstudy.cli.plan import show_plan

    prepared = prepare(asked)
    if manner.no_start:
        refuse_programs(programs_of(prepared))
    with testbed_of(prepared.invocation, manner.on) as testbed:
        cost = most(prepared.planned, testbed, manner.threads)
        if manner.json:  # the JSON has all runs of the plan
            check_cost(cost, max_time, manner.results)
        show_plan(prepared, manner.threads, json=manner.json, testbed=testbed)
    if prepared.invocation.inventory is not None and not manner.json:
        show_commands(prepared)
    check_cost(cost, max_time, manner.results)


def _show_remainder(asked: Asked, manner: Manner) -> None:
    """Print the runs that --resume would make: as a list for people or, with --json, in the
    engine's format."""
    from netstudy.cli._resume import to_resume
    from netstudy.cli.plan import show_lines_of
    from netstudy.execute import left_to_do, made_again

    folder = to_resume(asked, manner.results)
    if manner.no_start:
        refuse_programs(_programs_in(folder))
    again = set(folder.damaged_runs())
    with testbed_of(folder.invocation(), manner.on) as testbed:
        again |= {one.run for one in made_again(folder, testbed)}
    left = left_to_do(folder, again)
    if manner.json:
        show_lines_of(left)
        return
    at_most = "at most " if folder.invocation().has_rounds(folder.study()) else ""
    runs = "1 run is" if len(left.runs) == 1 else f"{len(left.runs):,} runs are"
    show(f"{folder.path}: {at_most}{runs} left to do")
    for run in left.runs:
        show(f"  {run.id}  {treatment(run)}")


def begin(asked: Asked, manner: Manner, max_time: str = MAX_TIME) -> int:
    """Make a plan and its results folder, run it, and print the answer; returns the exit
    code. If it only prepares, it prints the folder instead. Raises StudyError and TestbedError."""
    from netstudy.cli._limits import check_cost, most
    from netstudy.store import Folder

    if Folder.at(asked.study) is not None:
        raise StudyError(f"{asked.study} is a results folder; continue it with --resume")
    prepared = _supported(asked, manner, max_time)
    planned = prepared.planned
    if manner.only_prepares:
        refuse_other_testbeds(prepared.invocation, "--prepare")
    with testbed_of(prepared.invocation, manner.on) as testbed:
        check_cost(most(planned, testbed, manner.threads), max_time, manner.results)
        say_programs(programs_of(prepared), prepared.invocation.testbed)
        machine = preflight(testbed, planned.plan_of_one_each, prepared.invocation, manner)
        testbed.check()
        for warning in foreseen_warnings(prepared) if not manner.is_quiet else ():
            say(f"warning: {warning}")
        if planned.estimate.runs >= _MANY_RUNS:
            say(f"plan: writing {planned.estimate.runs:,} runs")
        folder = new_folder(prepared, manner.results)
        if not manner.only_prepares:
            return complete(folder, testbed, manner, machine)
    show(folder.path)
    return 0


def _supported(asked: Asked, manner: Manner, max_time: str) -> Prepared:
    """Makes the plan, which is not yet expanded into runs. Raises StudyError if this version does
    not support the plan, or if it has more runs than this machine or the allowed time carries."""
    from netstudy.cli._limits import check_count

    def on_count(runs: int) -> None:
        check_count(runs, asked, manner.threads, max_time, manner.results)

    prepared = prepare(asked, on_count)
    if manner.no_start:
        refuse_programs(programs_of(prepared))
    refuse_unsupported(prepared.unsupported())
    return prepared


def programs_of(prepared: Prepared) -> list[Command]:
    """The programs that the runs of a plan start."""
    from netstudy.plan import programs_of_runs

    return programs_of_runs(prepared.planned.one_of_each or ())


def _programs_in(folder: Folder) -> list[Command]:
    """The programs that the runs of a folder start, in its plans and in possible further rounds."""
    from netstudy.plan import programs_of_runs

    further = folder.study().workload.spec.starts
    return list(dict.fromkeys([*programs_of_runs(folder.plan().runs), *filter(None, [further])]))


def new_folder(prepared: Prepared, results: Path) -> Folder:
    """Make the results folder of a plan."""
    from netstudy.hardware import HardwareLibrary
    from netstudy.store import create, gather
    from netstudy.store.create import disk_bytes
    from netstudy.store.environment import utc_now

    written, planned = prepared.written, prepared.planned
    one_each, library = planned.plan_of_one_each, HardwareLibrary.default(written.folder)
    files = gather(written, prepared.study, one_each, library)
    needed = disk_bytes(planned.most)
    study, lines = prepared.study.study, planned.lines()
    return create(results, study, lines, prepared.invocation, files, needed, utc_now())


def preflight(
    testbed: Testbed, plan: Plan, invocation: Invocation, manner: Manner
) -> Mapping[str, str]:
    """Let the testbed check the plan and measure the machine; print and return the measurements.
    Raises StudyError for unsupported parts of the plan."""
    from netstudy.units import parse_scale

    found = testbed.preflight(plan, parse_scale(invocation.scale or 1))
    refuse_unsupported(found.unsupported)
    for name, value in found.machine.items() if not manner.is_quiet else ():
        say(f"{name}: {value}")
    return found.machine


def refuse_unsupported(parts: Sequence[str]) -> None:
    """Raises StudyError if this version does not support some parts of a study."""
    if parts:
        listed = "".join(f"\n  - {part}" for part in parts)
        raise StudyError(f"this version cannot run the study:{listed}")


def _resume(asked: Asked, manner: Manner) -> int:
    from netstudy.cli._resume import to_resume

    folder = to_resume(asked, manner.results)
    if manner.no_start:
        refuse_programs(_programs_in(folder))
    with testbed_of(folder.invocation(), manner.on) as testbed:
        return resume_folder(folder, testbed, manner)


def resume_folder(folder: Folder, testbed: Testbed, manner: Manner) -> int:
    """Execute the runs that a folder lacks, and print the answer; returns the exit code."""
    from netstudy.execute import made_again

    if folder.is_done() and not folder.changed_since_sealed() and not made_again(folder, testbed):
        folder.clear_lock()
        if not manner.is_quiet:
            say(f"{folder.path} is done: nothing is missing")
        from netstudy.cli.report import published

        return _end(folder, published(folder), manner)
    testbed.check()
    return complete(folder, testbed, manner, is_resumed=True)


def complete(
    folder: Folder,
    testbed: Testbed,
    manner: Manner,
    machine: Mapping[str, str] | None = None,
    *,
    is_resumed: bool = False,
) -> int:
    """Execute the missing runs and write the report. If this fails, print how to continue.

    `machine` holds the testbed's measurements; a resumed run measures again.
    """
    from netstudy.cli.report import finish
    from netstudy.execute import is_final, made_again

    try:
        with interruptible(), folder.writing():
            if is_resumed:
                _say_damaged(folder.set_damaged_aside())
                machine = _remainder_preflight(folder, testbed, manner)
            folder.set_aside(made_again(folder, testbed))
            run_missing(folder, testbed, manner, machine)
            with phases(is_quiet=manner.is_quiet) as on_phase:
                published = finish(
                    folder, on_phase, is_final=is_final(folder, testbed), pages=manner.pages
                )
    except Interrupted as stopped:
        say(f"netstudy: stopped by {stopped}; {_kept(folder)}")
        return stopped.exit_code
    except NetstudyError as error:
        say(f"netstudy: {error}")
        # Resuming cannot repair a changed folder, so the command to continue is not printed.
        if not isinstance(error, ChangedFolderError):
            say(f"netstudy: {_kept(folder)}")
        return error.exit_code
    return _end(folder, published, manner)


def _say_damaged(runs: Sequence[str]) -> None:
    if runs:
        one = len(runs) == 1
        was, again = ("1 record was", "is") if one else (f"{len(runs)} records were", "are")
        say(f"{was} damaged, changed or missing, and {again} made again: {', '.join(runs)}")


def _remainder_preflight(folder: Folder, testbed: Testbed, manner: Manner) -> Mapping[str, str]:
    """Repeats the preflight for the remaining runs, since the machine or its load may have
    changed."""
    from netstudy.execute import left_to_do, made_again

    left = left_to_do(folder, {record.run for record in made_again(folder, testbed)})
    if not left.runs:
        return {}
    say_programs(_programs_in(folder), folder.invocation().testbed)
    return preflight(testbed, left, folder.invocation(), manner)


def run_missing(
    folder: Folder, testbed: Testbed, manner: Manner, machine: Mapping[str, str] | None
) -> Counter[str]:
    """Execute the runs of a folder that have no record."""
    from netstudy.execute import carry_out

    runs, missing = len(folder.plan().runs), len(folder.missing())
    done = runs - missing
    if not manner.is_quiet:
        say(f"{folder.path}: {runs_left(missing, done)}")
    with meter(runs, done, is_quiet=manner.is_quiet) as shown:
        return carry_out(
            folder,
            testbed,
            threads=manner.threads,
            on_progress=shown.on_progress,
            on_round=shown.on_round,
            machine=machine,
        )


def _kept(folder: Folder) -> str:
    runs = len(folder.plan().runs)
    there = runs - len(folder.missing())
    again = continue_with(folder)
    rounds = f" of {rounds_begun(folder.rounds())}" if folder.rounds() > 1 else ""
    are = "is" if there == 1 else "are"
    return f"{there} of {runs} runs{rounds} {are} kept in {folder.path}; continue with: {again}"


def _end(folder: Folder, published: Published, manner: Manner) -> int:
    from netstudy.cli._outcome import end

    return end(folder, published, json=manner.json, is_quiet=manner.is_quiet)


class Interrupted(KeyboardInterrupt):
    """Raised when a signal asks the run to stop. `exit_code` is 128 plus the signal's number, as in
    shells."""

    def __init__(self, number: int) -> None:
        """`number` is the signal's."""
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def _stop(number: int, _frame: FrameType | None) -> None:
    raise Interrupted(number)


@contextmanager
def interruptible() -> Iterator[None]:
    """During the block, signals that ask to stop raise Interrupted.

    Signals that the process ignores, such as SIGHUP under nohup, stay ignored.
    """
    before = {number: signal.getsignal(number) for number in _STOPPING}
    before = {number: old for number, old in before.items() if old != signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, _stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
