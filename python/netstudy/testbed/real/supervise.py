"""Executes the runs of a plan one after the other, each in its place, and writes their records.

The protocol is that of `netstudy-engine sim`: the engine's version, a record for each run, the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from netstudy import wire
from netstudy.errors import NetstudyError
from netstudy.store.folder import CAPTURE
from netstudy.store.nodes import keep_node
from netstudy.testbed.base import failed_record
from netstudy.testbed.real.assemble import interference, run_record
from netstudy.testbed.real.captures import keep, keep_recordings, set_aside
from netstudy.testbed.real.clocks import NoBoundError
from netstudy.testbed.real.conduct import OnProgress, carry_out
from netstudy.testbed.real.place import Place, PlaceGoneError
from netstudy.testbed.real.processes import LostHostError, NodeError, Transcript
from netstudy.testbed.real.progress import Progress
from netstudy.testbed.real.setting import Setting
from netstudy.wire_model import Wire

_DISTURBED = "disturbed"
"""Suffix, followed by a number, in the name of the capture of a discarded attempt."""
ATTEMPTS_MAX = 3
"""A run is attempted at most this often; interference in every attempt is not by chance."""


class LostRunError(Exception):
    """An attempt has lost a host; has the record of the failed run."""

    def __init__(self, record: wire.RunRecord, cause: str) -> None:
        """`cause` is for the record of the next attempt."""
        super().__init__(cause)
        self.record = record
        self.cause = cause


async def supervise(
    plan: wire.Plan, place_of: Callable[[wire.Run], Place], captures: Path | None, silence_s: float
) -> None:
    """Execute the runs of a plan and write their records, after the engine's own. `captures` is
    the folder for the output of processes; see Setting.silence_s. Raises PlaceGoneError."""
    progress = Progress(plan)
    for done, run in enumerate(plan.runs):
        setting = Setting(run, place_of(run), silence_s)
        tell = partial(_tell, progress, done)
        attempt = partial(_record, setting, captures, tell)
        write(await undisturbed(attempt, captures and _capture(captures, run)))
        write(progress.between(done + 1))
    write(wire.EndRecord(runs=len(plan.runs)))


def _tell(progress: Progress, runs_done: int, under_way: wire.RunUnderWay) -> None:
    write(progress.within(runs_done, under_way))


async def undisturbed(
    attempt: Callable[[], Awaitable[wire.RunRecord]], capture: Path | None
) -> wire.RunRecord:
    """The record of the first attempt without interference and with all hosts; if there is none,
    that of the last attempt. An attempt may raise LostRunError; if then the host does not come
    back, the record is that of the failed run.

    The record gives the number of earlier attempts and the cause of each. The captures of
    earlier attempts are kept next to that of the attempt that counts.
    """
    causes: list[str] = []
    failed: wire.RunRecord | None = None
    while True:
        try:
            record = await attempt()
            cause = interference(record)
        except LostRunError as lost:
            failed = record = lost.record
            cause = lost.cause
        except PlaceGoneError:
            if failed is None:
                raise
            return failed
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


def _capture(captures: Path, run: wire.Run) -> Path:
    return captures / f"{run.id}{CAPTURE}"


async def _record(
    setting: Setting, captures: Path | None, on_progress: OnProgress
) -> wire.RunRecord:
    """The record of one attempt. A failed run has a record with its error. Raises LostRunError,
    and PlaceGoneError."""
    transcript: Transcript = {}
    try:
        record = await _carried_out(setting, captures, transcript, on_progress)
    except LostHostError as lost:
        failed = failed_record(setting.run, str(lost))
        raise LostRunError(_kept(failed, setting, captures, transcript), str(lost)) from lost
    return _kept(record, setting, captures, transcript)


def _kept(
    record: wire.RunRecord, setting: Setting, captures: Path | None, transcript: Transcript
) -> wire.RunRecord:
    """Keeps the output of the run's processes. Returns the record, which says where it is."""
    if captures is None or not transcript:
        return record
    path = _capture(captures, setting.run)
    keep(path, transcript)
    if record.error is not None:
        return _with_evidence(record, path)
    return _with_environments(record, setting.place, captures)


async def _carried_out(
    setting: Setting, captures: Path | None, transcript: Transcript, on_progress: OnProgress
) -> wire.RunRecord:
    """Executes the run. `transcript` is filled during the run, so that it is available even if the
    run fails. Raises LostHostError and PlaceGoneError."""
    run = setting.run
    try:
        evidence = await carry_out(setting, transcript, on_progress)
        if captures is not None:
            keep_recordings(captures, run.id, evidence.recordings)
    except (PlaceGoneError, LostHostError):
        raise
    except (NodeError, NetstudyError, NoBoundError) as error:
        return failed_record(run, str(error))
    try:
        # In a thread: sessions of hosts go on meanwhile.
        return await asyncio.to_thread(
            run_record, evidence, _environment(setting.place, evidence.hardware_note)
        )
    except LookupError as error:
        return failed_record(run, str(error))


def _with_evidence(record: wire.RunRecord, path: Path) -> wire.RunRecord:
    """The record of a failed run, with the name of the file that has the output of the run's
    processes."""
    where = f"{path.parent.name}/{path.name}"
    error = f"{record.error}; the output of its processes is in {where}"
    return record.model_copy(update={"error": error})


def _with_environments(record: wire.RunRecord, place: Place, captures: Path) -> wire.RunRecord:
    """The record, in which each node has the name of its stored environment added."""
    names = {
        node: name
        for nodes, environment in place.environments
        for name in (keep_node(captures, environment),)
        for node in nodes
    }
    nodes = {
        name: node.model_copy(update={"environment": names.get(name)})
        for name, node in record.nodes.items()
    }
    return record.model_copy(update={"nodes": nodes})


def _environment(place: Place, hardware: str | None) -> dict[str, str]:
    said = dict(place.environment)
    if hardware is not None:
        said[wire.HARDWARE_COUNTERS] = hardware
    departures = "\n".join(place.departures)
    return said | ({wire.DEPARTURES: departures} if departures else {})


def write(record: Wire) -> None:
    """Write a record to standard output."""
    print(wire.to_json(record), flush=True)
