"""A private PostgreSQL server in the namespace of a run's host.

Each run has a new cluster in a folder of its own. The server listens at the address of its host,
where only one other host may connect, and at a socket in the folder. The server refuses to run as
root. Root starts it as the user `nobody`. An ordinary user, who is root inside the sandbox, starts
it in a nested user namespace, in which the same user has an id other than root's. The server has an
IPC namespace of its own, so that no shared memory remains when it is killed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netstudy.testbed.netns.namespaces import MORE_PLACES, find_program, in_namespace
from netstudy.testbed.netns.users import NOBODY, as_ordinary_user, is_all_users
from netstudy.testbed.real.processes import NodeError, PlainProcess, RunProcesses

PORT: Final = 5432
USER: Final = "netstudy"
NAME: Final = "postgres"
"""The database that initdb makes."""

_START_S = 60.0
_STEP_S = 0.05
_VERSIONS = Path("/usr/lib/postgresql")
"""Folder in which Debian and its descendants install all versions of the server."""
_SPARE_CONNECTIONS = 10
"""Connections allowed in addition to the application's: the server reserves three for its
superuser."""


@dataclass(frozen=True)
class Database:
    """The files of a run's server, and the host that may connect to it."""

    node: str
    """The host, which is also the name of its namespace."""
    address: str
    client: str
    """The only address, apart from the server's own host, that may connect."""
    folder: Path
    """An existing folder that only this server uses."""
    connections: int
    """Number of connections that the application may open."""

    @property
    def data(self) -> Path:
        """The folder of the cluster."""
        return self.folder / "data"

    @property
    def name(self) -> str:
        """The name of the server's process in records and errors."""
        return f"{self.node} (database)"


def server_programs() -> Path | None:
    """The folder with the programs of the newest installed server; None: no server is installed."""
    versions = (one for one in _VERSIONS.glob("*/bin") if (one / "initdb").exists())
    by_number = sorted(versions, key=lambda one: (len(one.parent.name), one.parent.name))
    if by_number:
        return by_number[-1]
    found = find_program("initdb")
    return Path(found).resolve().parent if found else None


async def start_database(
    database: Database, processes: RunProcesses, prepare: Callable[[], None]
) -> PlainProcess:
    """Make the cluster and start its server. `prepare` is called in the server's process before it
    starts. Raises NodeError with the last lines of the server's log."""
    programs = server_programs()
    assert programs is not None, "unsupported() refuses a machine without it"
    if is_all_users():
        shutil.chown(database.folder, NOBODY, NOBODY)
    await _initialised(database, programs, processes, prepare)
    (database.data / "pg_hba.conf").write_text(_admission(database))
    command = [*_in_place(database), str(programs / "postgres"), "-D", str(database.data)]
    for name, value in _settings(database).items():
        command += ["-c", f"{name}={value}"]
    server = await processes.start_plain(
        database.name,
        command,
        folder=str(database.folder),
        environment=_environment(),
        prepare=prepare,
        end_by=signal.SIGQUIT,  # SIGQUIT: stop at once, since the cluster is no longer needed
    )
    await _ready(database, server)
    return server


async def _initialised(
    database: Database, programs: Path, processes: RunProcesses, prepare: Callable[[], None]
) -> None:
    making = await processes.start_plain(
        f"{database.node} (initdb)",
        [
            *_in_place(database),
            str(programs / "initdb"),
            f"--pgdata={database.data}",
            f"--username={USER}",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ],
        folder=str(database.folder),
        environment=_environment(),
        prepare=prepare,
        end_by=signal.SIGTERM,
    )
    await making.finished()


def _in_place(database: Database) -> list[str]:
    return [*in_namespace(database.node), *as_ordinary_user()]


def _environment() -> Mapping[str, str]:
    """The environment without the caller's settings of PostgreSQL (PGDATA, PGOPTIONS)."""
    return {
        "PATH": os.pathsep.join([os.environ.get("PATH", os.defpath), *MORE_PLACES]),
        "LC_ALL": "C",
    }


def _admission(database: Database) -> str:
    """The rules for who may connect without a password: processes of this run, through the socket
    (only they can reach its folder), and one host."""
    return f"local all {USER} trust\nhost all {USER} {database.client}/32 trust\n"


def _settings(database: Database) -> dict[str, str]:
    return {
        "listen_addresses": database.address,
        "port": str(PORT),
        "unix_socket_directories": str(database.folder),
        "unix_socket_permissions": "0700",
        "max_connections": str(database.connections + _SPARE_CONNECTIONS),
        "shared_memory_type": "mmap",
        "dynamic_shared_memory_type": "mmap",
    }


async def _ready(database: Database, server: PlainProcess) -> None:
    """Wait until the server's pid file says that the server is ready, as pg_ctl does."""
    try:
        async with asyncio.timeout(_START_S):
            while not _says_ready(database.data / "postmaster.pid"):
                if server.process.returncode is not None:
                    await server.say_why()
                await asyncio.sleep(_STEP_S)
    except TimeoutError:
        raise NodeError(database.name, f"is not ready after {_START_S:.0f} s") from None


def _says_ready(path: Path) -> bool:
    """Line 8 of the pid file is the server's state (miscadmin.h: LOCK_FILE_LINE_PM_STATUS)."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return False
    return len(lines) > 7 and lines[7].strip() == "ready"


async def checkpoint(database: Database) -> None:
    """Make the server write all changes that are still in memory to its files. Raises NodeError."""
    programs = server_programs()
    assert programs is not None, "the server runs"
    asked = await asyncio.create_subprocess_exec(
        str(programs / "psql"),
        f"--host={database.folder}",
        f"--port={PORT}",
        f"--username={USER}",
        f"--dbname={NAME}",
        "--no-psqlrc",
        "--quiet",
        "--command=checkpoint",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=dict(_environment()),
    )
    _, said = await asked.communicate()
    if asked.returncode != 0:
        text = said.decode("utf-8", "replace").strip()
        raise NodeError(database.name, f"cannot write a checkpoint: {text}")
