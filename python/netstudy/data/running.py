"""Carrying out a study from Python: `netstudy.run`.

It is `netstudy run` in a process of its own, so that both do the same, and so that threads and
signal handlers of the caller are not in its way.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from netstudy.data.study_data import StudyData
from netstudy.errors import NetstudyError, StudyError, TestbedError
from netstudy.store import Folder
from netstudy.study.levels import level_text
from netstudy.wire import Level

Levels = Level | Sequence[Level]
"""`"1..6"`, one level, or several."""


def run(
    study: str | Path,
    *,
    testbed: str | None = None,
    variant: str | None = None,
    scale: str | None = None,
    seed: int | None = None,
    only: Mapping[str, Levels] | None = None,
    set: Mapping[str, object] | None = None,  # as the option is called
    replicates: int | None = None,
    quick: bool = False,
    without: Sequence[str] = (),
    threads: int | None = None,
    max_time: str | None = None,
    results: str | Path = "results",
    progress: bool = False,
) -> StudyData:
    """Carry out a study as `netstudy run` does, report included, and open its results.

    `study` is a study.yaml or its folder. `only` maps factors to the levels to run (`"1..6"`, or a
    list), `set` paths to values, such as `{"topology.link.delay": "50 us"}`; the others are the
    options of the same names. With `progress`, it is shown on standard error.

    A requirement that is missed raises nothing: the report has it. Runs that failed or are invalid
    are told by a RuntimeWarning, and are in no metric. Raises `netstudy.NetstudyError` with the
    message of `netstudy run` if the study could not be carried out; finished runs are kept, and
    `netstudy run STUDY --resume` goes on.
    """
    options = {
        "--testbed": testbed,
        "--variant": variant,
        "--scale": scale,
        "--seed": seed,
        "--replicates": replicates,
        "--threads": threads,
        "--max-time": max_time,
        "--results": str(results),
    }
    command = [sys.executable, "-m", "netstudy", "run", str(study)]
    command += [f"{name}={value}" for name, value in options.items() if value is not None]
    command += _only(only or {})
    command += [f"--set={path}={_written(value)}" for path, value in (set or {}).items()]
    command += [f"--without={part}" for part in without]
    command += ["--quick"] if quick else []
    command += ["--json", *([] if progress else ["--quiet"])]
    return _opened(*_carried_out(command, progress=progress))


def _only(only: Mapping[str, Levels]) -> Iterator[str]:
    for factor, levels in only.items():
        several = [levels] if isinstance(levels, str | int | float) else levels
        for level in several:
            yield f"--only={factor}={level_text(level)}"


def _written(value: object) -> str:
    """A value as YAML reads it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _carried_out(command: Sequence[str], *, progress: bool) -> tuple[int, str, str]:
    """The exit code, and what was printed: on standard output, and unless it was shown, on standard
    error. An interrupt is passed on, and waits until finished runs are stored."""
    said = None if progress else subprocess.PIPE
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as process:
        try:
            out, err = process.communicate()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
    return process.returncode, out.strip(), (err or "").strip()


def _opened(code: int, out: str, err: str) -> StudyData:
    """The results, with a warning for runs that are not ok. Raises NetstudyError."""
    said = err.removeprefix("netstudy: ") or "see standard error"
    if not out:
        raise _ERRORS.get(code, NetstudyError)(said)
    if code == TestbedError.exit_code:
        warnings.warn(said, RuntimeWarning, stacklevel=3)
    return StudyData(Folder(Path(json.loads(out)["folder"])))


_ERRORS: Final[Mapping[int, type[NetstudyError]]] = {
    error.exit_code: error for error in (StudyError, TestbedError)
}
