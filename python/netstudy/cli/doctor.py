"""`netstudy doctor`: checks this machine for everything that netstudy needs, and says how to
install missing parts."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from netstudy.cli import _options as options
from netstudy.cli._terminal import print_json, show
from netstudy.errors import StudyError, TestbedError

NAME = "doctor"
EPILOG = "Example: netstudy doctor --json"

_FREE_BYTES_MIN = 100_000_000
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    name: str
    ok: bool
    found: str
    needed: bool = True
    """Whether every study needs it."""
    advice: str | None = None
    """How to fix it."""


def command(results: options.Results = options.RESULTS, json: options.Json = False) -> None:
    """Check the engine, the machine and the programs that netstudy uses.

    Programs that only the testbed in namespaces needs are optional.

    Exit code 2 when something is missing that every study needs.
    """
    findings = [
        _engine(),
        _schemas(),
        _python(),
        _processors(),
        _memory(),
        _disk(results),
        _browser(),
    ]
    findings += _namespaces()
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            _tell(finding)
    well = all(finding.ok or not finding.needed for finding in findings)
    raise typer.Exit(0 if well else StudyError.exit_code)


def _tell(finding: Finding) -> None:
    mark = "ok" if finding.ok else "missing" if finding.needed else "optional"
    show(f"{mark:9}{finding.name:12}{finding.found}")
    if not finding.ok and finding.advice:
        show(f"{'':21}{finding.advice}")


def _engine() -> Finding:
    from netstudy.testbed.engine import engine_version, find_engine

    try:
        engine = find_engine()
        version = engine_version(engine)
    except TestbedError as error:
        return Finding("engine", False, str(error), advice="make build")
    return Finding("engine", True, f"{version} at {engine}")


def _schemas() -> Finding:
    from netstudy.study.schema import schema_folder

    return Finding("schemas", True, f"{schema_folder()}, for editors")


def _python() -> Finding:
    from netstudy.store.environment import host

    return Finding("python", True, f"{host()['python']} at {sys.executable}")


def _processors() -> Finding:
    from netstudy.store.environment import cores, cpu_name

    return Finding("CPUs", True, f"{cores()} x {cpu_name() or 'unknown'}")


def _memory() -> Finding:
    from netstudy.store.environment import memory_bytes

    return Finding("memory", True, f"{memory_bytes() / 2**30:.1f} GiB")


def _disk(results: Path) -> Finding:
    where = next(
        path for path in (results.absolute(), *results.absolute().parents) if path.exists()
    )
    free = shutil.disk_usage(where).free
    found = f"{free / 1e9:.1f} GB free for {results}"
    advice = "free some space, or choose another folder with --results"
    return Finding("disk", free >= _FREE_BYTES_MIN, found, advice=advice)


def _browser() -> Finding:
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    advice = "only needed by the tests: sudo apt-get install chromium"
    return Finding("chromium", found is not None, found or "not found", False, advice)


def _namespaces() -> list[Finding]:
    """One finding for each thing that the testbed in namespaces needs."""
    from netstudy.testbed.netns.readiness import aspects

    return [
        Finding(aspect.name, aspect.ok, aspect.found, False, aspect.advice) for aspect in aspects()
    ]
