"""The options of `tools/lab`, as its first process inside the sandbox reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from netstudy import wire

HOSTS_MAX = 48


@dataclass(frozen=True)
class Asked:
    """The options of `tools/lab`, checked."""

    hosts: int
    command: tuple[str, ...]
    cwd: str
    """The folder in which COMMAND starts."""
    caller: tuple[int, int]
    """User and group id of the caller outside the lab."""
    as_user: bool
    """COMMAND runs as the lab's ordinary user, not as the caller."""
    roles: Mapping[str, int]
    """Role -> number of hosts; the hosts after these are servers."""
    clock_step_s: int
    """The monotonic clock of host number i is i times this ahead of the machine's."""
    disk_mb: int
    """Size of the file system that has a host's home folders."""
    faults: tuple[tuple[str, ...], ...]
    """Faults to make before COMMAND starts, each as the words of `fault`."""
    run: wire.Run | None = None
    """A run whose network the hosts have; None: a plain network."""
    files: str | None = None
    """The folder of each host for files of the study; None: the study has none."""
    tuned: bool = False
    """The hosts have the TCP settings of the run, as if their owner had made them."""


ASKED: TypeAdapter[Asked] = TypeAdapter(Asked)
