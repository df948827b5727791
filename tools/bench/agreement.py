"""Writes the results of all simulators for the same scenario side by side into
benches/peers/results.md.

Every simulator runs the same iterations from the same start with several seeds, so the page does
not depend on the machine. The tables are written between two markers; the text around them is typed
by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from netstudy.report.markdown import replace_between
from tools.bench import scenarios, usage
from tools.bench.programs import PROGRAMS, Cell, Outcome

PAGE = scenarios.ROOT / "benches/peers/results.md"
BEGIN, END = "<!-- begin: written by make bench-peers -->", "<!-- end -->"
ITERATIONS = (1, 20)
"""Numbers of iterations to run: 1, on new connections, whose slow start leaves little to chance;
and 20, to include later iterations."""
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Agreement:
    """Name of each program -> its outcomes for one cell, one outcome per seed."""

    cell: Cell
    iterations: int
    outcomes: Mapping[str, Sequence[Outcome]]


def observe(cell: Cell, iterations: int) -> Agreement:
    """Run every program with every seed."""
    return Agreement(
        cell,
        iterations,
        {
            program.name: [
                program.outcome(usage.run(program.job(cell, iterations, seed)).output)
                for seed in SEEDS
            ]
            for program in PROGRAMS
        },
    )


def goodput_mbps(outcomes: Sequence[Outcome]) -> float:
    """The goodput over all seeds together. All seeds carry the same number of bytes, so this is the
    harmonic mean."""
    return len(outcomes) / sum(1 / outcome.goodput_mbps for outcome in outcomes)


def row(found: Agreement) -> list[str]:
    """One row of the table: goodput, and drops and timeouts per iteration, of each program."""
    outcomes = [found.outcomes[program.name] for program in PROGRAMS]
    return [
        f"{found.cell.mtu}",
        f"{found.cell.servers}",
        *(f"{goodput_mbps(each):,.0f}" for each in outcomes),
        *(f"{mean(one.drops for one in each) / found.iterations:,.1f}" for each in outcomes),
        *(f"{mean(one.timeouts for one in each) / found.iterations:,.2f}" for each in outcomes),
    ]


def headers() -> list[str]:
    """The columns of `row`."""
    quantities = ("goodput Mbit/s", "drops", "timeouts")
    return ["MTU", "servers", *(f"{what}, {p.name}" for what in quantities for p in PROGRAMS)]


def markdown(found: Sequence[Agreement]) -> str:
    """The generated part of the page: a table for each number of iterations."""
    tables = [
        _table(iterations, [one for one in found if one.iterations == iterations])
        for iterations in ITERATIONS
    ]
    return "\n\n".join(tables)


def _table(iterations: int, found: Sequence[Agreement]) -> str:
    head = headers()
    lines = [head, ["---:"] * len(head), *map(row, found)]
    many = "One iteration" if iterations == 1 else f"{iterations} iterations"
    said = f"{many} from new connections, {len(SEEDS)} seeds pooled. "
    said += "Drops and timeouts are an iteration's."
    return "\n".join([said, "", *(f"| {' | '.join(cells)} |" for cells in lines)])


def write(found: Sequence[Agreement], page: Path = PAGE) -> None:
    """Put the tables into the page. Raises StudyError if the page lacks the markers."""
    replace_between(page, BEGIN, END, markdown(found))
