"""Compares the speeds of simulators in one cell: medians over rounds in which the simulators take
turns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from tools.bench import usage
from tools.bench.programs import NETSTUDY, NS2, NS3, C, Program


@dataclass(frozen=True)
class Speed:
    """Useful data packets per second of user time, in one cell."""

    cell: Any
    """A dataclass."""
    packets_per_s: Mapping[str, float]
    """By the program's name."""
    crashes: Sequence[str] = ()
    """Descriptions of the rounds in which a peer crashed. Its speed is computed without these
    rounds."""

    def ratio(self, peer: Program[Any]) -> float:
        """netstudy's speed as a multiple of the peer's."""
        return self.packets_per_s[NETSTUDY.name] / self.packets_per_s[peer.name]


def measure(cell: C, programs: Sequence[Program[C]], rounds: int) -> Speed:
    """Run every program once per round; each round has a different seed.

    Raises Crash if the engine crashes, or if a peer crashes in every round.
    """
    seconds: dict[str, list[float]] = {program.name: [] for program in programs}
    crashes = []
    for seed in range(1, rounds + 1):
        for program in programs:
            try:
                used = usage.run(program.job(cell, program.iterations(cell), seed))
            except usage.Crash as crash:
                if program.name == NETSTUDY.name:
                    raise
                crashes.append(f"{program.name}, seed {seed}: {crash}")
                continue
            program.outcome(used.output)
            seconds[program.name].append(used.user_s)
    for program in programs:
        if not seconds[program.name]:
            raise usage.Crash(f"{cell}: {'; '.join(crashes)}")
    return speed(cell, programs, seconds, crashes)


def speed(
    cell: C,
    programs: Sequence[Program[C]],
    seconds: Mapping[str, Sequence[float]],
    crashes: Sequence[str] = (),
) -> Speed:
    """The speeds, computed from each program's user times."""
    rates = {
        program.name: cell.packets(program.iterations(cell)) / median(seconds[program.name])
        for program in programs
    }
    return Speed(cell, rates, crashes)


def json_line(incast: Iterable[Speed], dumbbell: Iterable[Speed]) -> str:
    """All cells of both scenarios as one JSON object, for programs."""
    return json.dumps(
        {
            "cells": [_cell(one) for one in incast],
            "dumbbell": [_cell(one) for one in dumbbell],
        }
    )


def _cell(one: Speed) -> dict[str, object]:
    return {
        **asdict(one.cell),
        "packets_per_s": round(one.packets_per_s[NETSTUDY.name]),
        "ratio_ns3": round(one.ratio(NS3), 2),
        "ratio_ns2": round(one.ratio(NS2), 3),
        "crashes": list(one.crashes),
    }
