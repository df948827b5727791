"""Output for people: results on standard output, messages and progress on standard error.

Progress is a live bar on a terminal and plain lines elsewhere.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from netstudy.store import Folder
    from netstudy.wire import ProgressRecord, Run, RunRecord

_WIDTH = 160
_LINES = 10
"""Progress lines that a run prints from start to end."""


def print_json(value: Any) -> None:
    """Print a result for programs."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def say(message: str) -> None:
    """Print a message that is not part of the result."""
    print(message, file=sys.stderr, flush=True)


def output() -> Console:
    """The console of results; if its width is unknown, wide enough for any table."""
    from rich.console import Console

    told = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, width=None if told else _WIDTH)


def duration(seconds: float) -> str:
    """A rough time for people: 40 s, 3 min, 5 h, 12 days."""
    for limit, unit, size in ((120, "s", 1), (7200, "min", 60), (172_800, "h", 3600)):
        if seconds < limit:
            return f"{max(seconds / size, 1):.0f} {unit}"
    return f"{seconds / 86_400:,.0f} days"


def state(folder: Folder) -> str:
    """done, running (a process is writing to it), or unfinished."""
    if folder.is_done():
        return "done"
    return "running" if folder.is_running() else "unfinished"


def rounds_begun(rounds: int) -> str:
    """Number of rounds that a study with growing factors has begun; others may follow."""
    return f"{rounds} round{'s' if rounds > 1 else ''}"


def treatment(run: Run | RunRecord) -> str:
    """The levels and the replicate of a run."""
    levels = [f"{factor}={level}" for factor, level in run.treatment.items()]
    return ", ".join([*levels, f"replicate {run.replicate}"])


def explain(record: RunRecord) -> str:
    """Why a run failed or is invalid."""
    from netstudy.analysis.reasons import reasons

    return reasons(record)


def continue_with(folder: Folder) -> str:
    """The command that finishes an unfinished folder."""
    return f"netstudy run {shlex.quote(str(folder.path))} --resume"


class Shown(Protocol):
    """A display of the progress."""

    def show(self, done: int, packets: int, planned: int, rate: float, under_way: str) -> None:
        """Show the runs done, this session's packets and packets per second, and the current
        run."""

    def begin(self, done: int, runs: int, title: str) -> None:
        """Restart for a further round: the runs done, their new total, and the round's name."""


class Meter:
    """Counts completed work and passes it to a display."""

    def __init__(self, shown: Shown, done_before: int) -> None:
        """`done_before` runs had records when this session started."""
        self._shown = shown
        self._before = done_before
        self._there = done_before
        self._start_s = time.monotonic()

    def on_round(self, number: int, runs: int) -> None:
        """A further round begins, with this many runs to do."""
        self._before = self._there
        self._start_s = time.monotonic()
        say(f"round {number}: {runs} runs to do, {self._there} are there")
        self._shown.begin(self._there, self._there + runs, f"round {number}")

    def on_progress(self, record: ProgressRecord | RunRecord) -> None:
        """Handle one record of the testbed."""
        if record.kind == "progress":
            rate = record.packets / max(time.monotonic() - self._start_s, 1e-3)
            done = self._before + record.runs_done
            planned, under_way = record.packets_planned, _under_way(record)
            self._shown.show(done, record.packets, planned, rate, under_way)
            return
        self._there += 1
        if record.status != "ok":
            say(f"run {record.run} ({treatment(record)}) {record.status}: {explain(record)}")


@contextmanager
def meter(runs: int, done_before: int) -> Iterator[Meter]:
    """Show progress during the block, in the form that fits standard error."""
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        with _bar() as progress:
            task = progress.add_task(
                "", total=1, done=done_before, runs=runs, round="", under_way="", speed=""
            )
            yield Meter(_Bar(progress, task), done_before)
    else:
        yield Meter(_Lines(runs), done_before)


def _bar() -> Progress:
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.BarColumn(),
        progress.TextColumn("{task.fields[round]}{task.fields[done]}/{task.fields[runs]} runs"),
        progress.TextColumn("{task.fields[under_way]}"),
        progress.TextColumn("{task.fields[speed]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        auto_refresh=False,  # no thread: the engine is forked from this process
        transient=True,
    )


def _under_way(record: ProgressRecord) -> str:
    """The completed part of the current run; empty if runs are not carried out one by one."""
    run = record.under_way
    return f"{100 * run.done // run.of} % of this run" if run and run.of else ""


def _speed(rate: float) -> str:
    """In millions for simulated packets, in thousands for real ones."""
    return f"{rate / 1e6:.1f} M packets/s" if rate >= 1e5 else f"{rate / 1e3:.1f} k packets/s"


class _Bar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def begin(self, done: int, runs: int, title: str) -> None:
        self._progress.reset(
            self._task, total=1, done=done, runs=runs, round=f"{title}, ", under_way="", speed=""
        )

    def show(self, done: int, packets: int, planned: int, rate: float, under_way: str) -> None:
        self._progress.update(
            self._task,
            completed=packets,
            total=planned or 1,
            done=done,
            speed=_speed(rate),
            under_way=under_way,
        )
        self._progress.refresh()


class _Lines:
    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._round = ""
        self._next = 1

    def begin(self, done: int, runs: int, title: str) -> None:  # noqa: ARG002  # `show` gives it
        self._runs, self._round, self._next = runs, title, 1

    def show(self, done: int, packets: int, planned: int, rate: float, under_way: str) -> None:
        if packets * _LINES < planned * self._next:
            return
        self._next = packets * _LINES // max(planned, 1) + 1
        left = duration((planned - packets) / rate) if rate else "unknown"
        runs = f"{done}/{self._runs} runs"
        parts = (self._round, runs, under_way, _speed(rate), f"{left} left")
        say(", ".join(part for part in parts if part))
