"""Formulas of capacities with several servers: the CPUs of a host, and its permits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from netstudy.analysis.nodes.growth import Fraction, Growth
from netstudy.analysis.samples import NS_PER_S
from netstudy.plan.workloads.base import Permit

CPU_BUSY: Final = "cpu_busy_ns."
"""Beginning of the names of the counters that have the busy time of one CPU each."""


def busiest_cpu(growth: Growth) -> Fraction | None:
    """The busy time of the busiest CPU, as a share of all time. For a host with one CPU, it is the
    CPU time of the host."""
    each = [growth.node(name) for name in sorted(growth.counters) if name.startswith(CPU_BUSY)]
    # A CPU also works for programs that are not the run's, so that its time does not stop growing
    # when nothing is in flight any more.
    seconds = growth.counted_s
    if not each and growth.cpus == 1:
        each, seconds = [growth.node("host_cpu_ns")], growth.seconds
    known = [one for one in each if one is not None]
    if not known or len(known) < len(each):
        return None
    return np.max(known, axis=0) * 100.0, seconds * NS_PER_S


def in_use(kind: Permit) -> Callable[[Growth], Fraction | None]:
    """The share of all permits of a kind that are in use."""

    def of(growth: Growth) -> Fraction | None:
        busy, permits = growth.node(f"{kind}_busy_ns"), growth.permits.get(kind)
        if busy is None or permits is None:
            return None
        return busy * 100.0, growth.seconds * NS_PER_S * permits

    return of


def waiting(kind: Permit) -> Callable[[Growth], Fraction | None]:
    """The number of jobs that wait for a permit of a kind."""

    def of(growth: Growth) -> Fraction | None:
        waited = growth.node(f"{kind}_waiting_ns")
        return None if waited is None else (waited, growth.seconds * NS_PER_S)

    return of
