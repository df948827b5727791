"""A run in namespaces: its layout, and the CPUs and quotas of its hosts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path

from netstudy import wire
from netstudy.testbed.netns.control_groups import DiskLimit, Limits, disk_of
from netstudy.testbed.netns.layout import Layout
from netstudy.testbed.real.application import Served
from netstudy.testbed.workloads import served_by
from netstudy.testbed.workloads.base import DISK_FOLDER


@dataclass(frozen=True)
class CpuPinning:
    """The CPUs of a run's processes: all hosts share one, so that frames stay in order, and the
    switch has another, so that its clock does not wait for them. None: not pinned."""

    hosts: int | None
    switch: int | None


def cpu_pinning(allowed: Iterable[int]) -> CpuPinning:
    """Pins to the first two of the allowed CPUs; if only one is allowed, nothing is pinned."""
    first, *rest = sorted(allowed)
    return CpuPinning(first, rest[0]) if rest else CpuPinning(None, None)


def disk_limit(device: str, disk: wire.Disk) -> DiskLimit:
    """The limit on the machine's disk that makes it as slow as the host's disk: its rate, and at
    most one request per seek time."""
    operations = max(1_000_000_000 // disk.access_ns, 1) if disk.access_ns else None
    return DiskLimit(device, disk.disk_rate_bps, operations)


def whole_cpus(group: wire.Group) -> int | None:
    """The number of CPUs that a host asks for; None: the host gives no number, or has a quota
    instead."""
    return None if group.cpu is None or group.cpu_quota_pct is not None else group.cpu.cpus


@dataclass(frozen=True)
class Resources:
    """A run, and its hosts in namespaces with their shares of this machine."""

    run: wire.Run
    layout: Layout
    engine: Path
    pinning: CpuPinning
    allowed: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))
    """The CPUs that this program may use."""
    database_engine: str | None = None
    """The database engine of the application, if the application supports several."""

    @cached_property
    def served(self) -> Served | None:
        """The application of the run and its hosts; None: only agents run."""
        return served_by(self.run)

    @cached_property
    def limits(self) -> dict[str, Limits]:
        """Host -> limits of all its processes together, zones included."""
        return {
            host.machine: Limits(
                cpu_pct=host.group.cpu_quota_pct,
                memory_bytes=host.group.memory_bytes if self._serves(host.machine) else None,
                disk=self._throttle(host.machine, host.group),
            )
            for host in self.layout.hosts
        }

    def _serves(self, host: str) -> bool:
        return self.served is not None and host in self.served.hosts

    def _throttle(self, host: str, group: wire.Group) -> DiskLimit | None:
        """The limit for the disk that has the database's files, if the host's profile gives the
        disk's speed."""
        on_disk = self.served is not None and self.served.data_host == host
        if not on_disk or group.disk is None or not Path(DISK_FOLDER).is_dir():
            return None
        device = disk_of(Path(DISK_FOLDER))
        return None if device is None else disk_limit(device, group.disk)

    @property
    def quotas(self) -> dict[str, float]:
        """Host -> percent of one CPU for all its processes, zones included."""
        shares = {host.machine: host.group.cpu_quota_pct for host in self.layout.hosts}
        return {node: share for node, share in shares.items() if share is not None}

    @property
    def cpus(self) -> dict[str, float]:
        """Host or zone -> number of CPUs that its processes may use, by pinning and quota."""
        found = {}
        for host in self.layout.hosts:
            most, share = float(len(self.cpus_of(host.node))), self.quotas.get(host.machine)
            found[host.node] = most if share is None else min(most, share / 100)
        return found

    def cpus_of(self, node: str) -> frozenset[int]:
        """The CPUs that the processes of a host or zone are pinned to. A host that runs a part of
        an application has the number of CPUs that it asks for, or all CPUs; all other hosts share
        one CPU."""
        if self._serves(node):
            return self._serving[node]
        one = self.pinning.hosts
        return frozenset(self.allowed if one is None else (one,))

    @cached_property
    def _serving(self) -> dict[str, frozenset[int]]:
        """The CPUs of the hosts that run an application. They are assigned from the last CPU
        downwards, one host after the other, so that the CPU of the agents is assigned last."""
        assert self.served is not None, "asked for hosts that serve"
        found, free = {}, cycle(sorted(self.allowed, reverse=True))
        for node in self.served.hosts:
            wanted = whole_cpus(self.layout.host_of(node).group)
            most = len(self.allowed)
            found[node] = frozenset(islice(free, min(wanted or most, most)))
        return found
