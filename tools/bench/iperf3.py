"""Holds the agent's bulk transfer against iperf3's: `make bench-iperf3`.

Two network namespaces with a veth pair between them, in a sandbox that leaves nothing behind. An
incast with one response a server is a bulk transfer: as many servers as iperf3 has streams, each
of them its share of the same number of bytes. The two take turns, so that whatever else the
machine does meets both; medians are compared.

Processor time is what the kernel charges to the processes of both ends, user and system
(getrusage(2)). Prints a table, and as the last line all figures as one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import IO

from rich.console import Console
from rich.table import Table

from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.namespaces import within
from netstudy.testbed.netns.offloads import set_offloads
from netstudy.testbed.netns.programs import find_program, run_batch
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.real import wire
from netstudy.wire import to_json

CLIENT = IPv4Address("10.77.0.1")
SERVER = IPv4Address("10.77.0.2")
CONGESTION_CONTROL = "cubic"
TIME_LIMIT_S = 120
TOKEN = "00" * 16  # a secret of nobody: the sandbox has no other network


@dataclass(frozen=True)
class Cell:
    """One size of the transfer."""

    mtu_bytes: int
    streams: int
    offloads: bool
    """Whether the interfaces take segments of up to 64 KiB and leave checksums out."""


@dataclass(frozen=True)
class Transfer:
    """What one transfer gave."""

    bytes: int
    seconds: float
    cpu_s: float
    """User and system time of all processes."""

    @property
    def gbps(self) -> float:
        """Payload that arrived, in 10^9 bit/s."""
        return self.bytes * 8 / self.seconds / 1e9

    @property
    def cpu_ns_a_byte(self) -> float:
        """Of both ends together."""
        return self.cpu_s / self.bytes * 1e9


Measure = Callable[[Cell, int], Transfer]


def cells() -> list[Cell]:
    """Both frame sizes, one stream and several, with and without offloads."""
    sizes = [(mtu, streams) for mtu in (1500, 9000) for streams in (1, 4)]
    return [Cell(*size, offloads) for offloads in (True, False) for size in sizes]


def make_network() -> None:
    """Namespaces `client` and `server` with a pair of interfaces between them."""
    ends = {"client": CLIENT, "server": SERVER}
    lines = [f"netns add {name}" for name in ends]
    lines.append("link add eth0 netns client type veth peer name eth0 netns server")
    for name, address in ends.items():
        lines += [f"-n {name} address add {address}/24 dev eth0", f"-n {name} link set lo up"]
    for line in lines:
        _ip(line)


def set_up(cell: Cell) -> None:
    """The interfaces as the cell wants them."""
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


class Process:
    """A program in a namespace, with pipes to it."""

    def __init__(self, namespace: str, command: Sequence[str]) -> None:
        with within(namespace):
            self._popen = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )

    def tell(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self._popen.stdin is not None
        self._popen.stdin.write(f"{line}\n")
        self._popen.stdin.flush()

    def lines(self) -> IO[str]:
        """What it prints, as it comes."""
        assert self._popen.stdout is not None
        return self._popen.stdout

    def end(self) -> float:
        """Waits for its end; the processor time that it took."""
        _, status, usage = os.wait4(self._popen.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            raise SystemExit(f"{self._popen.args!r} ended with exit code {code}")
        self._popen.returncode = code
        return usage.ru_utime + usage.ru_stime


def iperf3(cell: Cell, bytes_: int) -> Transfer:
    """iperf3, from the client to the server."""
    server = Process("server", ["iperf3", "-s", "-1", "-B", str(SERVER), "--forceflush"])
    next(line for line in server.lines() if "listening" in line)
    options = ["-n", str(bytes_), "-P", str(cell.streams), "-C", CONGESTION_CONTROL, "-J"]
    client = Process("client", ["iperf3", "-c", str(SERVER), *options])
    said = json.loads("".join(client.lines()))["end"]["sum_received"]
    for _ in server.lines():
        pass
    return Transfer(said["bytes"], said["seconds"], client.end() + server.end())


def agent(cell: Cell, bytes_: int) -> Transfer:
    """Agents: each server its share, in one response."""
    share = bytes_ // cell.streams
    roles = [
        wire.IncastServerRole(
            address=SERVER,
            client=CLIENT,
            request_bytes=64,
            response_bytes=share,
            number=number,
            seed="00" * 8,
        )
        for number in range(1, cell.streams + 1)
    ]
    options = wire.SocketOptions(congestion_control=CONGESTION_CONTROL, zero_copy=cell.offloads)
    servers = [_agent("server", f"server-{role.number}", role, options) for role in roles]
    endpoints = [wire.Endpoint(address=SERVER, port=_port(server)) for server in servers]
    client = _agent(
        "client",
        "client",
        wire.IncastClientRole(
            address=CLIENT,
            servers=tuple(endpoints),
            request_bytes=64,
            response_bytes=(share,) * cell.streams,
            iterations=1,
        ),
        options,
    )
    seconds = 0.0
    for line in client.lines():
        match wire.AGENT_RECORD.validate_json(line):
            case wire.PhaseRecord(name="warmed-up"):
                client.tell(to_json(wire.GoCommand()))
            case wire.PhaseRecord(name="measured"):
                for process in (client, *servers):
                    process.tell(to_json(wire.StopCommand()))
            case wire.IterationsRecord(started_ns=(started,), ended_ns=(ended,)):
                seconds = (ended - started) / 1e9
            case wire.ErrorRecord(message=message):
                raise SystemExit(message)
    for server in servers:
        for _ in server.lines():
            pass
    cpu_s = sum(process.end() for process in (client, *servers))
    return Transfer(share * cell.streams, seconds, cpu_s)


def _agent(namespace: str, node: str, role: wire.AgentRole, options: wire.SocketOptions) -> Process:
    process = Process(namespace, [str(find_engine()), "agent"])
    plan = wire.AgentPlan(
        run="bench",
        node=node,
        token=TOKEN,
        time_limit_ms=TIME_LIMIT_S * 1000,
        socket=options,
        role=role,
    )
    process.tell(to_json(plan))
    return process


def _port(server: Process) -> int:
    record = wire.AGENT_RECORD.validate_json(next(server.lines()))
    if not isinstance(record, wire.ReadyRecord) or record.port is None:
        raise SystemExit(f"a server says: {record}")
    return record.port


PROGRAMS: dict[str, Measure] = {"agent": agent, "iperf3": iperf3}


@dataclass(frozen=True)
class Comparison:
    """Medians over the rounds of one cell, by program."""

    cell: Cell
    gbps: dict[str, float]
    cpu_ns_a_byte: dict[str, float]


def compare(cell: Cell, rounds: int, bytes_: int) -> Comparison:
    """Takes turns, and changes who is first."""
    set_up(cell)
    taken: dict[str, list[Transfer]] = {name: [] for name in PROGRAMS}
    for turn in range(rounds):
        names = list(PROGRAMS) if turn % 2 == 0 else list(reversed(PROGRAMS))
        for name in names:
            taken[name].append(PROGRAMS[name](cell, bytes_))
    median = statistics.median
    return Comparison(
        cell,
        {name: median(one.gbps for one in several) for name, several in taken.items()},
        {name: median(one.cpu_ns_a_byte for one in several) for name, several in taken.items()},
    )


def table(compared: Sequence[Comparison]) -> Table:
    """Throughput and processor time a byte, and the ratio of ours to iperf3's."""
    shown = Table("MTU", "streams", "offloads", *PROGRAMS, "ratio", *PROGRAMS, "ratio")
    shown.title = "Gbit/s; then ns of processor time a byte"
    for one in compared:
        row = [str(one.cell.mtu_bytes), str(one.cell.streams), "on" if one.cell.offloads else "off"]
        for figures, digits in ((one.gbps, 1), (one.cpu_ns_a_byte, 3)):
            row += [f"{figures[name]:.{digits}f}" for name in PROGRAMS]
            row.append(f"{figures['agent'] / figures['iperf3']:.2f}")
        shown.add_row(*row)
    return shown


def json_line(compared: Sequence[Comparison]) -> str:
    """All figures as one JSON object."""
    return json.dumps(
        {
            f"mtu {one.cell.mtu_bytes}, streams {one.cell.streams}, "
            f"offloads {'on' if one.cell.offloads else 'off'}": {
                "gbps": one.gbps,
                "cpu_ns_a_byte": one.cpu_ns_a_byte,
            }
            for one in compared
        }
    )


def main() -> None:
    """Go into a sandbox; there, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--gigabytes", type=float, default=4.0)
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
    compared = [compare(cell, arguments.rounds, bytes_) for cell in cells()]
    Console(width=100).print(table(compared))
    print(json_line(compared))


if __name__ == "__main__":
    main()
