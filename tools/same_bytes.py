"""Checks that two engines, possibly built for different processors, write the same records, byte
for byte.

usage: python -m tools.same_bytes ENGINE OTHER

An engine for another processor runs under QEMU's user-mode emulation.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from netstudy.plan import make_plan
from netstudy.plan_lines import plan_bytes
from netstudy.study import load
from tools.bench.scenarios import ROOT

STUDIES = (
    "conformance/incast-collapse.yaml",
    "conformance/transfer-dumbbell.yaml",
    "examples/web-application",
)
"""The studies whose records are compared: an incast, transfers, and transactions."""
_EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")


def main() -> int:
    """Compare; the exit code is 1 if a record differs."""
    engine, other = (Path(argument).absolute() for argument in sys.argv[1:])
    prefix = emulation(other)
    if prefix is None:
        print(f"  records  not compared: {other.name} needs {_EMULATORS[-1]} (Debian: qemu-user)")
        return 0
    for study in STUDIES:
        plan = _plan(study)
        if _digest((str(engine),), plan) != _digest((*prefix, str(other)), plan):
            print(f"netstudy: {study}: {other} writes other records than {engine}", file=sys.stderr)
            return 1
    print(f"  records  the same bytes as the fast engine's: {', '.join(STUDIES)}")
    return 0


def emulation(engine: Path) -> tuple[str, ...] | None:
    """The words to put before the command to start the engine on this machine: none, or an
    emulator; None: the engine cannot be started."""
    try:
        subprocess.run([engine, "--version"], capture_output=True, check=True)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return next(((found,) for found in map(shutil.which, _EMULATORS) if found), None)
    return ()


def _plan(study: str) -> bytes:
    return plan_bytes(make_plan(load(ROOT / "studies" / study), seed=1).plan)


def _digest(command: Sequence[str], plan: bytes) -> str:
    """The digest of an engine's whole output for a plan."""
    done = subprocess.run([*command, "sim"], input=plan, capture_output=True, check=True)
    return hashlib.sha256(done.stdout).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
