"""Limits of this machine for the application of a run: its database, its CPUs, its disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.testbed.netns.control_groups import disk_of
from netstudy.testbed.netns.database import server_programs
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.resources import whole_cpus
from netstudy.testbed.real.application import Served
from netstudy.testbed.real.secrets import password_of
from netstudy.testbed.workloads import served_by

_DISKS = Path("/var/tmp")
"""Files of an application go below this folder if there is no folder for captures. The results may
be on another disk."""


def imposed_on(served: Served) -> Iterator[tuple[str, str]]:
    """Pairs of a host and a part of its profile that takes effect on this machine."""
    for host in served.hosts:
        yield host, "cpu"
    if served.data_host is not None:
        yield served.data_host, "disk"


def database_engine(run: wire.Run, kernel: Kernel) -> Literal["postgresql", "sqlite"] | None:
    """The database engine of a run's application: the one that the study names, or SQLite if this
    machine cannot start a PostgreSQL server as an ordinary user."""
    served = served_by(run)
    if served is None or not isinstance(served.application, wire.Brokerage):
        return None
    asked = served.application
    return asked.database if kernel.other_users or asked.existing else "sqlite"


def application_refusals(run: wire.Run, served: Served, kernel: Kernel) -> Iterator[str]:
    """Parts of an application that this machine does not support, one sentence each."""
    zones = {zone.name for zone in run.network.zones}
    for host in served.hosts:
        if host in zones:
            yield f"{host} is a zone: an application and its database are on hosts here."
            return
    yield from _programs(run, served, kernel)
    for host in served.hosts:
        yield from _cpus(run.network, host)
        if _group(run.network, host).memory_bytes is not None:
            yield from _memory(host, kernel)
    if served.data_host is not None:
        yield from _disk(_group(run.network, served.data_host), kernel)
    if run.probe is not None:
        yield "An application answers only HTTP, so a probe cannot run with it: leave it out."


def _programs(run: wire.Run, served: Served, kernel: Kernel) -> Iterator[str]:
    asked = served.application
    if isinstance(asked, wire.Program):
        if shutil.which(asked.start[0]) is None:
            yield f"There is no program {asked.start[0]!r} here, which the application starts."
    elif asked.existing is not None:
        yield from _existing(asked.existing)
    elif database_engine(run, kernel) == "postgresql" and server_programs() is None:
        yield (
            "There is no server of PostgreSQL here: sudo apt-get install postgresql, or write "
            "engine: sqlite."
        )


def _existing(there: wire.ExistingDatabase) -> Iterator[str]:
    """Checks that an existing database is reached by a Unix socket: hosts in namespaces cannot
    reach any address of the machine, but they can open the socket, which is a file."""
    if not there.host.startswith("/"):
        yield (
            f"Hosts in namespaces do not reach {there.host}: name the folder of the server's Unix "
            "socket in dsn, ?host=/run/postgresql."
        )
        return
    try:
        if not (Path(there.host) / f".s.PGSQL.{there.port}").is_socket():
            yield f"There is no server of PostgreSQL with a socket {there.port} in {there.host}."
        password_of(there)
    except TestbedError as error:
        yield f"{str(error)[:1].upper()}{str(error)[1:]}."
    except OSError as error:
        yield f"{there.host} cannot be looked into: {error.strerror}."


def _cpus(network: wire.Network, host: str) -> Iterator[str]:
    wanted, there = whole_cpus(_group(network, host)), len(os.sched_getaffinity(0))
    if wanted is not None and wanted > there:
        yield (
            f"Host {host} asks for {wanted} CPUs, and this machine has {there}: ask for fewer, or "
            "for a share of one by cpu_quota, in the study's variant for netns."
        )


def _memory(host: str, kernel: Kernel) -> Iterator[str]:
    if "memory" not in kernel.control_groups:
        yield (
            f"The memory of host {host} is limited by control groups, which this user may not make "
            "here: run as root, or leave memory out in the study's variant for netns."
        )


def _disk(group: wire.Group, kernel: Kernel) -> Iterator[str]:
    if group.disk is None:
        return
    if "io" not in kernel.control_groups:
        yield (
            f"The disk of {group.name} is throttled by control groups, which this user may not "
            "make here: run as root, or leave its disk out."
        )
    elif disk_of(_DISKS) is None:
        yield f"The disk of {group.name} cannot be throttled: {_DISKS} is on no disk of its own."


def application_notes(run: wire.Run, served: Served, kernel: Kernel) -> Iterator[str]:
    """Differences from the study that do not stop a run, one sentence each."""
    asked = served.application
    if isinstance(asked, wire.Brokerage) and (there := asked.existing) is not None:
        yield (
            f"The data are in the database {there.database} of a PostgreSQL server that was there "
            f"before ({there.host}, role {there.user}): its settings, its place and its CPU time "
            "are not the run's, and what the application asks of it crosses no link of the study."
        )
    elif isinstance(asked, wire.Brokerage) and database_engine(run, kernel) != asked.database:
        yield (
            "The data are in SQLite inside of the application, and not in PostgreSQL: its server "
            "refuses to be root's, and this user may have no other one here."
        )
    for host in served.hosts:
        group = _group(run.network, host)
        if group.cpu_quota_pct is not None:
            yield (
                f"The CPUs of {host} are a share of this machine's: {group.cpu_quota_pct:g} % of "
                "one CPU for all of its processes, by a quota."
            )


def _group(network: wire.Network, host: str) -> wire.Group:
    node = network.node(host)
    assert not isinstance(node, wire.Switch), "an application is on a host"
    return network.group(node.group)
