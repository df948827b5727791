"""Runs with an application and its generators of load, from a plan made by hand."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netstudy import wire
from netstudy.plan_lines import plan_bytes
from netstudy.testbed.netns.namespaces import find_program
from tests.testbed.carried_out import a_run
from tests.testbed.conftest import CHECKOUT, User, environment
from tests.testbed.networks import LINUX_6, host, link, network

Groups = Mapping[str, Mapping[str, Any]]
SECOND_NS = 1_000_000_000
PORT = 8080
PAGE_BYTES = 9_000

NGINX = """\
daemon off;
worker_processes 2;
user root root;
pid nginx.pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  default_type text/html;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{
    listen {port};
    keepalive_requests 1000000;
    root {folder};
    location = /absent {{ return 404; }}
  }}
}}
"""
"""All of its files are in its folder; `user root` lets it be an ordinary user's in a sandbox."""

MIX = tuple(
    wire.Operation(name=name, share_ppm=10_000 * share, elements_ppm=elements)
    for name, share, elements in (
        ("home", 20, 1_000_000),
        ("quotes", 40, 1_000_000),
        ("logout", 4, 2_000_000),
        ("register", 2, 3_000_000),
        ("account", 10, 1_000_000),
        ("portfolio", 12, 1_000_000),
        ("buy", 4, 2_000_000),
        ("sell", 4, 2_000_000),
        ("update", 4, 2_000_000),
    )
)
"""The standard mix of the brokerage."""


def program(folder: Path, start: tuple[str, ...] | None = None) -> wire.Program:
    """nginx with one page, by a file in a folder that every user may read."""
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(port=PORT, folder=folder))
    (folder / "index.html").write_text("x" * PAGE_BYTES)
    nginx = find_program("nginx") or "nginx"
    command = (nginx, "-e", "stderr", "-p", ".", "-c", str(configuration))
    return wire.Program(start=start or command, port=PORT)


def pages(path: str = "/") -> tuple[wire.Operation, ...]:
    """The only operation: one page."""
    request = wire.HttpRequest(path=path)
    return (
        wire.Operation(
            name="page", share_ppm=1_000_000, elements_ppm=1_000_000, requests=(request,)
        ),
    )


def brokerage(**more: Any) -> wire.Brokerage:
    """A small one, with its data in memory."""
    asked = {"data": "ram", "users": 200, "quotes": 100, "pool_connections": 4, **more}
    return wire.Brokerage.model_validate(asked)


def tiers(
    clients: int = 1,
    *,
    rate_bps: int = 100_000_000,
    buffers: int = 1_000,
    groups: Groups | None = None,
) -> wire.Network:
    """Generators, an application server and its database, with links between hosts that talk;
    `groups` are settings of hosts."""
    names = ["client"] if clients == 1 else [f"client-{n}" for n in range(1, clients + 1)]
    hosts = [*(host(name, "client") for name in names), host("app"), host("db")]
    links = [link(f"{name}.eth0", f"app.{name}", rate_bps=rate_bps, delay_ns=0) for name in names]
    links.append(link("app.db", "db.eth0", rate_bps=400_000_000))
    made = network(hosts, links, LINUX_6)
    nic = wire.Nic(transmit_queue_frames=buffers)
    return made.model_copy(
        update={
            "groups": tuple(
                one.model_copy(update={"nic": nic, **(groups or {}).get(one.name, {})})
                for one in made.groups
            )
        }
    )


def transactions(
    application: wire.Brokerage | wire.Program,
    load: wire.ClosedLoad | wire.OpenLoad,
    *,
    clients: int = 1,
    mix: tuple[wire.Operation, ...] | None = None,
) -> wire.Transactions:
    """The load of these clients on an application."""
    names = ("client",) if clients == 1 else tuple(f"client-{n + 1}" for n in range(clients))
    database: tuple[str, ...] = ()
    if isinstance(application, wire.Brokerage) and application.database == "postgresql":
        database = ("db",)
    return wire.Transactions(
        roles=wire.TierRoles(client=names, server=("app",), database=database),
        application=application,
        mix=mix or (MIX if isinstance(application, wire.Brokerage) else pages()),
        load=load,
        statistics_every_ns=SECOND_NS // 2,
    )


def phases(
    application: wire.Brokerage | wire.Program, measure_s: float = 1.0
) -> tuple[wire.Phase, ...]:
    """All phases of study 5 for a brokerage; warm-up and measuring phase for a program."""
    warm_up = wire.Phase(kind="warm-up", until=wire.UntilTime(ns=SECOND_NS // 2))
    measure = wire.Phase(kind="measure", until=wire.UntilTime(ns=round(measure_s * SECOND_NS)))
    if isinstance(application, wire.Program):
        return (warm_up, measure)
    before = [wire.Phase(kind=kind) for kind in ("load", "configure", "gather-statistics")]
    between = [wire.Phase(kind=kind) for kind in ("stop", "reset")]
    return (*before, warm_up, *between, measure, wire.Phase(kind="cool-down"))


def a_served_run(
    work: wire.Transactions, graph: wire.Network | None = None, measure_s: float = 1.0
) -> wire.Run:
    """A run of it."""
    clients = len(work.roles.client)
    return a_run(graph or tiers(clients), work, phases(work.application, measure_s))


def started(
    user: User, run: wire.Run, module: str = "netstudy.testbed.netns", *arguments: str
) -> subprocess.Popen[str]:
    """The testbed on a run, under way."""
    command = user.in_sandbox(user.python, "-m", module, *arguments)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=CHECKOUT,
        text=True,
        process_group=0,
    )
    assert process.stdin is not None
    process.stdin.write(plan_bytes(wire.Plan("by hand", 1, (run,))).decode())
    process.stdin.close()
    process.stdin = None
    return process
