"""Speeds of several simulators in one cell: medians over rounds in which they take turns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from tools.bench import usage
from tools.bench.programs import NETSTUDY, NS2, NS3, PROGRAMS, Cell, Program


@dataclass(frozen=True)
class Speed:
    """Useful data packets a second of user time, in one cell."""

    cell: Cell
    packets_per_s: Mapping[str, float]
    """By the program's name."""

    def ratio(self, peer: Program) -> float:
        """How many times as fast as a peer netstudy is."""
        return self.packets_per_s[NETSTUDY.name] / self.packets_per_s[peer.name]


def measure(cell: Cell, rounds: int) -> Speed:
    """Run every program once a round, each round with a seed of its own."""
    seconds: dict[str, list[float]] = {program.name: [] for program in PROGRAMS}
    for seed in range(1, rounds + 1):
        for program in PROGRAMS:
            job = program.job(cell, program.iterations(cell), seed)
            used = usage.run(job)
            program.outcome(used.output)
            seconds[program.name].append(used.user_s)
    return speed(cell, seconds)


def speed(cell: Cell, seconds: Mapping[str, Sequence[float]]) -> Speed:
    """From user times by the program's name."""
    rates = {
        program.name: cell.packets(program.iterations(cell)) / median(seconds[program.name])
        for program in PROGRAMS
    }
    return Speed(cell, rates)


def json_line(speeds: Iterable[Speed]) -> str:
    """All cells as one JSON object, for programs."""
    return json.dumps(
        {
            "cells": [
                {
                    **asdict(one.cell),
                    "packets_per_s": round(one.packets_per_s[NETSTUDY.name]),
                    "ratio_ns3": round(one.ratio(NS3), 2),
                    "ratio_ns2": round(one.ratio(NS2), 3),
                }
                for one in speeds
            ]
        }
    )
