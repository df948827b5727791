"""Compares the agent's bulk transfer with iperf3's between the first two hosts of an inventory:
python -m tools.bench.iperf3_hosts hosts.yaml.

The first host sends to the second, over the network as it is, with the MTU and the offloads that
the hosts have. Programs are started over ssh as in a study, which also copies the engine; iperf3
must be installed at both hosts. The rest is as in `tools.bench.iperf3`, except that the scheduler
of each host chooses the CPUs. Prints a table.

CPU time is the time that the shell of each session reports for its program (times, POSIX.1-2024),
user and system. The time of sshd and ssh is not in it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shlex
import subprocess
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import IO, Final

from rich.console import Console
from rich.table import Table

from netstudy.errors import NetstudyError
from netstudy.inventory import HostEntry, load_inventory
from netstudy.testbed.ssh.connect import Master, master, socket_folder
from netstudy.testbed.ssh.deploy import deploy, probe
from tools.bench.iperf3 import Pair, Side, compare, in_turns
from tools.bench.transfers import HEADINGS, Cell, Comparison

CONTROL: Final = "reno"
"""Every kernel allows it to every user."""
_TIMES: Final = re.compile(r"(\d+)m([\d.]+)s (\d+)m([\d.]+)s")
"""User and system time; `times` prints them for the shell, then for its children."""


class RemoteProcess:
    """A program at a host, a Program."""

    def __init__(self, logged_in: Master, command: Sequence[str]) -> None:
        """Starts the program."""
        self._said = f"{logged_in.host}: {shlex.join(command)}"
        self._popen = subprocess.Popen(
            logged_in.argv(f"{shlex.join(command)}; times >&2"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tell(self, line: str) -> None:
        """See Program.tell."""
        assert self._popen.stdin is not None
        self._popen.stdin.write(f"{line}\n")
        self._popen.stdin.flush()

    def lines(self) -> IO[str]:
        """See Program.lines."""
        assert self._popen.stdout is not None
        return self._popen.stdout

    def end(self) -> float:
        """See Program.end."""
        assert self._popen.stderr is not None
        errors = self._popen.stderr.read()
        self._popen.wait()
        found = _TIMES.findall(errors)
        if not found:
            raise SystemExit(f"{self._said} did not end: {errors.strip()}")
        user_min, user_s, system_min, system_s = map(float, found[-1])
        return 60 * (user_min + system_min) + user_s + system_s


async def _side(stack: AsyncExitStack, name: str, entry: HostEntry, socket: str) -> Side:
    logged_in = await stack.enter_async_context(master(name, entry.ssh, socket))
    engine = await deploy(logged_in, entry, await probe(logged_in, entry))
    # Sessions start in the home folder.
    path = engine.removeprefix("~/")
    return Side(entry.addresses[0], path, partial(RemoteProcess, logged_in))


async def measured(inventory: Path, rounds: int, bytes_: int) -> list[Comparison]:
    """Both programs between the first two hosts, with one stream and with several. Raises
    NetstudyError if a host cannot be used."""
    hosts = list(load_inventory(inventory).hosts.items())[:2]
    if len(hosts) < 2:
        raise SystemExit(f"{inventory} has one host; transfers need two")
    with socket_folder() as folder:
        async with AsyncExitStack() as stack:
            client, server = [
                await _side(stack, name, entry, f"{folder}/{number}")
                for number, (name, entry) in enumerate(hosts)
            ]
            pair = Pair(client, server, CONTROL)
            # Neither program sets MTU and offloads, which `table` leaves out.
            cells = [Cell(1500, streams, offloads=True) for streams in (1, 4)]
            return [compare(cell, rounds, bytes_, pair) for cell in cells]


def table(compared: Sequence[Comparison], manner: str) -> Table:
    """Throughput and CPU time per byte, and the ratios of the medians."""
    streams, quantities = slice(1, 2), slice(3, None)
    shown = Table(*HEADINGS[streams], *HEADINGS[quantities], caption=manner)
    for row in (one.row() for one in compared):
        shown.add_row(*row[streams], *row[quantities])
    return shown


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inventory", type=Path, metavar="HOSTS.YAML")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    arguments = parser.parse_args()
    bytes_ = int(arguments.gigabytes * 1e9)
    try:
        compared = asyncio.run(measured(arguments.inventory, arguments.rounds, bytes_))
    except NetstudyError as error:
        raise SystemExit(str(error)) from None
    how = in_turns(arguments.rounds, arguments.gigabytes, CONTROL)
    Console(width=140).print(table(compared, how))


if __name__ == "__main__":
    main()
