"""Chooses the run of a study whose network a lab has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.study import load

_HOSTS, _NETNS = "hosts", "netns"


@dataclass(frozen=True)
class Choice:
    """Options that determine the run."""

    study: Path
    only: Sequence[str] = ()
    variant: str | None = None
    scale: str | None = None


def run_with(choice: Choice, hosts: int) -> wire.Run:
    """The first of the study's runs with the largest network with this number of hosts:
    it has the interfaces and zones of all levels. Raises StudyError if there is none."""
    plan = _plan(choice)
    found = [run for run in plan.runs if len(run.network.hosts) == hosts]
    if not found:
        sizes = {len(run.network.hosts) for run in plan.runs}
        there = ", ".join(map(str, sorted(sizes)))
        raise StudyError(f"no run of {choice.study} has {hosts} hosts; there are runs with {there}")
    return max(found, key=lambda run: (len(run.network.links), len(run.network.nodes)))


def _plan(choice: Choice) -> wire.Plan:
    """The plan that `netstudy plan` prints."""
    options = [f"--only={one}" for one in choice.only]
    options += [f"--{name}={value}" for name, value in _variant(choice).items()]
    command = [sys.executable, "-m", "netstudy", "plan", str(choice.study), "--testbed=netns"]
    done = subprocess.run([*command, "--json", *options], capture_output=True, text=True)
    if done.returncode != 0:
        raise StudyError(done.stderr.strip())
    return wire.Plan.model_validate_json(done.stdout)


def _variant(choice: Choice) -> dict[str, str]:
    """The study's variant for hosts, at the scale of its variant for namespaces: the links of the
    lab have to be carried by this machine."""
    there = load(choice.study).testbeds
    variant = choice.variant or next((name for name in (_HOSTS, _NETNS) if name in there), None)
    scales = [there[name].scale for name in (variant, _NETNS) if name is not None and name in there]
    scale = choice.scale or next((str(one) for one in scales if one is not None), None)
    found = {"variant": variant, "scale": scale}
    return {name: value for name, value in found.items() if value is not None}
