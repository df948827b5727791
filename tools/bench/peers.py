"""Compares the engine with ns-3 and ns-2 on the same scenarios: `make bench-peers`.

Prints a table of speeds, a table of agreement, and in the last line all speeds as one JSON object.
Writes the agreement into benches/peers/results.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tools.bench import agreement, dumbbell, speeds
from tools.bench.programs import NS2, NS3, PROGRAMS, Cell, cells

ROUNDS = 5


def speed_table(measured: Iterable[speeds.Speed]) -> Table:
    """Millions of useful packets per second of user time, and netstudy's speed as a multiple of
    each peer's."""
    names = [program.name for program in PROGRAMS]
    table = Table("scenario", "MTU", *names, f"times {NS3.name}", f"times {NS2.name}")
    for one in measured:
        millions = [f"{one.packets_per_s[name] / 1e6:.3f}" for name in names]
        ratios = f"{one.ratio(NS3):.0f}", f"{one.ratio(NS2):.1f}"
        table.add_row(scenario(one.cell), str(one.cell.mtu), *millions, *ratios)
    return table


def scenario(cell: Cell | dumbbell.Cell) -> str:
    """The scenario of a cell."""
    if isinstance(cell, dumbbell.Cell):
        return f"dumbbell, {dumbbell.PAIRS} pairs"
    return f"incast, servers: {cell.servers}"


def agreement_table(found: Iterable[agreement.Agreement]) -> Table:
    """The same table as in the page."""
    table = Table(*agreement.headers())
    for one in found:
        table.add_row(*agreement.row(one))
    return table


def say(console: Console, measured: Sequence[speeds.Speed]) -> None:
    """The table, followed by the rounds in which a peer crashed."""
    console.print(speed_table(measured))
    for one in measured:
        for crash in one.crashes:
            console.print(f"left out: {scenario(one.cell)}, MTU {one.cell.mtu}, {crash}")


def main() -> None:
    """Measure, print, write the page. Each result is printed before the next measurement."""
    argparse.ArgumentParser(prog="python -m tools.bench.peers", description=__doc__).parse_args()
    console, progress = Console(width=140), Console(stderr=True)
    console.print("million useful data packets a second of user time, one thread, medians")
    incast = [
        speeds.measure(cell, PROGRAMS, ROUNDS)
        for cell in track(cells(), "speed of the incast", console=progress)
    ]
    say(console, incast)
    shared = [
        speeds.measure(cell, dumbbell.PROGRAMS, ROUNDS)
        for cell in track(dumbbell.cells(), "speed of the dumbbell", console=progress)
    ]
    say(console, shared)
    sizes = [(cell, iterations) for iterations in agreement.ITERATIONS for cell in cells()]
    found = [agreement.observe(*size) for size in track(sizes, "agreement", console=progress)]
    for iterations in agreement.ITERATIONS:
        console.print(f"from new connections, iterations: {iterations}")
        console.print(agreement_table(one for one in found if one.iterations == iterations))
    agreement.write(found)
    print(speeds.json_line(incast, shared))


if __name__ == "__main__":
    main()
