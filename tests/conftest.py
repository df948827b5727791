"""What tests of several areas share: a small plan, and an engine that misbehaves on request."""

from __future__ import annotations

import gc
import hashlib
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netstudy import buffers, wire
from netstudy.report import rendering

RUNS = 6
_NEED_THE_ENGINE = frozenset({"engine", "real_engine", "user"})
"""Fixtures whose tests have the mark `engine`, as tests with the mark `quiet` have."""


@pytest.hookimpl(tryfirst=True)  # before tests are left out by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        needs_it = isinstance(item, pytest.Function) and _NEED_THE_ENGINE & set(item.fixturenames)
        if needs_it or item.get_closest_marker("quiet"):
            item.add_marker("engine")


def pytest_collection_finish() -> None:
    """Leaves thousands of tests and their modules out of every later collection of garbage, which
    looks through all of them each time: a sixth of the tests' time."""
    gc.collect()
    gc.freeze()


@contextmanager
def inherited(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    """Processes started meanwhile inherit how a signal is handled from here, and not from whoever
    runs the tests, who may ignore it, as under nohup."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def small_run(servers: int) -> wire.Run:
    members = tuple(f"server-{n}" for n in range(1, servers + 1))
    return wire.Run(
        id=hashlib.sha256(b"run %d" % servers).hexdigest()[:12],
        cases=("main",),
        treatment={"switch": "plain", "servers": servers},
        replicate=1,
        seed=hashlib.sha256(b"seed %d" % servers).hexdigest()[:16],
        network=star(("client",), members),
        workload=wire.Incast(
            roles=wire.Roles(client=("client",), server=members), block_bytes=100_000
        ),
        phases=(wire.Phase(kind="measure", until=wire.UntilCount(count=20)),),
    )


def star(clients: tuple[str, ...], servers: tuple[str, ...]) -> wire.Network:
    """Hosts around one switch."""
    tcp, nic = wire.Tcp(profile="plain"), wire.Nic()
    hosts = dict.fromkeys(clients, "client") | dict.fromkeys(servers, "server")
    return wire.Network(
        groups=tuple(
            wire.Group(name=name, profile="plain", tcp=tcp, nic=nic)
            for name in ("client", "server")
        ),
        nodes=(
            *(wire.Host(name=name, group=group) for name, group in hosts.items()),
            wire.Switch(
                name="switch",
                profile="plain",
                ports=24,
                buffer=buffers.OutputQueued(port_buffer_bytes=64_000),
            ),
        ),
        links=tuple(
            wire.Link(
                a=wire.Port(node=name, name="eth0", rate_bps=10**10),
                b=wire.Port(node="switch", name=name, rate_bps=10**10),
                delay_ns=1000,
                mtu_bytes=9000,
            )
            for name in hosts
        ),
    )


@pytest.fixture(scope="session")
def renderer() -> None:
    """vl-convert in this process, so that reports need not start a copy for half a second each."""
    rendering.drawn_here([json.dumps({"data": {"values": []}, "mark": "point"})])()


@pytest.fixture
def small_plan() -> wire.Plan:
    """Six runs, one a server count."""
    return wire.Plan(study="small", seed=7, runs=tuple(small_run(n + 1) for n in range(RUNS)))


@pytest.fixture
def fake_engine(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The engine that misbehaves as FAKE_ENGINE says; netstudy is made to find it."""
    engine = Path(__file__).with_name("fake_engine.py")
    monkeypatch.setenv("NETSTUDY_ENGINE", str(engine))
    return engine
