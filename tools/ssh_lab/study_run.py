"""Chooses the run of a study whose network a lab has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netstudy import wire
from netstudy.cli._prepare import Asked, prepare
from netstudy.errors import StudyError
from netstudy.study import load
from netstudy.testbed.workloads import traffic_of
from netstudy.testbed.workloads.base import DISK_FOLDER
from tools.ssh_lab.disks import DISK, RAM_DISK

_HOSTS, _NETNS = "hosts", "netns"


@dataclass(frozen=True)
class Choice:
    """Options that determine the run."""

    study: Path
    only: Sequence[str] = ()
    variant: str | None = None
    scale: str | None = None


@dataclass(frozen=True)
class Chosen:
    """A run whose network a lab can have."""

    run: wire.Run
    files: str | None
    """The folder of a host for files of the study; None: it has none."""


def run_with(choice: Choice, hosts: int) -> Chosen:
    """The first run with the largest network with this number of hosts, which has the interfaces
    and zones of all levels. Runs of later rounds count too. Raises StudyError if there is none."""
    runs = _possible(choice)
    found = [run for run in runs if len(run.network.hosts) == hosts]
    if not found:
        sizes = {len(run.network.hosts) for run in runs}
        there = ", ".join(map(str, sorted(sizes)))
        raise StudyError(f"no run of {choice.study} has {hosts} hosts; there are runs with {there}")
    largest = max(found, key=lambda run: (len(run.network.links), len(run.network.nodes)))
    return Chosen(largest, _files(found))


def _files(runs: Sequence[wire.Run]) -> str | None:
    """A host has one folder for files: on a disk if a level of the study asks for one."""
    needed = {name for run in runs for name in traffic_of(run.workload).folders(run.workload)}
    if not needed:
        return None
    return DISK if DISK_FOLDER in needed else RAM_DISK


def _possible(choice: Choice) -> Sequence[wire.Run]:
    """One run of each treatment that may be run. A growing factor may reach each of its levels."""
    asked = Asked(
        choice.study,
        only=choice.only,
        testbed=_NETNS,
        variant=_variant(choice),
        scale=_scale(choice),
    )
    return prepare(asked).planned.plan_of_one_each.runs


def _variant(choice: Choice) -> str | None:
    there = load(choice.study).testbeds
    return choice.variant or next((name for name in (_HOSTS, _NETNS) if name in there), None)


def _scale(choice: Choice) -> str | None:
    """That of the variant, or else that of the variant for namespaces: this machine has to carry
    the links of the lab."""
    there = load(choice.study).testbeds
    names = (_variant(choice), _NETNS)
    scales = [there[name].scale for name in names if name is not None and name in there]
    return choice.scale or next((str(one) for one in scales if one is not None), None)
