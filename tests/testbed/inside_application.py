"""Databases and programs of a run inside a sandbox: `inside_application.py CASE` prints its outcome
as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.database import (
    NAME,
    PORT,
    USER,
    Database,
    checkpoint,
    server_programs,
    start_database,
)
from netstudy.testbed.netns.namespaces import end_processes, in_namespace, program
from netstudy.testbed.netns.network import network
from netstudy.testbed.netns.sandbox import enter, file_folders
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.processes import NodeError, PlainProcess, RunProcesses, Transcript
from netstudy.testbed.workloads.base import RAM_FOLDER
from netstudy.wire import to_json
from tests.testbed.networks import layout, star

_HOSTS = ("client", "server-1", "server-2")


def database() -> Any:
    """A database on one host is asked by another one, which alone may ask, and by a third."""
    return asyncio.run(_with_database(_asked))


async def _asked(server: PlainProcess, place: Database) -> dict[str, Any]:
    asked = {host: _query(host, place.address, "select 6 * 7") for host in _HOSTS[::2]}
    await checkpoint(place)
    with Path(f"/proc/{server.process.pid}/status").open() as status:
        ids = next(line for line in status if line.startswith("Uid:")).split()[1:]
    return {
        "asked": asked,
        "is_root": ids[0] == "0" and _maps_root(server.process.pid),
        "listening": _listening(place.node),
        "files": sorted({path.parts[3] for path in place.folder.glob("*")}),
    }


def killed() -> Any:
    """A database whose postmaster is killed: its last words, and what is left of its processes."""
    return asyncio.run(_with_database(_killed))


async def _killed(server: PlainProcess, place: Database) -> dict[str, Any]:
    os.kill(server.process.pid, signal.SIGKILL)
    try:
        await server.say_why()
    except NodeError as error:
        end_processes(_HOSTS)
        return {"why": str(error)}


def refused() -> Any:
    """A database that cannot listen says why."""
    try:
        asyncio.run(_with_database(_asked, address="192.0.2.1"))
    except NodeError as error:
        return {"why": str(error)}


_BURN = "import os, sys, time\nwhile time.process_time() < {seconds}: pass\n"
_WITH_A_CHILD = (
    "import subprocess, sys\n"
    "subprocess.run([sys.executable, '-c', sys.argv[1]])\n"
    "exec(sys.argv[1])\n"
    "print('spent', flush=True)\n"
    "sys.stdin.read()\n"
)


def processors() -> Any:
    """What an observer counts of the CPU time of a program beside it: of one that goes on after
    0.2 s, of its child that has ended after 0.2 s, and nothing of another host's."""
    plan = layout(star(2))
    with network(plan):
        counted = [_counted("server-1", _observer("server-1"))]
        busy = [_spending(host, 0.2) for host in ("server-1", "server-2")]
        counted.append(_counted("server-1", _observer("server-1")))
        for process in busy:
            process.kill()
            process.wait()
        return {"counted_ns": counted}


def _spending(host: str, seconds: float) -> subprocess.Popen[str]:
    """A program that has spent the time twice, once in a child that has ended, and goes on."""
    process = subprocess.Popen(
        [
            *in_namespace(host),
            sys.executable,
            "-c",
            _WITH_A_CHILD,
            _BURN.format(seconds=seconds),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "spent\n"
    return process


def _observer(host: str) -> agent_wire.AgentPlan:
    return agent_wire.AgentPlan(
        run="0",
        node=host,
        token="0" * 32,
        time_limit_ms=60_000,
        instruments=agent_wire.InstrumentPlan(interfaces=("eth0",), namespace_cpu=True),
        connections=(),
        workload=agent_wire.Observer(),
    )


def _counted(host: str, plan: agent_wire.AgentPlan) -> int:
    """The counter that an agent reads in a host."""
    commands = [plan, agent_wire.SnapshotCommand(name="now"), agent_wire.StopCommand()]
    done = subprocess.run(
        [*in_namespace(host), str(find_engine()), "agent"],
        input="".join(f"{to_json(command)}\n" for command in commands),
        capture_output=True,
        text=True,
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    (snapshot,) = [one for one in records if one["kind"] == "snapshot"]
    return int(snapshot["counters"]["namespace_cpu_ns"])


async def _with_database(
    act: Callable[[PlainProcess, Database], Any], address: str | None = None
) -> dict[str, Any]:
    plan, transcript = layout(star(2)), Transcript()
    with network(plan), file_folders([RAM_FOLDER], None):
        folder = Path(RAM_FOLDER) / "database"
        Path(RAM_FOLDER).chmod(0o711)
        folder.mkdir(mode=0o700)
        place = Database(
            node="server-1",
            address=address or plan.address("server-1").ip,
            client=plan.address("client").ip,
            folder=folder,
            connections=5,
        )
        async with AsyncExitStack() as stack:
            processes = RunProcesses(stack, transcript)
            server = await start_database(place, processes, lambda: None)
            found = await act(server, place)
        end_processes(_HOSTS)
        return {**found, "left": _inside(), "said": sorted(transcript), "shared": _shared_memory()}


def _query(host: str, address: str, text: str) -> str:
    programs = server_programs()
    assert programs is not None
    words = [f"--host={address}", f"--port={PORT}", f"--username={USER}", f"--dbname={NAME}"]
    done = subprocess.run(
        [*in_namespace(host), str(programs / "psql"), *words, "--no-psqlrc", "-Atc", text],
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or done.stderr.strip()


def _maps_root(pid: int) -> bool:
    """Whether the process is root in its own user namespace, as programs see themselves."""
    first = Path(f"/proc/{pid}/uid_map").read_text().split()
    return first[0] == "0"


def _listening(host: str) -> list[str]:
    shown = subprocess.run(
        [*in_namespace(host), program("ss"), "-Hltn"], capture_output=True, text=True
    )
    return [line.split()[3] for line in shown.stdout.splitlines()]


def _inside() -> list[str]:
    """Programs that are still in a namespace of the run, zombies left out."""
    own = Path("/proc/self/ns/net").stat().st_ino
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                elsewhere = (path / "ns/net").stat().st_ino != own
                state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if elsewhere and state != "Z":
                found.append((path / "comm").read_text().strip())
    return found


def _shared_memory() -> int:
    """Segments of System V in this IPC namespace that are netstudy's user's."""
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return len(lines)


if __name__ == "__main__":
    enter()
    json.dump(globals()[sys.argv[1]](), sys.stdout)
