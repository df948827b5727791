"""Compares the agent as load generator with wrk: `make bench-http`.

The programs run in two network namespaces, joined by a veth pair, in a sandbox that leaves nothing
behind. One server is nginx, with a static page as large as a page of the brokerage. The other is
the brokerage (with SQLite on a RAM disk), with its home page. Each connection has one request in
flight. The agent logs in a user on each connection; wrk uses one session for all connections.

The two generators take turns, so that other load on the machine affects both; medians are compared.
The server stays on one CPU, the generators on another one. CPU time is all time that the kernel
charges to the generator (getrusage(2)). Prints a table, and in the last line all figures as one
JSON object. Fails if the agent makes fewer than 0.9 times as many requests as wrk in the same CPU
time (`--least`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from rich.console import Console
from rich.table import Table

from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.namespaces import find_program, within
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.netns.users import is_all_users
from netstudy.testbed.real import brokerage_wire, wire
from netstudy.wire import ClosedLoad, HttpRequest, Operation, UntilCount, UntilTime, to_json
from tools.bench import iperf3
from tools.bench.iperf3 import CLIENT, SERVER, Ends, Process
from tools.bench.transfers import Cell

FOLDER = Path("/run/nginx")
PORT = 8080
PAGE_BYTES = 9_000
"""The approximate size of a page of the brokerage."""
USERS = 1_000
"""Number of users who are registered at the brokerage."""
RATIO_MIN = 0.9
OURS, THEIRS = "agent", "wrk"
QUANTITIES = {"rate_per_s": "requests/s", "rate_per_cpu_s": "requests a CPU second"}


@dataclass(frozen=True)
class Page:
    """A page of a running server."""

    name: str
    cookie: str | None = None
    """If the page needs a user who is logged in: the session cookie of a user whose page has the
    median size."""


@dataclass(frozen=True)
class Case:
    """A page to request, and the number of connections."""

    page: Page
    connections: int

    @property
    def name(self) -> str:
        """The name of the case in the table."""
        return f"{self.page.name}, {self.connections} connections"


@dataclass(frozen=True)
class Turn:
    """The result of one generator in one round."""

    requests: int
    seconds: float
    cpu_s: float

    @property
    def rate_per_s(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    @property
    def rate_per_cpu_s(self) -> float:
        """Requests per second of the generator's CPU time."""
        return self.requests / self.cpu_s


def cases(page: Page) -> list[Case]:
    """All cases: each page with one connection, several and many."""
    return [Case(page, connections) for connections in (1, 16, 128)]


def _configuration() -> Path:
    path = FOLDER / "nginx.conf"
    (FOLDER / "html").mkdir(parents=True)
    (FOLDER / "html/home").write_bytes(b"x" * PAGE_BYTES)
    path.write_text(
        f"{nginx_user()}daemon off; master_process off; pid {FOLDER}/pid; error_log stderr;\n"
        "events { worker_connections 1024; }\n"
        f"http {{ {nginx_folders(FOLDER)}\n"
        "access_log off; default_type text/html; keepalive_requests 1000000000;\n"
        f"server {{ listen {SERVER}:{PORT}; root {FOLDER}/html; }} }}\n"
    )
    return path


def nginx_folders(within: Path) -> str:
    """Directives of nginx that move its folders to a place where this user may write."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return "".join(f"{kind}_temp_path {within}/{kind}; " for kind in kinds)


def nginx_user() -> str:
    """Directives that make nginx stay root in a sandbox with a single user id, where it cannot
    become `nobody`."""
    return "" if is_all_users() else "user root root; "


@contextmanager
def nginx(cpu: int) -> Iterator[Page]:
    """Runs nginx with the static page, which needs no log-in."""
    program = find_program("nginx") or "nginx"
    process = Process("server", cpu, [program, "-p", str(FOLDER), "-c", str(_configuration())])
    try:
        _wait_for("/home")
        yield Page("nginx")
    finally:
        process.terminate()


@contextmanager
def brokerage(cpu: int) -> Iterator[Page]:
    """Runs the brokerage; its home page is requested."""
    process = Process("server", cpu, [str(find_engine()), "brokerage"])
    plan = brokerage_wire.BrokeragePlan(
        run="bench",
        node="server",
        listen=wire.Endpoint(address=SERVER, port=PORT),
        database=brokerage_wire.SqliteDatabase(file="/run/brokerage.sqlite"),
        population=brokerage_wire.BrokeragePopulation(users=USERS, quotes=USERS, seed="bench"),
        time_limit_ms=3_600_000,
    )
    process.tell(to_json(plan))
    process.tell(to_json(brokerage_wire.LoadCommand()))
    for line in process.lines():
        if json.loads(line)["kind"] == "done":
            break
    try:
        yield Page("brokerage", _cookie_of_median_page())
    finally:
        process.tell(to_json(wire.StopCommand()))
        for _ in process.lines():
            pass
        process.end()


def _url(path: str) -> str:
    return f"http://{SERVER}:{PORT}{path}"


def _wait_for(path: str) -> None:
    with within("client"):
        for _ in range(100):
            try:
                with urlopen(_url(path), timeout=1):
                    return
            except OSError:
                time.sleep(0.1)
    raise SystemExit("the server does not answer")


def _cookie_of_median_page() -> str:
    """The session cookie of the user, out of several, whose home page has the median size."""
    pages: list[tuple[int, str]] = []
    with within("client"):
        for user in range(31):
            form = urlencode({"uid": f"uid:{user}", "passwd": "xxx"}).encode()
            with urlopen(_url("/login"), form, timeout=10) as said:
                cookie = said.headers["Set-Cookie"].split(";")[0]
            with urlopen(Request(_url("/home"), headers={"Cookie": cookie}), timeout=10) as said:
                pages.append((len(said.read()), cookie))
    return sorted(pages)[len(pages) // 2][1]


def ours(case: Case, seconds: int, cpu: int) -> Turn:
    """One turn of the agent, which logs in its users if the page needs a cookie."""
    home = HttpRequest(method="GET", path="/home")
    is_brokerage = case.page.cookie is not None
    work = wire.TransactionClient(
        target=wire.Endpoint(address=SERVER, port=PORT),
        local=CLIENT,
        host=f"{SERVER}:{PORT}",
        script="brokerage" if is_brokerage else "plain",
        mix=(
            Operation(
                name="home",
                share_ppm=1_000_000,
                elements_ppm=1_000_000,
                requests=() if is_brokerage else (home,),
            ),
        ),
        load=ClosedLoad(users=case.connections),
        deck=wire.Deck(first=0, step=1, users=USERS),
        quotes=1,
        statistics_every_ns=10**9,
        request_timeout_ns=10 * 10**9,
        # The same random numbers in each turn, so that turns differ only by the machine.
        seed="00" * 8,
        number=0,
        warmup=UntilCount(count=0),
        measure=UntilTime(ns=seconds * 10**9),
    )
    process = Process("client", cpu, [str(find_engine()), "agent"])
    plan = wire.AgentPlan(
        run="bench",
        node="client",
        token=iperf3.TOKEN,
        time_limit_ms=iperf3.TIME_LIMIT_S * 1000,
        connections=(),
        workload=work,
    )
    process.tell(to_json(plan))
    requests = 0
    for line in process.lines():
        match wire.AGENT_RECORD.validate_json(line):
            case wire.PhaseRecord(name="warm-up"):
                process.tell(to_json(wire.GoCommand()))
            case wire.PhaseRecord(name="measure"):
                process.tell(to_json(wire.StopCommand()))
            case wire.TransactionsRecord() as counted:
                requests = sum(counted.page_elements)
                if sum(counted.network_errors) + sum(counted.server_errors):
                    raise SystemExit(f"the agent saw errors: {counted}")
            case wire.ErrorRecord(message=message):
                raise SystemExit(message)
    return Turn(requests, seconds, process.end())


def theirs(case: Case, seconds: int, cpu: int) -> Turn:
    """wrk, in one thread."""
    command = [find_program("wrk") or "wrk", "-t1", f"-c{case.connections}", f"-d{seconds}s"]
    command += [] if case.page.cookie is None else ["-H", f"Cookie: {case.page.cookie}"]
    process = Process("client", cpu, [*command, _url("/home")])
    said = process.lines().read()
    return read_wrk(said, process.end())


def read_wrk(said: str, cpu_s: float) -> Turn:
    """The figures in the output of wrk."""
    found = re.search(r"(\d+) requests in ([\d.]+)(ms|s|m),", said)
    if found is None or "Non-2xx" in said or "Socket errors" in said:
        raise SystemExit(f"wrk says: {said}")
    second = {"ms": 1e-3, "s": 1.0, "m": 60.0}[found[3]]
    return Turn(int(found[1]), float(found[2]) * second, cpu_s)


def compare(case: Case, rounds: int, seconds: int, cpu: int) -> dict[str, list[Turn]]:
    """Measures both generators in each round, in alternating order."""
    programs = {OURS: ours, THEIRS: theirs}
    taken: dict[str, list[Turn]] = {name: [] for name in programs}
    for turn in range(rounds):
        for name in list(programs) if turn % 2 == 0 else list(reversed(programs)):
            taken[name].append(programs[name](case, seconds, cpu))
    return taken


def figures(taken: dict[str, list[Turn]], quantity: str) -> dict[str, float]:
    """The median of each program, and the agent's median divided by that of the other program."""
    medians = {
        name: median(getattr(turn, quantity) for turn in turns) for name, turns in taken.items()
    }
    return {**medians, "ratio": medians[OURS] / medians[THEIRS]}


def table(compared: dict[str, dict[str, list[Turn]]]) -> Table:
    """Requests per second and per second of CPU time, in each case."""
    shown = Table(
        "case",
        *(f"{head}, {who}" for head in QUANTITIES.values() for who in (OURS, THEIRS, "ratio")),
    )
    for name, taken in compared.items():
        cells = []
        for quantity in QUANTITIES:
            found = figures(taken, quantity)
            cells += [f"{found[OURS]:.0f}", f"{found[THEIRS]:.0f}", f"{found['ratio']:.2f}"]
        shown.add_row(name, *cells)
    return shown


def main() -> None:
    """Enter a sandbox, measure there, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="of a turn")
    parser.add_argument("--least", type=float, default=RATIO_MIN, help="ratio that it fails below")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for program, package in {"nginx": "nginx-light", "wrk": "wrk"}.items():
        if find_program(program) is None:
            raise SystemExit(f"{program} is not installed: sudo apt-get install {package}")
    if not arguments.inside:
        # The same program again: only a new process can be the first of a pid namespace.
        command = [sys.executable, "-m", "tools.bench.http", *sys.argv[1:], "--inside"]
        raise SystemExit(subprocess.run(sandbox_command(command)).returncode)
    enter()
    iperf3.make_network()
    iperf3.set_up(Cell(1500, 1, offloads=True))
    on: Ends = iperf3.ends(os.sched_getaffinity(0))
    compared = {}
    for serve in (nginx, brokerage):
        with serve(on.receiver) as page:
            for case in cases(page):
                compared[case.name] = compare(case, arguments.rounds, arguments.seconds, on.sender)
    Console(width=140).print(table(compared))
    found = {
        name: {quantity: figures(taken, quantity) for quantity in QUANTITIES}
        for name, taken in compared.items()
    }
    print(json.dumps(found))
    slow = [name for name, of in found.items() if of["rate_per_cpu_s"]["ratio"] < arguments.least]
    if slow:
        raise SystemExit(f"below {arguments.least:g} times wrk's requests: {', '.join(slow)}")


if __name__ == "__main__":
    main()
