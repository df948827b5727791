"""`netstudy plan`: what `run` would do, and what it would cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netstudy.cli import _options as options
from netstudy.cli._output import duration, megabytes
from netstudy.cli._prepare import PUBLISHED, Asked, prepare

if TYPE_CHECKING:
    from netstudy.cli._prepare import Prepared

NAME = "plan"
EPILOG = "Example: netstudy plan studies/incast --only servers=1..6 --set replicates=5"


def command(
    study: options.StudyPath,
    testbed: options.TestbedName = None,
    form: options.Form = None,
    scale: options.Scale = None,
    seed: options.Seed = None,
    only: options.Only = None,
    overrides: options.Set = None,
    quick: options.Quick = False,
    without: options.Without = None,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Print the runs of a study and what they would cost, and touch nothing.

    --json prints the plan itself: the document that the engine reads on its standard input.
    """
    asked = Asked(
        study, seed, only or (), overrides or (), quick, testbed, form, scale, without or ()
    )
    show_plan(prepare(asked), threads, json=json)


def show_plan(prepared: Prepared, threads: int | None, *, json: bool) -> None:
    """Print a plan for people, or as the engine reads it."""
    from netstudy.wire import to_json

    if json:
        print(to_json(prepared.planned.plan))
    else:
        _print_summary(prepared, threads)


def _print_summary(prepared: Prepared, threads: int | None) -> None:
    for name, said in _summary(prepared, threads):
        print(f"{name:9}{said}")


def _summary(prepared: Prepared, threads: int | None) -> Iterator[tuple[str, str]]:
    from netstudy.cli._cost import cost
    from netstudy.cli._outline import outline
    from netstudy.testbed import named

    planned = prepared.planned
    estimate = cost(planned, named(prepared.invocation.testbed), threads)
    yield "study", f"{prepared.study.study}, seed {planned.seed}"
    yield "runs", f"{estimate.runs:,}: {_replicates(prepared)}"
    yield "packets", "not known" if estimate.packets is None else f"{estimate.packets:,}"
    yield "time", "not known" if estimate.seconds is None else f"about {duration(estimate.seconds)}"
    if estimate.per_hop_runs:
        yield "mode", f"one event a hop for {estimate.per_hop_runs:,} runs: slower"
    disk = estimate.disk_bytes
    yield "disk", "not known" if disk is None else f"at most {megabytes(disk)}"
    for factor, levels in _levels(prepared).items():
        yield "factor", f"{factor}: {', '.join(levels)}"
    yield from outline(planned.wired or ())
    if prepared.invocation.testbed == PUBLISHED:
        yield from _matched(prepared)
    for part in prepared.unsupported():
        yield "note", part


def _matched(prepared: Prepared) -> Iterator[tuple[str, str]]:
    """Names of the published data that are written otherwise in the study; cells they leave out."""
    from netstudy.plan import not_published
    from netstudy.study import level_text
    from netstudy.study.published import read_published

    study = prepared.study
    for index in range(len(study.reference)):
        for factor, text, level in read_published(study, index).matched:
            yield "level", f"{factor}: {text} is {level_text(level)}"
    missing = not_published(study, prepared.planned)
    if missing:
        yield "note", f"{missing:,} cells of the study have no published value in this run."


def _replicates(prepared: Prepared) -> str:
    counts = [len(cell.run_ids) for cell in prepared.planned.cells]
    low, high = min(counts), max(counts)
    times = f"{high}" if low == high else f"{low} to {high}"
    each = f"{times} replicate" if high == 1 else f"{times} replicates"
    return f"{len(prepared.planned.cells):,} cells, {each} of each"


def _levels(prepared: Prepared) -> dict[str, list[str]]:
    """The levels of each factor that occur in the plan, in its order."""
    from netstudy.study import level_text

    seen: dict[str, dict[str, None]] = {}
    for cell in prepared.planned.cells:
        for factor, level in cell.treatment.items():
            seen.setdefault(factor, {})[level_text(level)] = None
    return {factor: list(levels) for factor, levels in seen.items()}
