"""Output for people: results on standard output, messages and progress on standard error.

Progress is a live bar on a terminal, and otherwise plain lines.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from netstudy.characters import escaped_json, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from netstudy.store import Folder
    from netstudy.wire import ProgressRecord, Run, RunRecord

_WIDTH = 160
_WITH_NOUN, _WITH_BAR, _WITH_SPEED = 56, 80, 100
"""Minimum terminal widths at which the progress shows the word "runs", the bar and the speed."""
_NAMED = 5
"""A line lists at most this number of files."""
_LINES = 10
"""Number of progress lines in each round if there is no live bar."""


def show(result: object, end: str = "\n") -> None:
    """Print a line of a result. Control characters are shown as symbols, so that a name from a file
    cannot control the terminal."""
    print(visible(str(result)), end=end)


def print_json(value: Any) -> None:
    """Print a result for programs."""
    show_json(json.dumps(value, indent=2, ensure_ascii=False))


def show_json(text: str) -> None:
    """Print a result that is JSON text."""
    print(escaped_json(text))


def show_lines(lines: Iterable[bytes]) -> None:
    """Print a result that consists of lines of JSON."""
    for line in lines:
        print(escaped_json(line.decode()), end="")


def say(message: str) -> None:
    """Print a message that is not part of the result. As in `show`, control characters become
    symbols."""
    print(visible(message), file=sys.stderr, flush=True)


def runs_left(missing: int, done: int) -> str:
    """The numbers of remaining and of finished runs: "2 runs to do, 1 is there"."""
    from netstudy.units import format_count

    there = f", {done:,} {'is' if done == 1 else 'are'} there" if done else ""
    return f"{format_count(missing, 'run')} to do{there}"


def output() -> Console:
    """The console for results; if its width is unknown, it is taken to be wide enough for any
    table."""
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
    """The state of a folder: done, running (a process is writing to it), or unfinished."""
    if folder.is_done():
        return "done"
    return "running" if folder.is_running() else "unfinished"


def rounds_begun(rounds: int) -> str:
    """The number of rounds begun, for a study with growing factors; further rounds may follow."""
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


def write_anew(folder: str) -> str:
    """The command that rewrites the report, cells.csv and the figures of a folder."""
    return f"netstudy report {shlex.quote(folder)}"


def derived_changed_text(names: Sequence[str]) -> str:
    """A text that lists the derived files (report, cells.csv, figures) that changed or disappeared
    after the folder was sealed."""
    more = len(names) - _NAMED
    listed = ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{listed} changed or went missing since the folder was sealed"


@dataclass(frozen=True)
class Reached:
    """The progress of the runs."""

    done: int
    """Number of runs that have records, including those from earlier sessions."""
    share: float
    """The completed share of this round's work, 0 to 1."""
    left_s: float | None
    """Time until the end of the round at the speed so far; None if nothing is done yet."""
    packets_per_s: float
    under_way: str
    """How much of the current run is completed, in words; empty if several run at once."""


class Shown(Protocol):
    """A display that shows the progress to people."""

    def show(self, reached: Reached) -> None:
        """Show the progress of the runs."""

    def begin(self, done: int, runs: int, title: str) -> None:
        """Start the next round: `done` runs are finished out of `runs` in all; `title` is the name
        of the round."""


class Meter:
    """Counts completed work and passes it to a display."""

    def __init__(self, shown: Shown | None, done_before: int) -> None:
        """`done_before` runs had records when this session started. If there is no display, only
        failed and invalid runs are printed."""
        self._shown = shown
        self._before = done_before
        self._there = done_before
        self.start_s = time.monotonic()
        """When this round began."""

    def on_round(self, number: int, runs: int) -> None:
        """Handle the start of a further round with this many runs to do."""
        self._before = self._there
        self.start_s = time.monotonic()
        if self._shown is not None:
            say(f"round {number}: {runs_left(runs, self._there)}")
            self._shown.begin(self._there, self._there + runs, f"round {number}")

    def on_progress(self, record: ProgressRecord | RunRecord) -> None:
        """Handle one record of the testbed."""
        if record.kind == "progress":
            if self._shown is not None:
                self._shown.show(self._reached(record))
            return
        self._there += 1
        if record.status != "ok":
            say(f"run {record.run} ({treatment(record)}) {record.status}: {explain(record)}")

    def _reached(self, record: ProgressRecord) -> Reached:
        elapsed_s = max(time.monotonic() - self.start_s, 1e-3)
        share = _share(record)
        return Reached(
            done=self._before + record.runs_done,
            share=share,
            left_s=elapsed_s * (1 - share) / share if share else None,
            packets_per_s=record.packets / elapsed_s,
            under_way=_under_way(record),
        )


@contextmanager
def meter(runs: int, done_before: int, *, is_quiet: bool = False) -> Iterator[Meter]:
    """Show progress during the block: as a live bar if standard error is a terminal, else as
    lines."""
    if is_quiet:
        yield Meter(None, done_before)
    elif _is_live():
        with _bar() as progress:
            shown = _Bar(progress)
            shown.begin(done_before, runs, "")
            yield Meter(shown, done_before)
    else:
        yield Meter(_Lines(runs), done_before)


class PlanProgress:
    """Prints the progress of planning; nothing in the first second, since most plans take less."""

    _FIRST_S, _EVERY_S = 1.0, 5.0

    def __init__(self) -> None:
        self._due_s = math.inf

    def __call__(self, made: str, done: int, of: int) -> None:
        """`done` of `of` items are planned; `made` is their name, such as "treatments". The first
        call has `done` = 0."""
        now = time.monotonic()
        if not done:
            self._due_s = now + self._FIRST_S
        elif now >= self._due_s:
            self._due_s = now + self._EVERY_S
            say(f"plan: {done:,} of {of:,} {made}")


OnPhase = Callable[[str], None]
"""Called with the name of each step: "analysing", "drawing", "writing"."""


@contextmanager
def phases(*, is_quiet: bool = False) -> Iterator[OnPhase]:
    """Show the steps after the last run: one line that changes on a terminal, else one line per
    step."""
    if is_quiet:
        yield lambda _: None
        return
    if not _is_live():
        yield lambda phase: say(f"report: {phase}")
        return
    from rich import progress
    from rich.console import Console

    with progress.Progress(
        progress.TextColumn("report: {task.description},"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("elapsed"),
        console=Console(stderr=True),
        transient=True,
    ) as shown:
        task = shown.add_task("analysing", total=None)
        yield lambda phase: shown.update(task, description=phase, refresh=True)


def _is_live() -> bool:
    """Whether standard error is a terminal that may be drawn on."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stderr.isatty() and not is_plain


def _bar() -> Progress:
    """The live bar. Only the most important columns are shown if the terminal is narrow."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    noun = " runs" if console.width >= _WITH_NOUN else ""
    columns: list[progress.ProgressColumn] = [
        progress.TextColumn(
            f"{{task.fields[round]}}{{task.fields[done]}}/{{task.fields[runs]}}{noun}, "
            "{task.fields[elapsed]} elapsed, {task.fields[left]} left"
        )
    ]
    if console.width >= _WITH_BAR:
        columns.insert(0, progress.BarColumn(bar_width=20))
    if console.width >= _WITH_SPEED:
        columns.append(progress.TextColumn("{task.fields[speed]}"))
        columns.append(progress.TextColumn("{task.fields[under_way]}"))
    return progress.Progress(
        *columns,
        console=console,
        auto_refresh=False,  # a thread must not run while the engine is forked
        transient=True,
    )


def _under_way(record: ProgressRecord) -> str:
    """How much of the current run is completed; empty if several run at once."""
    run = record.under_way
    return f"{100 * run.done // run.of} % of this run" if run and run.of else ""


def _share(record: ProgressRecord) -> float:
    """The completed share of the work, counted in packets or, if their number is not known in
    advance, in runs."""
    if record.packets_planned:
        return record.packets / record.packets_planned
    run = record.under_way
    current = run.done / run.of if run and run.of else 0.0
    return (record.runs_done + current) / max(record.runs, 1)


def _left(seconds: float | None) -> str:
    return "unknown" if seconds is None else duration(seconds)


def _speed(rate: float) -> str:
    """The rate in millions of packets per second, or in thousands if it is low; empty if no packets
    are counted."""
    if not rate:
        return ""
    return f"{rate / 1e6:.1f} M packets/s" if rate >= 1e5 else f"{rate / 1e3:.1f} k packets/s"


class _Clock:
    """Measures the elapsed time and gives it in words."""

    def __init__(self) -> None:
        self._start_s = time.monotonic()

    def elapsed(self) -> str:
        return duration(time.monotonic() - self._start_s)


class _Bar:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", start=True, visible=False)
        self._clock = _Clock()

    def begin(self, done: int, runs: int, title: str) -> None:
        self._progress.reset(
            self._task,
            total=1,
            visible=True,
            done=done,
            runs=runs,
            round=f"{title}, " if title else "",
            elapsed=self._clock.elapsed(),
            left=_left(None),
            under_way="",
            speed="",
        )

    def show(self, reached: Reached) -> None:
        self._progress.update(
            self._task,
            completed=reached.share,
            done=reached.done,
            elapsed=self._clock.elapsed(),
            left=_left(reached.left_s),
            speed=_speed(reached.packets_per_s),
            under_way=reached.under_way,
        )
        self._progress.refresh()


class _Lines:
    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._round = ""
        self._next = 1
        self._clock = _Clock()

    def begin(self, done: int, runs: int, title: str) -> None:  # noqa: ARG002  # `show` has `done`
        self._runs, self._round, self._next = runs, title, 1

    def show(self, reached: Reached) -> None:
        if reached.share * _LINES < self._next:
            return
        self._next = int(reached.share * _LINES) + 1
        parts = (
            self._round,
            f"{reached.done}/{self._runs} runs",
            reached.under_way,
            _speed(reached.packets_per_s),
            f"{self._clock.elapsed()} elapsed",
            f"{_left(reached.left_s)} left",
        )
        say(", ".join(part for part in parts if part))
