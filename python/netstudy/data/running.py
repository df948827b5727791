"""Running a study from Python: `netstudy.run`.

It starts `netstudy run` as a separate process, so that it behaves exactly like the command, and so
that threads and signal handlers of the caller do not interfere.
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
"""The levels to run of a factor: a range such as `"1..6"`, one level, or several levels."""


def run(
    study: str | Path,
    *,
    testbed: str | None = None,
    variant: str | None = None,
    scale: str | None = None,
    seed: int | None = None,
    only: Mapping[str, Levels] | None = None,
    set: Mapping[str, object] | None = None,  # the name of the option
    replicates: int | None = None,
    quick: bool = False,
    without: Sequence[str] = (),
    threads: int | None = None,
    max_time: str | None = None,
    results: str | Path = "results",
    progress: bool = False,
) -> StudyData:
    """Run a study as `netstudy run` does, report included, and open its results.

    `study` is a study.yaml or its folder. `only` maps factors to the levels to run (`"1..6"`, or a
    list), `set` maps paths to values, such as `{"topology.link.delay": "50 us"}`; other arguments
    are the options of the same names. `progress` shows the progress on standard error.

    A missed requirement raises no exception: it is in the report. Failed or invalid runs cause a
    RuntimeWarning, and no metric includes them. Raises `netstudy.NetstudyError` with the message of
    `netstudy run` if the study could not be run; finished runs are kept, and
    `netstudy run STUDY --resume` continues.
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
    """A value, written so that YAML reads the same value."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _carried_out(command: Sequence[str], *, progress: bool) -> tuple[int, str, str]:
    """Runs the command and returns its exit code, its standard output and, unless it was shown as
    progress, its standard error. An interrupt is passed on to the process, which stores finished
    runs before it ends."""
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
    """The results, with a warning about failed or invalid runs. Raises NetstudyError."""
    said = err.removeprefix("netstudy: ") or "see standard error"
    if not out:
        raise _ERRORS.get(code, NetstudyError)(said)
    if code == TestbedError.exit_code:
        warnings.warn(said, RuntimeWarning, stacklevel=3)
    return StudyData(Folder(Path(json.loads(out)["folder"])))


_ERRORS: Final[Mapping[int, type[NetstudyError]]] = {
    error.exit_code: error for error in (StudyError, TestbedError)
}
