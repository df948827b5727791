"""The application of a run in its hosts' namespaces: how it is started, controlled and stopped.

Database and application server are processes next to the agents. They run in the control groups and
on the CPUs of their hosts, and end with the run.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import TypeVar

from netstudy import wire
from netstudy.testbed.netns.control_groups import join_groups
from netstudy.testbed.netns.database import (
    NAME,
    PORT,
    USER,
    Database,
    checkpoint,
    start_database,
)
from netstudy.testbed.netns.namespaces import end_processes, in_namespace, within
from netstudy.testbed.netns.resources import Resources
from netstudy.testbed.netns.sandbox import outside
from netstudy.testbed.real import brokerage_wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.application import ApplicationEvidence, RunApplication, Served
from netstudy.testbed.real.processes import (
    NodeError,
    NodeProcess,
    PlainProcess,
    Process,
    RunProcesses,
    answered,
    local_channel,
    ready,
)
from netstudy.testbed.real.secrets import password_of
from netstudy.testbed.workloads.base import DISK_FOLDER, RAM_FOLDER
from netstudy.wire_model import Wire

_WORK_S = 600.0
"""Time limit of a command to the application. Loading a population takes seconds, or minutes if the
disk is throttled."""
_READY_S = 30.0
_STEP_S = 0.05
_ANSWER_S = 2.0
_PORT = 8080
"""Port of the application server."""
AnswerT = TypeVar("AnswerT", bound=Wire)


async def start_application(
    resources: Resources,
    groups: Mapping[str, Sequence[Path]],
    processes: RunProcesses,
    time_limit_ms: int,
) -> RunApplication | None:
    """Start the application on the run's hosts; None if the run has no application. Raises
    NodeError."""
    served = resources.served
    if served is None:
        return None
    hosts = _Hosts(resources, served, groups)
    match served.application:
        case wire.Program() as asked:
            return await _Program.start(asked, hosts, processes)
        case wire.Brokerage() as asked:
            return await _Brokerage.start(asked, hosts, processes, time_limit_ms)


@dataclass(frozen=True)
class _Hosts:
    """Where the processes of an application run."""

    resources: Resources
    served: Served
    groups: Mapping[str, Sequence[Path]]
    """Host -> the files that add a process to its control groups."""

    def toward(self, host: str, other: str) -> str:
        """The address that a host uses to reach another one."""
        layout = self.resources.layout
        own, _ = layout.routes.reached(host, other) or (host, other)
        return layout.address(own).ip

    @property
    def listening(self) -> IPv4Address:
        """The address on which the application listens: the one that all generators use, or all
        addresses (a wildcard) if generators use different ones."""
        found = {
            self.toward(self.served.host, one) for one in self.resources.run.workload.roles.client
        }
        return IPv4Address(found.pop() if len(found) == 1 else 0)

    def ready(self, host: str) -> Callable[[], None]:
        """A function that puts a new process into a host's control groups and on its CPUs."""
        files, cpus = tuple(self.groups.get(host, ())), self.resources.cpus_of(host)

        def act() -> None:
            join_groups(files)
            os.sched_setaffinity(0, cpus)

        return act

    def folder(self, host: str, name: str, medium: str, processes: RunProcesses) -> Path:
        """Makes a folder for the processes of a host, which is removed when the processes have
        ended."""
        parent = Path(RAM_FOLDER if medium == "ram" else DISK_FOLDER)
        parent.chmod(0o711)
        found = parent / name
        found.mkdir(mode=0o700)
        processes.at_end(lambda: shutil.rmtree(found, ignore_errors=True))
        processes.at_end(lambda: end_processes([host]))
        return found


@dataclass
class _Program(RunApplication):
    """A program of the user as the application."""

    asked: wire.Program
    hosts: _Hosts
    process: PlainProcess

    @classmethod
    async def start(cls, asked: wire.Program, hosts: _Hosts, processes: RunProcesses) -> _Program:
        host = hosts.served.host
        folder = hosts.folder(host, "application", "ram", processes)
        environment = {
            **os.environ,
            "NETSTUDY_ADDRESS": str(hosts.listening),
            "NETSTUDY_PORT": str(asked.port),
            "NETSTUDY_FOLDER": str(folder),
        }
        process = await processes.start_plain(
            f"{host} (application)",
            [*in_namespace(host), *asked.start],
            folder=str(folder),
            environment=environment,
            prepare=hosts.ready(host),
            end_by=signal.SIGTERM,
        )
        started = cls(asked, hosts, process)
        await started._answers()
        return started

    @property
    def processes(self) -> list[Process]:  # type: ignore[override]
        return [self.process]

    @property
    def port(self) -> int:
        return self.asked.port

    async def prepare(self, kind: wire.PhaseKind) -> None:
        """See RunApplication.prepare: the program prepares its own data."""

    async def snapshot(self, name: str) -> None:
        """See RunApplication.snapshot: a program of the user has no counters to read."""

    async def finish(self) -> ApplicationEvidence:
        """See RunApplication.finish."""
        return ApplicationEvidence(self.hosts.served.host)

    async def _answers(self) -> None:
        """Wait until the program answers with success at its ready path."""
        last = "nothing listens"
        try:
            async with asyncio.timeout(_READY_S):
                while (last := await self._try()) != "":
                    if self.process.process.returncode is not None:
                        await self.process.say_why()
                    await asyncio.sleep(_STEP_S)
        except TimeoutError:
            where = f"http://{self.hosts.listening}:{self.port}{self.asked.ready_path}"
            message = f"{where} does not answer with success after {_READY_S:.0f} s: {last}"
            raise NodeError(self.process.node, message) from None

    async def _try(self) -> str:
        """Send one request, inside the host. Returns the reason why the program is not ready yet;
        empty if it is ready."""
        with within(self.hosts.served.host):
            asking = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        asking.setblocking(False)
        where = (str(self.hosts.listening), self.port)
        request = f"GET {self.asked.ready_path} HTTP/1.0\r\nHost: {where[0]}\r\n\r\n"
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_ANSWER_S):
                await loop.sock_connect(asking, where)
                await loop.sock_sendall(asking, request.encode())
                answer = await loop.sock_recv(asking, 64)
        except (OSError, TimeoutError) as error:
            return getattr(error, "strerror", None) or "no answer"
        finally:
            asking.close()
        words = answer.decode("latin-1").split("\r\n")[0].split()
        ok = len(words) > 1 and words[0].startswith("HTTP/") and words[1][:1] in ("2", "3")
        return "" if ok else f"it answers {' '.join(words)!r}"


@dataclass
class _Brokerage(RunApplication):
    """The engine's brokerage with its database."""

    hosts: _Hosts
    server: NodeProcess[brokerage_wire.BrokerageRecord]
    listening: agent_wire.Endpoint
    database: Database | None
    database_server: PlainProcess | None
    done: list[brokerage_wire.BrokerageDone] = field(default_factory=list)
    snapshots: dict[str, brokerage_wire.BrokerageSnapshot] = field(default_factory=dict)

    @classmethod
    async def start(
        cls, asked: wire.Brokerage, hosts: _Hosts, processes: RunProcesses, time_limit_ms: int
    ) -> _Brokerage:
        resources, host = hosts.resources, hosts.served.host
        database = server = None
        if resources.database_engine == "postgresql" and asked.existing is None:
            database = _database(asked, hosts, processes)
            server = await start_database(database, processes, hosts.ready(database.node))
        plan = brokerage_wire.BrokeragePlan(
            run=resources.run.id,
            node=f"{host} (application)",
            listen=agent_wire.Endpoint(address=hosts.listening, port=_PORT),
            database=_reached(asked, database, hosts, processes),
            pool_connections=asked.pool_connections,
            worker_threads=asked.threads or len(resources.cpus_of(host)),
            population=brokerage_wire.BrokeragePopulation(
                users=asked.users, quotes=asked.quotes, seed=resources.run.seed
            ),
            settings=brokerage_wire.BrokerageSettings(page_images=asked.page_images),
            # The data are loaded before the time limit of the run begins.
            time_limit_ms=time_limit_ms + round(1e3 * _WORK_S),
        )
        command = [*in_namespace(host), str(resources.engine), "brokerage"]
        channel = await local_channel(plan.node, command, hosts.ready(host))
        application = await processes.start(
            plan.node, channel, plan, brokerage_wire.BROKERAGE_RECORD
        )
        said = await ready(application, brokerage_wire.BrokerageReady)
        return cls(hosts, application, said.listening, database, server)

    @property
    def processes(self) -> list[Process]:  # type: ignore[override]
        return [self.server, *([self.database_server] if self.database_server else [])]

    @property
    def port(self) -> int:
        return self.listening.port

    async def prepare(self, kind: wire.PhaseKind) -> None:
        match kind:
            case "load":
                await self._command(brokerage_wire.LoadCommand())
            case "configure":
                if self.database is not None:
                    await checkpoint(self.database)
            case "gather-statistics":
                await self._command(brokerage_wire.GatherStatisticsCommand())
            case "reset":
                await self._command(brokerage_wire.ResetCommand())

    async def snapshot(self, name: str) -> None:
        await self.server.send(agent_wire.SnapshotCommand(name=name))
        self.snapshots[name] = await answered(
            self.server,
            self.server.expect(
                brokerage_wire.BrokerageSnapshot, lambda snapshot: snapshot.name == name
            ),
        )

    async def finish(self) -> ApplicationEvidence:
        await self.server.send(brokerage_wire.CheckCommand())
        books = await self._answer(brokerage_wire.BrokerageBooks, "check")
        await self.server.send(agent_wire.StopCommand())
        await answered(self.server, self.server.finish(agent_wire.EndRecord))
        return ApplicationEvidence(self.hosts.served.host, tuple(self.done), self.snapshots, books)

    async def _command(
        self,
        command: brokerage_wire.LoadCommand
        | brokerage_wire.GatherStatisticsCommand
        | brokerage_wire.ResetCommand,
    ) -> None:
        await self.server.send(command)
        self.done.append(await self._answer(brokerage_wire.BrokerageDone, command.command))

    async def _answer(self, kind: type[AnswerT], command: str) -> AnswerT:
        """Wait for the answer to a command. Raises NodeError when the command failed."""

        def is_answer(record: Wire) -> bool:
            if isinstance(record, brokerage_wire.BrokerageFailed):
                return record.command == command
            return isinstance(record, kind)

        try:
            async with asyncio.timeout(_WORK_S):
                record = await self.server.expect(Wire, is_answer)
        except TimeoutError:
            message = f"has not ended {command!r} after {_WORK_S:.0f} s"
            raise NodeError(self.server.node, message) from None
        if isinstance(record, kind):
            return record
        assert isinstance(record, brokerage_wire.BrokerageFailed), "no other record is an answer"
        raise NodeError(self.server.node, f"{command} failed: {record.message}")


def _database(asked: wire.Brokerage, hosts: _Hosts, processes: RunProcesses) -> Database:
    """The database server to start, on the database's host if there is one, else on the
    application's host."""
    host = hosts.served.host
    node = hosts.served.database_host or host
    return Database(
        node=node,
        address=hosts.toward(node, host),
        client=hosts.toward(host, node),
        folder=hosts.folder(node, "database", asked.data, processes),
        connections=asked.pool_connections,
    )


def _reached(
    asked: wire.Brokerage, database: Database | None, hosts: _Hosts, processes: RunProcesses
) -> brokerage_wire.SqliteDatabase | brokerage_wire.PostgresqlDatabase:
    """The database part of the application's plan: where it is, and how to reach it."""
    if (there := asked.existing) is not None:
        return brokerage_wire.PostgresqlDatabase(
            host=str(outside(Path(there.host))),
            port=there.port,
            user=there.user,
            database=there.database,
            password=password_of(there),
        )
    if database is None:
        folder = hosts.folder(hosts.served.host, "database", asked.data, processes)
        return brokerage_wire.SqliteDatabase(file=str(folder / "brokerage.sqlite"))
    return brokerage_wire.PostgresqlDatabase(
        host=database.address, port=PORT, user=USER, database=NAME
    )
