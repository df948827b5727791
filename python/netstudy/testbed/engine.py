"""The engine as a child process: a plan goes in, records come out. The engine never outlives this
process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter, ValidationError

from netstudy.errors import StudyError, TestbedError
from netstudy.plan_lines import plan_lines
from netstudy.testbed.base import OnRecord
from netstudy.testbed.child import dies_with_parent
from netstudy.testbed.survival import EngineDiedError
from netstudy.wire import EndRecord, EngineRecord, Plan, Record

ENGINE_NAME = "netstudy-engine"
ENGINE_VARIABLE = "NETSTUDY_ENGINE"

_BAD_PLAN = 2
"""The engine's exit code for a plan that it does not support."""
ASKED_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that end the engine on purpose: they do not count as a crash."""
_GRACE_S = 5.0
"""Time for the engine to end after SIGTERM, before it is killed."""
_STDERR_LINES = 10

RECORD: TypeAdapter[Record] = TypeAdapter(Record)
"""Reads a line of an engine's output."""


def find_engine() -> Path:
    """The engine's binary: $NETSTUDY_ENGINE, else the one next to this Python, else the one where
    `pip install --user` puts programs, else on the PATH."""
    named = os.environ.get(ENGINE_VARIABLE)
    if named is not None:
        return _named_engine(Path(named))
    users = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    for folder in (Path(sys.executable).parent, Path(users)):
        if (folder / ENGINE_NAME).is_file():
            return folder / ENGINE_NAME
    found = shutil.which(ENGINE_NAME)
    if found is None:
        raise TestbedError(
            f"the engine ({ENGINE_NAME}) is neither next to {sys.executable} nor on the PATH; "
            f"build it with `make build` in a checkout, install a wheel that has it, or name it in "
            f"{ENGINE_VARIABLE}"
        )
    return Path(found)


def _named_engine(path: Path) -> Path:
    if not os.access(path, os.X_OK) or path.is_dir():
        raise TestbedError(f"{ENGINE_VARIABLE} names {path}, which is not a program")
    return path


def engine_version(engine: Path) -> str:
    """The version that the engine reports. Raises TestbedError when the engine cannot be run."""
    try:
        answer = subprocess.run(
            [engine, "--version"], capture_output=True, text=True, timeout=_GRACE_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise TestbedError(f"{engine} does not run: {error}") from error
    return answer.stdout.strip()


def run_engine(command: Sequence[str], plan: Plan, on_record: OnRecord) -> None:
    """Start the engine, give it the plan, and hand over its records until it has ended.

    Raises TestbedError when the engine fails; if it was killed, the subclass EngineDiedError.
    """
    with tempfile.TemporaryFile() as plan_file, tempfile.TemporaryFile() as errors:
        plan_file.writelines(plan_lines(plan))
        plan_file.seek(0)
        with _child(command, plan_file, errors) as process:
            assert process.stdout is not None
            passed = pass_on(process.stdout, on_record, errors)
            code = process.wait()
        check_end(code, passed, errors)


@contextmanager
def _child(
    command: Sequence[str], plan_file: IO[bytes], errors: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """The engine, in its own process group, so that Ctrl-C reaches this process first."""
    try:
        process = subprocess.Popen(
            command,
            stdin=plan_file,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,
            preexec_fn=dies_with_parent(),
        )
    except OSError as error:
        raise TestbedError(f"cannot start {command[0]}: {error.strerror}") from error
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    process.stdout.close()
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)  # the starter of a sandbox does not pass signals on
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        pass  # it is killed below, as after a second Ctrl-C
    finally:
        process.kill()  # does nothing to a process that has ended
        process.wait()


@dataclass
class Passed:
    """Whether the first record (`engine`) and the last record (`end`) were read."""

    begun: bool = False
    complete: bool = False


def pass_on(lines: IO[bytes], on_record: OnRecord, errors: IO[bytes]) -> Passed:
    """Hand over each record of an engine, in order. `errors` is the engine's standard error.
    Raises TestbedError for anything else than records."""
    passed = Passed()
    for line in lines:
        record = _parse(line, errors)
        if record is None:
            return passed
        if passed.begun == isinstance(record, EngineRecord) or passed.complete:
            raise TestbedError(f"the engine wrote a '{record.kind}' record out of order")
        on_record(record, line)
        passed.begun, passed.complete = True, isinstance(record, EndRecord)
    return passed


def _parse(line: bytes, errors: IO[bytes]) -> Record | None:
    """The record in a line; None if the line is incomplete because the engine died while writing
    it."""
    if not line.endswith(b"\n"):
        return None
    try:
        return RECORD.validate_json(line)
    except ValidationError as error:
        shown = line[:80].decode("utf-8", "backslashreplace").strip()
        message = f"the engine wrote something that is not a record: {shown!r}{_last(errors)}"
        raise TestbedError(message) from error


def check_end(code: int, passed: Passed, errors: IO[bytes]) -> None:
    """Raises an error if the engine ended with this exit code before all was done: StudyError if it
    refused the plan, EngineDiedError if it was killed, else TestbedError."""
    if code == _BAD_PLAN:
        raise StudyError(f"the engine refuses the plan{_last(errors)}")
    if code < 0:
        died = passed.begun and -code not in ASKED_TO_END
        kind = EngineDiedError if died else TestbedError
        raise kind(f"the engine was killed by {_killer(-code)}{_last(errors)}")
    if code == TestbedError.exit_code and (reason := _written(errors)):
        raise TestbedError(reason)
    if code != 0:
        raise TestbedError(f"the engine ended with exit code {code}{_last(errors)}")
    if not passed.complete:
        raise TestbedError(f"the engine's records break off before their end{_last(errors)}")


def _killer(number: int) -> str:
    """The name of the signal. For SIGKILL its usual cause is added, since nothing else here shows
    that cause."""
    said = _signal_name(number)
    return f"{said}, as the kernel does when memory runs out" if said == "SIGKILL" else said


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _written(errors: IO[bytes]) -> str:
    """All that the engine wrote to standard error."""
    errors.seek(0)
    return errors.read().decode("utf-8", "replace").strip()


def _last(errors: IO[bytes]) -> str:
    """The last lines that the engine wrote to standard error, to be appended to an error
    message."""
    lines = _written(errors).splitlines()[-_STDERR_LINES:]
    return ":\n" + "\n".join(f"  {line}" for line in lines) if lines else ""
