"""Speeds of several simulators in one cell: medians over rounds in which they take turns."""

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
    """Useful data packets a second of user time, in one cell."""

    cell: Any
    """A dataclass."""
    packets_per_s: Mapping[str, float]
    """By the program's name."""

    def ratio(self, peer: Program[Any]) -> float:
        """How many times as fast as a peer netstudy is."""
        return self.packets_per_s[NETSTUDY.name] / self.packets_per_s[peer.name]


def measure(cell: C, programs: Sequence[Program[C]], rounds: int) -> Speed:
    """Run every program once a round, each round with a seed of its own."""
    seconds: dict[str, list[float]] = {program.name: [] for program in programs}
    for seed in range(1, rounds + 1):
        for program in programs:
            job = program.job(cell, program.iterations(cell), seed)
            used = usage.run(job)
            program.outcome(used.output)
            seconds[program.name].append(used.user_s)
    return speed(cell, programs, seconds)


def speed(cell: C, programs: Sequence[Program[C]], seconds: Mapping[str, Sequence[float]]) -> Speed:
    """From user times by the program's name."""
    rates = {
        program.name: cell.packets(program.iterations(cell)) / median(seconds[program.name])
        for program in programs
    }
    return Speed(cell, rates)


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
    }
