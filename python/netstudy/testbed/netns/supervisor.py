"""Runs a plan inside the sandbox: a plan on standard input, records on standard output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from netstudy import wire
from netstudy.plan_lines import read_plan
from netstudy.testbed.engine import engine_version, find_engine
from netstudy.testbed.netns.application_limits import database_engine
from netstudy.testbed.netns.environment import machine
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.layout import NAMES, Switching, make_layout
from netstudy.testbed.netns.place import Keeping, NamespacePlace
from netstudy.testbed.netns.resources import Resources, cpu_pinning
from netstudy.testbed.netns.sandbox import file_folders
from netstudy.testbed.netns.tuning import prefer_this_process
from netstudy.testbed.real import supervise as real
from netstudy.testbed.real.polling import polled_switches
from netstudy.testbed.real.setting import SILENCE_S
from netstudy.testbed.workloads import traffic_of


def supervise(
    switching: Switching,
    captures: Path | None,
    kernel: Kernel,
    *,
    silence_s: float = SILENCE_S,
    machine_sysctls: Mapping[str, str] | None = None,
) -> None:
    """Read the plan, execute its runs one after the other, write their records.

    See Setting.silence_s. `machine_sysctls` has the settings of the machine's own namespace, which
    cannot be read inside the sandbox.
    """
    plan = read_plan(sys.stdin.buffer)
    engine, own = find_engine(), cpu_pinning(os.sched_getaffinity(0))
    # This comes before any child is started, since children inherit the priority.
    preferred = prefer_this_process()
    version = engine_version(engine).split()[1]
    real.write(wire.EngineRecord(version=version, testbed=NAMES[switching]))
    keeping = Keeping(machine(machine_sysctls or {}), (preferred,)) if captures else None

    def place_of(run: wire.Run) -> NamespacePlace:
        layout = make_layout(
            run.network,
            kernel,
            switching=switching,
            receive_cpu=own.hosts,
            polled=polled_switches(run),
        )
        database = database_engine(run, kernel)
        resources = Resources(run, layout, engine, own, database_engine=database)
        return NamespacePlace(resources, kernel, keeping)

    works = [run.workload for run in plan.runs]
    needed = {folder for work in works for folder in traffic_of(work).folders(work)}
    with file_folders(needed, captures) if needed else nullcontext():
        asyncio.run(real.supervise(plan, place_of, captures, silence_s))
