"""`netstudy doctor`: checks this machine, or the hosts of an inventory, for everything that
netstudy needs, and gives advice for each missing part."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _options as options
from netstudy.cli._prepare import Asked
from netstudy.cli._terminal import print_json, show
from netstudy.errors import StudyError, TestbedError

if TYPE_CHECKING:
    from netstudy.testbed.ssh.readiness import HostAspect

NAME = "doctor"
EPILOG = "Example: netstudy doctor --json, or: netstudy doctor --testbed hosts.yaml"

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


def command(
    study: Annotated[
        Path | None,
        typer.Argument(
            metavar="[STUDY]", help="With --testbed: check the hosts for this study's runs."
        ),
    ] = None,
    testbed: Annotated[
        str | None,
        typer.Option("--testbed", metavar="FILE", help="Check the hosts of this inventory."),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="With --testbed: send trial traffic, about a second for each pair of hosts, and "
            "print the rates.",
        ),
    ] = False,
    results: options.Results = options.RESULTS,
    json: options.Json = False,
) -> None:
    """Check the engine, the machine and the programs that netstudy uses.

    Programs that only the testbed in namespaces needs are optional. With --testbed hosts.yaml,
    netstudy logs in to the hosts instead, copies its engine there, and checks each host and each
    path between two hosts. Only with --probe do hosts send each other trial traffic.

    Exit code 2 when something is missing that every study needs, or the given study.
    """
    if testbed is None:
        if study is not None:
            raise StudyError("a study is checked on hosts: add --testbed hosts.yaml")
        if probe:
            raise StudyError("--probe: trial traffic flows between hosts: add --testbed hosts.yaml")
        _check_here(results, json=json)
    else:
        asked = None if study is None else Asked(study, testbed=testbed)
        _check_hosts(testbed, asked, probe=probe, json=json)


def _check_hosts(testbed: str, asked: Asked | None, *, probe: bool, json: bool) -> None:
    from netstudy.cli._hosts import aspects_of_hosts

    found = aspects_of_hosts(testbed, asked, probe=probe)
    if json:
        print_json([asdict(one) for one in found])
    else:
        _tell_hosts(found)
    well = all(one.ok or not one.needed for one in found)
    raise typer.Exit(0 if well else StudyError.exit_code)


def _tell_hosts(found: list[HostAspect]) -> None:
    """A table for each host, then one for each path."""
    for host in dict.fromkeys(one.host for one in found):
        show(host)
        for one in found:
            if one.host == host:
                _tell(Finding(one.name, one.ok, one.found, one.needed, one.advice))


def _check_here(results: Path, *, json: bool) -> None:
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
    show(f"{mark:9}{finding.name:14}{finding.found}")
    if not finding.ok and finding.advice:
        show(f"{'':23}{finding.advice}")


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
