"""Compares the agent's FTP with vsftpd and curl: `make bench-ftp`.

The programs run in two network namespaces, joined by a veth pair, in a sandbox that leaves nothing
behind. One server sends a file from a RAM disk to one client, or to five clients at once, which
discard the file.

- Servers: the agent's and vsftpd, both with the agent's client.
- Clients: the agent's and curl, both with the agent's server. curl does not look at the bytes of a
  file. So the agent's client is measured twice: without looking at them, and verifying each byte,
  as it does in studies.

The two programs take turns, so that other load on the machine affects both; medians are compared.
The server stays on one CPU, the clients on another one. CPU time is only that of the compared side.
For servers, it is the time of all their processes from the log-ins to the last byte; for clients,
all time that the kernel charges to them (getrusage(2)). Prints a table, and in the last line all
figures as one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from rich.console import Console
from rich.table import Table

from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.namespaces import find_program
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.real import wire
from netstudy.wire import UntilCount, to_json
from tools.bench import iperf3
from tools.bench.iperf3 import CLIENT, SERVER, Ends, Process
from tools.bench.transfers import Cell

OURS_FOLDER, THEIRS_FOLDER = Path("/run/ours"), Path("/run/theirs")
PORT = 4021
LOGIN = wire.FtpLogin(user="anonymous", password="bench")
FILES = 2
"""How often each client fetches the file."""
DataPath = Literal["copying", "sendfile"]


@dataclass(frozen=True)
class Case:
    """Which side is compared, the number of simultaneous clients, and how files are sent."""

    side: Literal["server", "client"]
    clients: int
    data_path: DataPath
    verifies: bool = False
    """Whether the agent's client verifies each byte."""

    @property
    def theirs(self) -> str:
        """The other program."""
        return "vsftpd" if self.side == "server" else "curl"

    @property
    def name(self) -> str:
        """In the table."""
        verifying = ", verifying" if self.verifies else ""
        return f"{self.side}, {self.clients} clients, {self.data_path}{verifying}"


@dataclass(frozen=True)
class Fetched:
    """The result of one program in one round."""

    bytes: int
    seconds: float
    cpu_s: float
    """Of the compared side."""

    @property
    def gbps(self) -> float:
        """Rate of the payload that arrived, in 10^9 bit/s."""
        return self.bytes * 8 / self.seconds / 1e9

    @property
    def cpu_ns_a_byte(self) -> float:
        """CPU time of the compared side."""
        return self.cpu_s / self.bytes * 1e9


def cases() -> list[Case]:
    """All cases: each side, with one client and with five, on both data paths."""
    paths: tuple[DataPath, ...] = ("copying", "sendfile")
    servers = [Case("server", clients, path) for clients in (1, 5) for path in paths]
    clients = [
        Case("client", clients, "sendfile", verifies)
        for verifies in (False, True)
        for clients in (1, 5)
    ]
    return [*servers, *clients]


def _agent(
    name: str, cpu: int, connections: Sequence[wire.ConnectionPlan], work: object
) -> Process:
    process = Process(name, cpu, [str(find_engine()), "agent"])
    plan = wire.AgentPlan.model_validate(
        {
            "run": "bench",
            "node": name,
            "token": iperf3.TOKEN,
            "time_limit_ms": iperf3.TIME_LIMIT_S * 1000,
            "socket": wire.SocketOptions(congestion_control=iperf3.CONGESTION_CONTROL),
            "connections": tuple(connections),
            "workload": work,
        }
    )
    process.tell(to_json(plan))
    return process


@dataclass
class OurServer:
    """The agent's server."""

    process: Process
    endpoint: wire.Endpoint

    @classmethod
    def start(cls, case: Case, size: int, cpu: int) -> OurServer:
        """The server makes its file before it listens."""
        accept = [wire.AcceptConnection(local=SERVER, peer=CLIENT)] * case.clients
        store = wire.FolderStore(folder=str(OURS_FOLDER), place="ram")
        work = wire.FtpServer(
            direction="get", size_bytes=size, store=store, data_path=case.data_path, login=LOGIN
        )
        process = _agent("server", cpu, accept, work)
        said = wire.AGENT_RECORD.validate_json(next(process.lines()))
        if not isinstance(said, wire.ReadyRecord):
            raise SystemExit(f"the server says: {said}")
        return cls(process, said.listening[0])

    def cpu_s(self) -> float:
        """Processor time so far."""
        self.process.tell(to_json(wire.SnapshotCommand(name="now")))
        for line in self.process.lines():
            said = wire.AGENT_RECORD.validate_json(line)
            if isinstance(said, wire.SnapshotRecord):
                return said.counters["process_cpu_ns"] / 1e9
        raise SystemExit("the server has ended")

    def end(self) -> None:
        """Stops it."""
        self.process.tell(to_json(wire.StopCommand()))
        for _ in self.process.lines():
            pass
        self.process.end()


def _config(data_path: DataPath) -> Path:
    settings = {
        "listen": "YES",
        "listen_address": SERVER,
        "listen_port": PORT,
        "background": "NO",
        "anonymous_enable": "YES",
        "anon_root": THEIRS_FOLDER,
        "ftp_username": "daemon",
        "secure_chroot_dir": "/run/empty",
        "seccomp_sandbox": "NO",
        "connect_from_port_20": "NO",
        "xferlog_enable": "NO",
        "use_sendfile": "YES" if data_path == "sendfile" else "NO",
    }
    path = Path(f"/run/vsftpd-{data_path}.conf")
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path


@contextmanager
def vsftpd(case: Case, cpu: int) -> Iterator[wire.Endpoint]:
    """Runs vsftpd while the block lasts."""
    process = Process(
        "server", cpu, [find_program("vsftpd") or "vsftpd", str(_config(case.data_path))]
    )
    time.sleep(0.5)
    try:
        yield wire.Endpoint(address=SERVER, port=PORT)
    finally:
        process.terminate()


def vsftpd_cpu_s() -> float:
    """CPU time used so far by vsftpd and the processes of its sessions (/proc/pid/schedstat)."""
    spent_ns = 0
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and (path / "comm").read_text().strip() == "vsftpd":
                spent_ns += int((path / "schedstat").read_text().split()[0])
        except OSError:  # it has just ended
            continue
    return spent_ns / 1e9


def our_client(
    case: Case,
    size: int,
    at: wire.Endpoint,
    cpu: int,
    *,
    server_cpu_s: Callable[[], float] | None = None,
) -> Fetched:
    """One turn with the agent's client, with a session for each client of the case. The CPU time is
    that of the client; with `server_cpu_s`, that of the server from the log-ins to the last
    byte."""
    opens = [wire.OpenConnection(local=CLIENT, peer=at, peer_number=n) for n in range(case.clients)]
    work = wire.FtpClient(
        direction="get",
        size_bytes=size,
        login=LOGIN,
        verify=case.verifies,
        warmup=UntilCount(count=0),
        measure=UntilCount(count=FILES),
    )
    process = _agent("client", cpu, opens, work)
    seconds, spent = 0.0, 0.0
    for line in process.lines():
        match wire.AGENT_RECORD.validate_json(line):
            case wire.PhaseRecord(name="warm-up"):
                # The sessions are logged in: log-ins are not part of the transfer's cost.
                spent -= server_cpu_s() if server_cpu_s else 0.0
                process.tell(to_json(wire.GoCommand()))
            case wire.PhaseRecord(name="measure"):
                spent += server_cpu_s() if server_cpu_s else 0.0
                process.tell(to_json(wire.StopCommand()))
            case wire.TransfersRecord(started_ns=started, ended_ns=ended):
                seconds = (max(ended) - min(started)) / 1e9
            case wire.ErrorRecord(message=message):
                raise SystemExit(message)
    own = process.end()
    return Fetched(FILES * size * case.clients, seconds, spent if server_cpu_s else own)


def curl(case: Case, size: int, at: wire.Endpoint, cpu: int) -> Fetched:
    """One turn with curl, with a process for each client of the case."""
    url = f"ftp://{LOGIN.user}:{LOGIN.password}@{at.address}:{at.port}/data"
    once = ["-o", "/dev/null", url]
    command = [find_program("curl") or "curl", "-sS", *(once * FILES)]
    began = time.monotonic()
    processes = [Process("client", cpu, command) for _ in range(case.clients)]
    for process in processes:
        for _ in process.lines():
            pass
    seconds = time.monotonic() - began
    return Fetched(FILES * size * case.clients, seconds, sum(one.end() for one in processes))


def ours(case: Case, size: int, on: Ends) -> Fetched:
    """One turn with the agent on the compared side."""
    server = OurServer.start(case, size, on.sender)
    spent = server.cpu_s if case.side == "server" else None
    fetched = our_client(case, size, server.endpoint, on.receiver, server_cpu_s=spent)
    server.end()
    return fetched


def theirs(case: Case, size: int, on: Ends) -> Fetched:
    """One turn with vsftpd or curl on the compared side."""
    if case.side == "client":
        server = OurServer.start(case, size, on.sender)
        fetched = curl(case, size, server.endpoint, on.receiver)
        server.end()
        return fetched
    with vsftpd(case, on.sender) as at:
        return our_client(case, size, at, on.receiver, server_cpu_s=vsftpd_cpu_s)


def compare(case: Case, rounds: int, size: int, on: Ends) -> dict[str, list[Fetched]]:
    """Measures both programs in each round, in alternating order."""
    programs = {"agent": ours, case.theirs: theirs}
    taken: dict[str, list[Fetched]] = {name: [] for name in programs}
    for turn in range(rounds):
        for name in list(programs) if turn % 2 == 0 else list(reversed(programs)):
            taken[name].append(programs[name](case, size, on))
    return taken


QUANTITIES = {"gbps": "Gbit/s", "cpu_ns_a_byte": "ns a byte"}


def figures(taken: dict[str, list[Fetched]], quantity: str) -> dict[str, float]:
    """The median of each program, and the agent's median divided by that of the other program."""
    medians = {
        name: median(getattr(one, quantity) for one in fetched) for name, fetched in taken.items()
    }
    agent, other = medians.values()
    return {**medians, "ratio": agent / other}


def table(compared: dict[str, dict[str, list[Fetched]]]) -> Table:
    """Throughput and CPU time per byte in each case."""
    shown = Table(
        "case", *(f"{h}, {w}" for h in QUANTITIES.values() for w in ("agent", "other", "ratio"))
    )
    for name, taken in compared.items():
        cells = [
            f"{value:.3f}" for quantity in QUANTITIES for value in figures(taken, quantity).values()
        ]
        shown.add_row(name, *cells)
    return shown


def main() -> None:
    """Enter a sandbox, measure there, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for program in ("vsftpd", "curl"):
        if find_program(program) is None:
            raise SystemExit(f"{program} is not installed: sudo apt-get install {program}")
    if not arguments.inside:
        # The same program again: only a new process can be the first of a pid namespace.
        command = [sys.executable, "-m", "tools.bench.ftp", *sys.argv[1:], "--inside"]
        raise SystemExit(subprocess.run(sandbox_command(command)).returncode)
    enter()
    iperf3.make_network()
    iperf3.set_up(Cell(1500, 1, offloads=True))
    for folder in (OURS_FOLDER, THEIRS_FOLDER, Path("/run/empty")):
        folder.mkdir()
    size = arguments.megabytes * 1_000_000
    with (THEIRS_FOLDER / "data").open("wb") as file:
        for _ in range(arguments.megabytes):
            file.write(os.urandom(1_000_000))
    on = iperf3.ends(os.sched_getaffinity(0))
    compared = {case.name: compare(case, arguments.rounds, size, on) for case in cases()}
    Console(width=140).print(table(compared))
    found = {
        name: {quantity: figures(taken, quantity) for quantity in QUANTITIES}
        for name, taken in compared.items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
