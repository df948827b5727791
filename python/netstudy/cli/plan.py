"""`netstudy plan`: the runs that `run` would make, and their cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _options as options
from netstudy.cli._foreseen import foreseen_warnings
from netstudy.cli._prepare import Asked, prepare
from netstudy.cli._terminal import duration, show, show_lines
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.cli._limits import Cost
    from netstudy.cli._prepare import Prepared
    from netstudy.testbed.base import Testbed
    from netstudy.wire import Plan

_MEMORY_TOLD_BYTES = 1_000_000_000
"""A smaller need for memory is not mentioned, since every supported machine has as much."""

NAME = "plan"
EPILOG = "Example: netstudy plan studies/incast --only servers=1..6 --set replicates=5"


def command(
    study: options.StudyPath,
    testbed: options.TestbedName = None,
    variant: options.Variant = None,
    scale: options.Scale = None,
    seed: options.Seed = None,
    only: options.Only = None,
    overrides: options.Set = None,
    replicates: options.Replicates = None,
    quick: options.Quick = False,
    without: options.Without = None,
    threads: options.Threads = None,
    slice_: Annotated[
        str | None,
        typer.Option(
            "--slice",
            metavar="I/N",
            help="With --json, only the runs of share I of N, of about the same work each; STUDY "
            "may be a results folder.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Print the runs of a study and their estimated cost; write nothing.

    --json prints the plan itself: the document that the engine reads on its standard input.
    """
    changes = options.with_replicates(overrides, replicates)
    asked = Asked(study, seed, only or (), changes, quick, testbed, variant, scale, without or ())
    if slice_ is not None:
        if not json:
            raise StudyError("is for engines, which read JSON; add --json", "--slice")
        from netstudy.cli._slices import slice_of

        show_lines_of(slice_of(asked, slice_))
        return
    show_plan(prepare(asked), threads, json=json)


def show_plan(
    prepared: Prepared, threads: int | None, *, json: bool, testbed: Testbed | None = None
) -> None:
    """Print a plan: for people or, with `json`, in the engine's format. `testbed` estimates the
    time; by default the invocation's."""
    _refuse_missing_controls(prepared)
    if json:
        show_lines(prepared.planned.lines())
    else:
        for name, said in _summary(prepared, threads, testbed):
            show(f"{name:9}{said}")


def show_lines_of(plan: Plan) -> None:
    """Print a plan in the engine's format."""
    from netstudy.plan_lines import plan_lines

    show_lines(plan_lines(plan))


def _refuse_missing_controls(prepared: Prepared) -> None:
    """Raises StudyError if a host asks for a congestion control that the testbed does not have."""
    if missing := prepared.missing_controls():
        raise StudyError(" ".join(missing))


def estimated(prepared: Prepared) -> str:
    """The number of runs and their time, in one line."""
    from netstudy.cli._limits import cost, most
    from netstudy.testbed import invoked

    planned, testbed = prepared.planned, invoked(prepared.invocation)
    first, whole = cost(planned, testbed, None), most(planned, testbed, None)
    time = _at_most(_time(first.seconds), _time(whole.seconds))
    return f"runs: {_at_most(_count(first.runs), _count(whole.runs))}; time: {time}"


def _summary(
    prepared: Prepared, threads: int | None, testbed: Testbed | None = None
) -> Iterator[tuple[str, str]]:
    from netstudy.cli._limits import cost, most, too_little_memory
    from netstudy.cli._outline import outline
    from netstudy.cli._programs import command_text
    from netstudy.plan import programs_of_runs, stated
    from netstudy.study.vocabulary import PUBLISHED, SIMULATOR
    from netstudy.testbed import invoked
    from netstudy.units import rough_size

    planned = prepared.planned
    testbed = testbed or invoked(prepared.invocation)
    first, whole = cost(planned, testbed, threads), most(planned, testbed, threads)
    yield "study", f"{prepared.study.study}, seed {planned.seed}"
    yield "runs", _runs(prepared, first.runs, whole.runs)
    if whole.traced_runs:
        traced = _at_most(_count(first.traced_runs), _count(whole.traced_runs))
        yield "traced", f"{traced}: the first replicate of each cell, to see where time goes"
    yield "packets", _at_most(_count(first.packets), _count(whole.packets))
    yield "time", _at_most(_time(first.seconds), _time(whole.seconds))
    if whole.per_hop_runs and testbed.repeats_itself:  # only the simulator has a faster mode
        noun = "run" if whole.per_hop_runs == 1 else "runs"
        yield "mode", f"one event a hop for {whole.per_hop_runs:,} {noun}: slower"
    yield from _memory(whole)
    disk = whole.disk_bytes
    yield "disk", "not known" if disk is None else f"at most {rough_size(disk)}"
    for factor, levels in _levels(prepared).items():
        yield "factor", f"{factor}: {', '.join(levels)}"
    for case, said in _growing(prepared):
        yield "grows", f"{case}{said}"
    yield from outline(planned.one_of_each or ())
    for command in programs_of_runs(planned.one_of_each or ()):
        yield "starts", f"{command_text(command)} (on a real testbed, with your rights)"
    if prepared.invocation.testbed == PUBLISHED:
        yield from _matched(prepared)
    for part in (*prepared.unsupported(), *testbed.unsupported(planned.plan_of_one_each)):
        yield "note", part
    if refused := too_little_memory(whole):
        yield "note", f"This machine cannot run the study: {refused}."
    for warning in foreseen_warnings(prepared):
        yield "warning", warning
    if prepared.invocation.testbed == SIMULATOR:
        for part in stated(prepared.study):
            yield "stated", part


def _memory(whole: Cost) -> Iterator[tuple[str, str]]:
    """The peak memory, if it is large enough to be mentioned."""
    from netstudy.units import rough_size

    if whole.memory is not None and whole.memory.bytes >= _MEMORY_TOLD_BYTES:
        yield "memory", f"about {rough_size(whole.memory.bytes)}"


def _matched(prepared: Prepared) -> Iterator[tuple[str, str]]:
    """Which levels are spelled differently in the study and in its published data, and how many
    cells have no published values."""
    from netstudy.plan import not_published
    from netstudy.study import level_text
    from netstudy.study.reference_files import read_published

    study = prepared.study
    for index in range(len(study.reference)):
        for factor, text, level in read_published(study, index).matched:
            yield "level", f"{factor}: {text} is {level_text(level)}"
    missing = not_published(study, prepared.planned)
    if missing:
        yield "note", f"{missing:,} cells of the study have no published value in this run."


def _count(packets: int | None) -> str:
    return "not known" if packets is None else f"{packets:,}"


def _time(seconds: float | None) -> str:
    return "not known" if seconds is None else f"about {duration(seconds)}"


def _at_most(first: str, whole: str) -> str:
    """The value of the first round and, if there are more rounds, the upper bound for all of
    them."""
    return first if first == whole else f"{first} in the first round, at most {whole} in all"


def _runs(prepared: Prepared, first: int, whole: int) -> str:
    planned = prepared.planned
    if not planned.loops:
        return f"{first:,}: {_replicates(prepared)}"
    rounds = planned.rounds_at_most
    return (
        f"{first:,} in the first round, at most {whole:,} in {rounds:,} rounds: at most "
        f"{_replicates(prepared)}"
    )


def _growing(prepared: Prepared) -> Iterator[tuple[str, str]]:
    """For each test case with a growing factor, the condition that ends the growth."""
    study = prepared.study
    for case in study.cases if prepared.planned.loops else ():
        factor = case.growing
        if factor is None or factor.growth is None:
            continue
        of, confirm = factor.growth.of or "throughput", factor.growth.confirm
        levels = "1 level" if confirm == 1 else f"{confirm} levels, one after the other,"
        verb = "does" if confirm == 1 else "do"
        named = f"{case.name}: " if len(study.cases) > 1 else ""
        yield named, f"{factor.name} until {levels} {verb} not gain in {of}"


def _replicates(prepared: Prepared) -> str:
    counts = [cell.runs for cell in prepared.planned.cells]
    low, high = min(counts), max(counts)
    times = f"{high}" if low == high else f"{low} to {high}"
    each = f"{times} replicate" if high == 1 else f"{times} replicates"
    return f"{len(prepared.planned.cells):,} cells, {each} of each"


def _levels(prepared: Prepared) -> dict[str, list[str]]:
    """The levels of each factor that occur in the plan, in order."""
    from netstudy.study import level_text

    seen: dict[str, dict[str, None]] = {}
    for cell in prepared.planned.cells:
        for factor, level in cell.treatment.items():
            seen.setdefault(factor, {})[level_text(level)] = None
    factors = prepared.study.factors
    return {
        name: [text for one in factors[name].names if (text := level_text(one)) in levels]
        for name, levels in seen.items()
    }
