"""Compares the agent's bulk transfer with iperf3's: `make bench-iperf3`.

The programs run in two network namespaces, joined by a veth pair, in a sandbox that leaves nothing
behind. One process of a program sends to another process of it, with one connection per stream.
Both programs send the same number of bytes, divided equally among the streams. The two programs
take turns, so that other load on the machine affects both; medians are compared. For both programs,
sending processes stay on one CPU and receiving processes on another: otherwise the rate would
depend on where the scheduler puts them.

CPU time is the time that the kernel charges to the processes of both ends, user and system
(getrusage(2)). Prints a table, and in the last line all figures as one JSON object; --write also
puts the table into docs/concepts/real-traffic.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from typing import IO, Protocol

from rich.console import Console

from netstudy.store.environment import host
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.namespaces import find_program, run_batch, within
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.netns.tuning import set_offloads
from netstudy.testbed.real import wire
from netstudy.wire import UntilCount, to_json
from tools.bench.transfers import OURS, THEIRS, Cell, Comparison, Transfer, json_line, table, write

CLIENT = IPv4Address("10.77.0.1")
SERVER = IPv4Address("10.77.0.2")
CONGESTION_CONTROL = "cubic"
TIME_LIMIT_S = 120
TOKEN = "00" * 16  # need not be secret, since the sandbox is connected to no other network


@dataclass(frozen=True)
class Ends:
    """The CPUs to which the processes of a transfer are pinned."""

    sender: int
    receiver: int


class Program(Protocol):
    """A program that was started, with pipes for its input and output."""

    def tell(self, line: str) -> None:
        """Write a line to the standard input of the program."""
        ...

    def lines(self) -> IO[str]:
        """The output of the program, line by line as it arrives."""
        ...

    def end(self) -> float:
        """Wait until the program has ended; returns its CPU time."""
        ...


@dataclass(frozen=True)
class Side:
    """A host at one end of the transfers."""

    address: IPv4Address
    engine: str
    """The path of the engine there."""
    start: Callable[[Sequence[str]], Program]
    """Starts a command there."""


@dataclass(frozen=True)
class Pair:
    """The hosts between which data are transferred."""

    client: Side
    """Sends."""
    server: Side
    """Receives."""
    congestion_control: str


Measure = Callable[[Cell, int, Pair], Transfer]


def ends(allowed: Iterable[int]) -> Ends:
    """The first two of the allowed CPUs; if there is only one, both ends share it."""
    first, *rest = sorted(allowed)
    return Ends(first, rest[0] if rest else first)


def cells() -> list[Cell]:
    """All cells: each frame size, with one stream and several, with and without offloads."""
    sizes = [(mtu, streams) for mtu in (1500, 9000) for streams in (1, 4)]
    return [Cell(*size, offloads) for offloads in (True, False) for size in sizes]


def make_network() -> None:
    """Makes the namespaces `client` and `server`, joined by a pair of interfaces."""
    ends = {"client": CLIENT, "server": SERVER}
    lines = [f"netns add {name}" for name in ends]
    lines.append("link add eth0 netns client type veth peer name eth0 netns server")
    for name, address in ends.items():
        lines += [f"-n {name} address add {address}/24 dev eth0", f"-n {name} link set lo up"]
    for line in lines:
        _ip(line)


def set_up(cell: Cell) -> None:
    """Sets up the interfaces as the cell requires."""
    for name in ("client", "server"):
        _ip(f"-n {name} link set eth0 mtu {cell.mtu_bytes} up")
        with within(name):
            set_offloads("eth0", dict.fromkeys(("tx", "tso", "gso", "gro"), cell.offloads))


def _ip(line: str) -> None:
    words = line.split()
    if words[0] == "-n":
        subprocess.run([find_program("ip") or "ip", *words], check=True)
    else:
        run_batch("ip", [line])


@contextmanager
def staying_on(cpu: int) -> Iterator[None]:
    """Pins processes that are started in the block to a CPU. They inherit the pinning from this
    process; setting it between fork and exec would add to the CPU time of the program.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Process:
    """A program in a namespace, pinned to a CPU, with pipes for its input and output."""

    def __init__(self, namespace: str, cpu: int, command: Sequence[str]) -> None:
        with within(namespace), staying_on(cpu):
            self._popen = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )

    def tell(self, line: str) -> None:
        """Write a line to the standard input of the program."""
        assert self._popen.stdin is not None
        self._popen.stdin.write(f"{line}\n")
        self._popen.stdin.flush()

    def lines(self) -> IO[str]:
        """The output of the program, line by line as it arrives."""
        assert self._popen.stdout is not None
        return self._popen.stdout

    def terminate(self) -> None:
        """Ends a program that never ends by itself, and waits until it has ended."""
        with self._popen:
            self._popen.terminate()

    def end(self) -> float:
        """Wait until the program has ended; returns its CPU time."""
        _, status, usage = os.wait4(self._popen.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            raise SystemExit(f"{self._popen.args!r} ended with exit code {code}")
        self._popen.returncode = code
        return usage.ru_utime + usage.ru_stime


def namespaces(on: Ends) -> Pair:
    """The two namespaces of the sandbox."""
    engine = str(find_engine())
    return Pair(
        Side(CLIENT, engine, partial(Process, "client", on.sender)),
        Side(SERVER, engine, partial(Process, "server", on.receiver)),
        CONGESTION_CONTROL,
    )


def iperf3(cell: Cell, bytes_: int, between: Pair) -> Transfer:
    """One transfer from the client to the server by iperf3."""
    address = str(between.server.address)
    server = between.server.start(["iperf3", "-s", "-1", "-B", address, "--forceflush"])
    next(line for line in server.lines() if "listening" in line)
    options = ["-n", str(bytes_), "-P", str(cell.streams), "-C", between.congestion_control, "-J"]
    client = between.client.start(["iperf3", "-c", address, *options])
    said = json.loads("".join(client.lines()))["end"]["sum_received"]
    for _ in server.lines():
        pass
    return Transfer(said["bytes"], said["seconds"], client.end() + server.end())


def agent(cell: Cell, bytes_: int, between: Pair) -> Transfer:
    """One transfer from the client to the server by agents."""
    share = bytes_ // cell.streams
    size = wire.FixedSize(bytes=share)
    here, there = between.client.address, between.server.address
    options = wire.SocketOptions(
        congestion_control=between.congestion_control, zero_copy=cell.offloads
    )
    server = _agent(
        between.server,
        "server",
        options,
        (wire.AcceptConnection(local=there, peer=here),) * cell.streams,
        wire.TransferServer(direction="put", size=size),
    )
    endpoint = _listening(server)
    client = _agent(
        between.client,
        "client",
        options,
        tuple(
            wire.OpenConnection(local=here, peer=endpoint, peer_number=number)
            for number in range(cell.streams)
        ),
        wire.TransferClient(
            direction="put", size=size, warmup=UntilCount(count=0), measure=UntilCount(count=1)
        ),
    )
    seconds = 0.0
    for line in client.lines():
        match wire.AGENT_RECORD.validate_json(line):
            case wire.PhaseRecord(name="warm-up"):
                client.tell(to_json(wire.GoCommand()))
            case wire.PhaseRecord(name="measure"):
                client.tell(to_json(wire.StopCommand()))
            case wire.TransfersRecord(started_ns=started, ended_ns=ended):
                seconds = (max(ended) - min(started)) / 1e9
            case wire.ErrorRecord(message=message):
                raise SystemExit(message)
    # The server is stopped only after the client has ended, which would otherwise report a broken
    # connection.
    server.tell(to_json(wire.StopCommand()))
    for _ in server.lines():
        pass
    return Transfer(share * cell.streams, seconds, client.end() + server.end())


def _agent(
    side: Side,
    node: str,
    options: wire.SocketOptions,
    connections: tuple[wire.ConnectionPlan, ...],
    workload: wire.AgentWorkload,
) -> Program:
    process = side.start([side.engine, "agent"])
    plan = wire.AgentPlan(
        run="bench",
        node=node,
        token=TOKEN,
        time_limit_ms=TIME_LIMIT_S * 1000,
        socket=options,
        connections=connections,
        workload=workload,
    )
    process.tell(to_json(plan))
    return process


def _listening(server: Program) -> wire.Endpoint:
    record = wire.AGENT_RECORD.validate_json(next(server.lines()))
    if not isinstance(record, wire.ReadyRecord):
        raise SystemExit(f"a server says: {record}")
    return record.listening[0]


PROGRAMS: dict[str, Measure] = {OURS: agent, THEIRS: iperf3}


def compare(cell: Cell, rounds: int, bytes_: int, between: Pair) -> Comparison:
    """Measures both programs in each round, in alternating order."""
    taken: dict[str, list[Transfer]] = {name: [] for name in PROGRAMS}
    for turn in range(rounds):
        names = list(PROGRAMS) if turn % 2 == 0 else list(reversed(PROGRAMS))
        for name in names:
            taken[name].append(PROGRAMS[name](cell, bytes_, between))
    return Comparison(cell, taken)


def in_turns(rounds: int, gigabytes: float, congestion_control: str) -> str:
    """Says how the figures were measured."""
    said = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=True)
    return (
        f"Medians of {rounds} rounds of {gigabytes:g} GB in turns, with the lowest and the "
        f"highest; iperf3 {said.stdout.split()[1]}, {congestion_control.upper()} for both"
    )


def manner(rounds: int, gigabytes: float, on: Ends) -> str:
    """Says how and on which machine the figures were measured in namespaces."""
    machine = host()
    apart = "one CPU, the receiver on another one"
    return (
        f"Measured on {machine['cores']} CPUs ({machine['cpu']}, {machine['kernel']}), the "
        f"sender on {apart if on.sender != on.receiver else 'the CPU of the receiver'} with "
        f"either program. {in_turns(rounds, gigabytes, CONGESTION_CONTROL)}"
    )


def main() -> None:
    """Enter a sandbox, measure there, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--write", action="store_true", help="put the figures into the page")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if find_program("iperf3") is None:
        raise SystemExit("iperf3 is not installed: sudo apt-get install iperf3")
    if not arguments.inside:
        command = [sys.executable, "-m", "tools.bench.iperf3", *sys.argv[1:], "--inside"]
        raise SystemExit(subprocess.run(sandbox_command(command)).returncode)
    enter()
    make_network()
    bytes_ = int(arguments.gigabytes * 1e9)
    on = ends(os.sched_getaffinity(0))
    compared = []
    for cell in cells():
        set_up(cell)
        compared.append(compare(cell, arguments.rounds, bytes_, namespaces(on)))
    how = manner(arguments.rounds, arguments.gigabytes, on)
    Console(width=140).print(table(compared, how))
    if arguments.write:
        write(compared, how)
    print(json_line(compared))


if __name__ == "__main__":
    main()
