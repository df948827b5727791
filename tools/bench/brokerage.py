"""Compares the brokerage with nginx, and measures the cost of a home page: `make bench-brokerage`.

wrk requests one page over connections that stay open. First, a page of the brokerage that needs no
database is compared with a file of the same bytes from nginx. Then the brokerage's home page is
measured with SQLite and with PostgreSQL. All servers run at once and take turns, so that other load
on the machine affects all of them; medians are compared. Each server has one worker; servers and
databases share one CPU, wrk has another one. CPU time per request is the time that the kernel
charges to all processes of the server while wrk runs (/proc/pid/task/*/schedstat), divided by the
number of answered requests. Everything happens on the loopback interface of a sandbox. Prints a
table, and in the last line all figures as one JSON object.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.namespaces import find_program
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.netns.users import NOBODY, as_ordinary_user, is_all_users
from netstudy.testbed.real import brokerage_wire as wire
from netstudy.testbed.real.wire import Endpoint
from netstudy.wire import to_json
from netstudy.wire_model import Wire
from tools.bench.http import nginx_folders, nginx_user
from tools.bench.iperf3 import ends, staying_on

ADDRESS = IPv4Address("127.0.0.1")
NGINX_PORT = 8081
FOLDER = Path("/run/bench")
CONNECTIONS = 32
NGINX, STATIC = "nginx, a file", "brokerage, no database"
HOME_SQLITE, HOME_POSTGRESQL = "brokerage, home, SQLite", "brokerage, home, PostgreSQL"


@dataclass(frozen=True)
class Asked:
    """The result of one turn of wrk."""

    requests: int
    seconds: float
    cpu_s: float
    """CPU time of the server's processes."""
    database_cpu_s: float
    """CPU time of the database's own processes; the time of an embedded database is part of
    `cpu_s`."""

    @property
    def requests_per_s(self) -> float:
        """Answered requests."""
        return self.requests / self.seconds

    @property
    def cpu_us(self) -> float:
        """CPU time of the server per request."""
        return self.cpu_s / self.requests * 1e6

    @property
    def database_cpu_us(self) -> float:
        """CPU time of the database per request."""
        return self.database_cpu_s / self.requests * 1e6


@dataclass(frozen=True)
class Target:
    """A page to request."""

    name: str
    url: str
    pid: int
    database_pid: int | None = None
    cookie: str | None = None


def family_cpu_s(pid: int) -> float:
    """CPU time so far of all threads of a process and its children."""
    spent_ns = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            if pid in (parent, int(path.parent.name)):
                for task in (path.parent / "task").iterdir():
                    spent_ns += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
    return spent_ns / 1e9


def requests_of(said: str) -> tuple[int, float]:
    """The number of requests and the seconds in wrk's report. Raises SystemExit if some requests
    were not answered."""
    found = re.search(r"(\d+) requests in ([\d.]+)s", said)
    if found is None or "Socket errors" in said or "Non-2xx" in said:
        raise SystemExit(f"wrk says: {said}")
    return int(found[1]), float(found[2])


def ask(target: Target, seconds: int, cpu: int) -> Asked:
    """One turn of wrk."""
    command = [find_program("wrk") or "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s"]
    if target.cookie:
        command += ["-H", f"Cookie: {target.cookie}"]
    pids = [target.pid, target.database_pid]
    before = [family_cpu_s(pid) if pid else 0.0 for pid in pids]
    with staying_on(cpu):
        said = subprocess.run(
            [*command, target.url], capture_output=True, text=True, check=True
        ).stdout
    after = [family_cpu_s(pid) if pid else 0.0 for pid in pids]
    cpu_s, database_cpu_s = (late - early for late, early in zip(after, before, strict=True))
    return Asked(*requests_of(said), cpu_s, database_cpu_s)


class Brokerage:
    """A running brokerage whose tables are loaded."""

    def __init__(self, database: wire.SqliteDatabase | wire.PostgresqlDatabase, cpu: int) -> None:
        with staying_on(cpu):
            self.process = subprocess.Popen(
                [find_engine(), "brokerage"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        plan = wire.BrokeragePlan(
            run="bench",
            node="application",
            listen=Endpoint(address=ADDRESS, port=0),
            database=database,
            worker_threads=1,
            population=wire.BrokeragePopulation(seed="bench"),
            time_limit_ms=3_600_000,
        )
        self._tell(plan)
        ready = self._next()
        assert isinstance(ready, wire.BrokerageReady), ready
        self.port = ready.listening.port
        for command in (wire.LoadCommand(), wire.GatherStatisticsCommand()):
            self._tell(command)
            done = self._next()
            assert isinstance(done, wire.BrokerageDone), done

    def _tell(self, message: Wire) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(to_json(message) + "\n")
        self.process.stdin.flush()

    def _next(self) -> wire.BrokerageRecord:
        assert self.process.stdout is not None
        return wire.BROKERAGE_RECORD.validate_json(self.process.stdout.readline())

    def cookie(self) -> str:
        """The session cookie of a user who is logged in."""
        connection = http.client.HTTPConnection(str(ADDRESS), self.port)
        connection.request("POST", "/login", "uid=uid:1&passwd=xxx")
        answer = connection.getresponse()
        assert answer.status == http.HTTPStatus.OK, answer.read()
        return answer.headers["Set-Cookie"].split(";")[0]

    def page(self) -> bytes:
        """The page of the brokerage that needs no database."""
        connection = http.client.HTTPConnection(str(ADDRESS), self.port)
        connection.request("GET", "/")
        return connection.getresponse().read()

    def target(self, name: str, path: str, database_pid: int | None = None) -> Target:
        """A page of it."""
        url = f"http://{ADDRESS}:{self.port}{path}"
        cookie = self.cookie() if path != "/" else None
        return Target(name, url, self.process.pid, database_pid, cookie)


@contextmanager
def brokerage(
    database: wire.SqliteDatabase | wire.PostgresqlDatabase, cpu: int
) -> Iterator[Brokerage]:
    """Runs a brokerage while the block lasts."""
    running = Brokerage(database, cpu)
    try:
        yield running
    finally:
        assert running.process.stdin is not None
        running.process.stdin.close()
        running.process.wait()


@contextmanager
def nginx(page: bytes, cpu: int) -> Iterator[Target]:
    """Runs nginx while the block lasts, with one worker that serves the page from a file."""
    (FOLDER / "page.html").write_bytes(page)
    config = FOLDER / "nginx.conf"
    config.write_text(
        f"{nginx_user()}worker_processes 1; daemon off;"
        f" pid {FOLDER}/nginx.pid; error_log stderr crit;"
        " events { worker_connections 1024; }"
        f" http {{ {nginx_folders(FOLDER)}"
        " access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;"
        " open_file_cache max=10; types { text/html html; }"
        f" server {{ listen {ADDRESS}:{NGINX_PORT}; root {FOLDER}; }} }}"
    )
    program = find_program("nginx") or "nginx"
    with staying_on(cpu):
        process = subprocess.Popen([program, "-c", str(config), "-p", str(FOLDER)])
    try:
        yield Target(NGINX, f"http://{ADDRESS}:{NGINX_PORT}/page.html", process.pid)
    finally:
        process.terminate()
        process.wait()


def postgresql_programs() -> Path | None:
    """The folder with the programs of the newest installed release of PostgreSQL."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def postgresql(programs: Path, cpu: int) -> Iterator[tuple[wire.PostgresqlDatabase, int]]:
    """Runs a private PostgreSQL cluster while the block lasts; yields the cluster and its first
    process."""
    folder = FOLDER / "postgresql"
    folder.mkdir()
    if is_all_users():
        os.chown(folder, NOBODY, NOBODY)
    as_user = as_ordinary_user()  # PostgreSQL refuses to run as root
    data = str(folder / "data")
    make = [str(programs / "initdb"), "-D", data, "-U", "bench", "-A", "trust"]
    subprocess.run([*as_user, *make], check=True, capture_output=True, cwd="/")
    start = [str(programs / "postgres"), "-D", data, "-k", str(folder), "-c", "listen_addresses="]
    with staying_on(cpu), (folder.parent / "postgresql.log").open("w") as log:
        process = subprocess.Popen([*as_user, *start], stderr=log, cwd="/")
    ready = [str(programs / "pg_isready"), "-h", str(folder)]
    try:
        while subprocess.run(ready, capture_output=True).returncode != 0:
            if process.poll() is not None:
                raise SystemExit((folder.parent / "postgresql.log").read_text())
        database = wire.PostgresqlDatabase(host=str(folder), user="bench", database="postgres")
        yield database, process.pid
    finally:
        process.terminate()
        process.wait()


def figures(taken: dict[str, Sequence[Asked]]) -> dict[str, dict[str, float]]:
    """Medians for each page, and CPU time per request relative to that of nginx in the same
    round."""
    shown = {}
    for name, turns in taken.items():
        beside = [one.cpu_us / other.cpu_us for one, other in zip(turns, taken[NGINX], strict=True)]
        shown[name] = {
            "requests_per_s": median(one.requests_per_s for one in turns),
            "cpu_us": median(one.cpu_us for one in turns),
            "database_cpu_us": median(one.database_cpu_us for one in turns),
            "cpu_ratio": median(beside),
        }
    return shown


def table(shown: dict[str, dict[str, float]]) -> Table:
    """A line a page."""
    lines = Table(
        "page",
        "requests/s",
        "server's CPU a request",
        "database's CPU a request",
        "server's CPU / nginx's",
    )
    for name, of in shown.items():
        lines.add_row(
            name,
            f"{of['requests_per_s']:.0f}",
            f"{of['cpu_us']:.1f} µs",
            f"{of['database_cpu_us']:.1f} µs",
            f"{of['cpu_ratio']:.2f}",
        )
    return lines


def take_turns(
    targets: Sequence[Target], rounds: int, asked: Callable[[Target], Asked]
) -> dict[str, Sequence[Asked]]:
    """Measures each page once per round, in reverse order in every second round."""
    taken: dict[str, list[Asked]] = {target.name: [] for target in targets}
    for turn in range(rounds):
        for target in targets if turn % 2 == 0 else reversed(targets):
            taken[target.name].append(asked(target))
    return dict(taken)


def main() -> None:
    """Enter a sandbox, measure there, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="of each turn")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for name, package in {"wrk": "wrk", "nginx": "nginx-light"}.items():
        if find_program(name) is None:
            raise SystemExit(f"{name} is not installed: sudo apt-get install {package}")
    if not arguments.inside:
        # The same program again: only a new process can be the first of a pid namespace.
        command = [sys.executable, "-m", "tools.bench.brokerage", *sys.argv[1:], "--inside"]
        raise SystemExit(subprocess.run(sandbox_command(command)).returncode)
    enter()
    subprocess.run([find_program("ip") or "ip", "link", "set", "lo", "up"], check=True)
    FOLDER.mkdir()
    FOLDER.chmod(0o755)
    on = ends(os.sched_getaffinity(0))
    with ExitStack() as stack:
        on_sqlite = stack.enter_context(
            brokerage(wire.SqliteDatabase(file=str(FOLDER / "db")), on.sender)
        )
        targets = [
            stack.enter_context(nginx(on_sqlite.page(), on.sender)),
            on_sqlite.target(STATIC, "/"),
            on_sqlite.target(HOME_SQLITE, "/home"),
        ]
        if programs := postgresql_programs():
            database, pid = stack.enter_context(postgresql(programs, on.sender))
            other = stack.enter_context(brokerage(database, on.sender))
            targets.append(other.target(HOME_POSTGRESQL, "/home", pid))
        taken = take_turns(
            targets, arguments.rounds, lambda target: ask(target, arguments.seconds, on.receiver)
        )
    shown = figures(taken)
    Console(width=140).print(table(shown))
    print(json.dumps(shown))


if __name__ == "__main__":
    main()
