"""A slice of a plan on a worker: one engine as a child process, from its plan to its output.

This module and `child` are sent to the workers as they are (`by_value`), so that a worker needs no
netstudy; they import only the standard library and dask. Arguments and
results are plain values for the same reason.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import subprocess
import tempfile
import time
from typing import TypedDict

from netstudy.testbed.child import dies_with_parent

_LOOK_S = 0.5
"""Interval at which a worker looks whether the slice is still wanted."""
_STDERR_BYTES = 20_000
"""Length of the end of standard error that is sent back."""


class Answer(TypedDict, total=False):
    """The end of a slice. Only `worker` is always there."""

    worker: str
    """The worker's address."""
    lacks_engine: bool
    """The worker has no engine of this hash: it needs the engine's bytes."""
    unfit: str
    """The worker's machine, if it is not the kind of machine that the engine is for."""
    unusable: str
    """Why the engine could not be started."""
    code: int
    """The engine's exit code, or minus the signal that killed it."""
    out: bytes
    """The engine's standard output: its records, a line each."""
    err: bytes
    """The end of the engine's standard error."""
    seconds: float
    """Duration of the engine's work."""


def machine() -> str:
    """The kind of this machine, such as "Linux x86_64"."""
    return f"{platform.system()} {platform.machine()}"


def carry_out(
    plan: bytes, sha256: str, made_for: str, folder: str | None, engine: bytes | None
) -> Answer:
    """Execute the runs of a plan with the engine of this SHA-256, on one CPU.

    `made_for` is the kind of machine that the engine runs on. The engine is looked up in `folder`
    or, if this is None, in the worker's own folder, where it is written first if its bytes are
    given.
    """
    from distributed import get_worker

    worker = get_worker()
    if machine() != made_for:
        return {"worker": worker.address, "unfit": machine()}
    path = engine_path(folder or worker.local_directory, sha256)
    if not _is_own(path):
        if engine is None:
            return {"worker": worker.address, "lacks_engine": True}
        write_engine(path, engine, sha256)
    try:
        return {"worker": worker.address, **_run([path, "sim", "--threads=1"], plan)}
    except OSError as error:
        return {"worker": worker.address, "unusable": str(error)}


def engine_path(folder: str, sha256: str) -> str:
    """The file of the engine with this hash in a folder of engines."""
    return f"{folder}/netstudy-engine-{sha256}"


def write_engine(path: str, engine: bytes, sha256: str) -> None:
    """Write the engine so that nobody else can change it, and nobody sees a part of it. Raises
    ValueError if its bytes do not have the hash."""
    if hashlib.sha256(engine).hexdigest() != sha256:
        raise ValueError("the engine changed on its way to the worker")
    part = f"{path}.{os.getpid()}-{time.monotonic_ns()}"
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
    with open(number, "wb") as file:  # noqa: PTH123 (a file number)
        file.write(engine)
    os.replace(part, path)  # noqa: PTH105


def _is_own(path: str) -> bool:
    """Whether the engine is there, and nobody but this user can have written it."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return (
        stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & others
    )


def _run(command: list[str], plan: bytes) -> Answer:
    """The engine's output. The engine ends early if the slice is not wanted any more."""
    begun_s = time.monotonic()
    with tempfile.TemporaryFile() as plan_file:
        plan_file.write(plan)  # a pipe would take it in pieces of 512 bytes: 80 ms for 4 MB
        plan_file.seek(0)
        with subprocess.Popen(
            command,
            stdin=plan_file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=dies_with_parent(),
        ) as process:
            try:
                out, err = _to_the_end(process)
            finally:
                process.kill()  # does nothing to a process that has ended
    seconds = time.monotonic() - begun_s
    return {"code": process.returncode, "out": out, "err": err[-_STDERR_BYTES:], "seconds": seconds}


def _to_the_end(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    while True:
        try:
            return process.communicate(timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            if not _is_wanted():
                process.kill()


def _is_wanted() -> bool:
    """Whether anybody waits for this task: not if its client cancelled it, or is gone."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is not None and task.state == "executing"
