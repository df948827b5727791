"""Runs a plan inside the sandbox: a plan on standard input, records on standard output.

The protocol is that of `netstudy-engine sim`: the engine's version, a record for each run, the end.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from netstudy import wire
from netstudy.errors import NetstudyError
from netstudy.store.folder import CAPTURE
from netstudy.store.nodes import Machine, Tuning, keep_node
from netstudy.testbed.base import failed_record
from netstudy.testbed.engine import engine_version, find_engine
from netstudy.testbed.netns.application_limits import database_engine
from netstudy.testbed.netns.environment import (
    Captured,
    Tuned,
    capture,
    machine,
    watched,
    with_environments,
)
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.layout import NAMES, Switching, make_layout
from netstudy.testbed.netns.network import network
from netstudy.testbed.netns.polling import polled_switches
from netstudy.testbed.netns.runner import OnProgress, carry_out
from netstudy.testbed.netns.sandbox import file_folders
from netstudy.testbed.netns.setting import SILENCE_S, Setting, cpu_pinning
from netstudy.testbed.netns.tuning import prefer_this_process
from netstudy.testbed.netns.unsupported import notes_on_run
from netstudy.testbed.real.assemble import interference, run_record
from netstudy.testbed.real.captures import keep, keep_recordings, set_aside
from netstudy.testbed.real.processes import NodeError, Transcript
from netstudy.testbed.real.progress import Progress
from netstudy.testbed.workloads import traffic_of
from netstudy.wire_model import Wire

_DISTURBED = "disturbed"
"""Suffix, followed by a number, in the name of the capture of a discarded attempt."""
ATTEMPTS_MAX = 3
"""A run is attempted at most this often; interference in every attempt is not by chance."""


@dataclass(frozen=True)
class _Keeping:
    """The folder of captures, and the environment of the machine that all namespaces share."""

    captures: Path
    machine: Machine
    of_all: tuple[Tuning, ...]
    """Changes of settings that concern all processes."""

    def captured(self, setting: Setting, tuned: Tuned) -> list[Captured]:
        """The environments of all nodes, captured while their namespaces exist."""
        return list(capture(setting, self.machine, self.of_all, tuned))

    def keep_nodes(self, captured: Sequence[Captured]) -> dict[str, str]:
        """Store these environments. Returns node -> the name of its environment."""
        return {
            node: name
            for nodes, environment in captured
            for name in (keep_node(self.captures, environment),)
            for node in nodes
        }


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
    plan = wire.Plan.model_validate_json(sys.stdin.buffer.read())
    engine, own = find_engine(), cpu_pinning(os.sched_getaffinity(0))
    # This comes before any child is started, since children inherit the priority.
    preferred = prefer_this_process()
    _write(wire.EngineRecord(version=engine_version(engine).split()[1], testbed=NAMES[switching]))
    below = machine(machine_sysctls or {})
    keeping = _Keeping(captures, below, (preferred,)) if captures else None
    progress = Progress(plan)
    works = [run.workload for run in plan.runs]
    needed = {folder for work in works for folder in traffic_of(work).folders(work)}
    with file_folders(needed, captures) if needed else nullcontext():
        for done, run in enumerate(plan.runs):
            layout = make_layout(
                run.network,
                kernel,
                switching=switching,
                receive_cpu=own.hosts,
                polled=polled_switches(run),
            )
            setting = Setting(
                run,
                layout,
                engine,
                own,
                silence_s,
                database_engine=database_engine(run, kernel),
            )
            transcripts = captures / f"{run.id}{CAPTURE}" if captures else None
            tell = partial(_tell, progress, done)
            attempt = partial(_record, setting, kernel, keeping, transcripts, tell)
            _write(undisturbed(attempt, transcripts))
            _write(progress.between(done + 1))
    _write(wire.EndRecord(runs=len(plan.runs)))


def _tell(progress: Progress, runs_done: int, under_way: wire.RunUnderWay) -> None:
    _write(progress.within(runs_done, under_way))


def undisturbed(attempt: Callable[[], wire.RunRecord], capture: Path | None) -> wire.RunRecord:
    """The record of the first attempt without interference; if every attempt had interference, that
    of the last one.

    The record gives the number of earlier attempts and the interference in each. The captures of
    earlier attempts are kept next to that of the attempt that counts.
    """
    causes: list[str] = []
    while True:
        record = attempt()
        cause = interference(record)
        if cause is None or len(causes) == ATTEMPTS_MAX - 1:
            break
        causes.append(cause)
        if capture is not None and capture.exists():
            set_aside(capture, _DISTURBED)
    if record.status == "failed":
        return record
    return record.model_copy(update={"limits": (*record.limits, _attempts(causes))})


def _attempts(causes: Sequence[str]) -> wire.TestbedLimit:
    return wire.TestbedLimit(
        name=wire.DISTURBED_ATTEMPTS,
        value=len(causes),
        allowed=ATTEMPTS_MAX - 1,
        exceeded=False,
        evidence=" | ".join(causes),
    )


def _record(
    setting: Setting,
    kernel: Kernel,
    keeping: _Keeping | None,
    transcripts: Path | None,
    on_progress: OnProgress,
) -> wire.RunRecord:
    """The record of one run. A failed run has a record with its error."""
    transcript: Transcript = {}
    captured: list[Captured] = []
    record = _carried_out(setting, kernel, keeping, transcript, captured, on_progress)
    if keeping is None or transcripts is None or not transcript:
        return record
    keep(transcripts, transcript)
    if record.error is not None:
        return _with_evidence(record, transcripts)
    return with_environments(record, keeping.keep_nodes(captured))


def _carried_out(
    setting: Setting,
    kernel: Kernel,
    keeping: _Keeping | None,
    transcript: Transcript,
    captured: list[Captured],
    on_progress: OnProgress,
) -> wire.RunRecord:
    """Executes the run. `transcript` and `captured` are filled during the run, so that they are
    available even if the run fails."""
    run = setting.run
    tuned = watched(setting) if keeping else {}
    try:
        with network(setting.layout, tuned):
            if keeping:
                captured += keeping.captured(setting, tuned)
            evidence = asyncio.run(carry_out(setting, transcript, on_progress))
        if keeping:
            keep_recordings(keeping.captures, run.id, evidence.recordings)
    except (NodeError, NetstudyError) as error:
        return failed_record(run, str(error))
    try:
        return run_record(evidence, _environment(setting, kernel, evidence.hardware_note))
    except LookupError as error:
        return failed_record(run, str(error))


def _with_evidence(record: wire.RunRecord, path: Path) -> wire.RunRecord:
    """The record of a failed run, with the name of the file that has the output of the run's
    processes."""
    where = f"{path.parent.name}/{path.name}"
    error = f"{record.error}; the output of its processes is in {where}"
    return record.model_copy(update={"error": error})


def _environment(setting: Setting, kernel: Kernel, hardware: str | None) -> dict[str, str]:
    switching = setting.layout.switching
    said = {"testbed": NAMES[switching], "kernel": kernel.release}
    if hardware is not None:
        said[wire.HARDWARE_COUNTERS] = hardware
    departures = "\n".join(notes_on_run(setting.run, switching, kernel))
    return said | ({wire.DEPARTURES: departures} if departures else {})


def _write(record: Wire) -> None:
    print(wire.to_json(record), flush=True)
