"""What tests of several areas share: a small plan, and an engine that misbehaves on request."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from netstudy import wire

RUNS = 6


def small_run(servers: int) -> wire.Run:
    tcp, nic = wire.Tcp(profile="plain"), wire.Nic()
    return wire.Run(
        id=hashlib.sha256(b"run %d" % servers).hexdigest()[:12],
        cases=("main",),
        treatment={"switch": "plain", "servers": servers},
        replicate=1,
        seed=hashlib.sha256(b"seed %d" % servers).hexdigest()[:16],
        network=wire.Network(
            hosts=(
                wire.HostGroup(name="client", count=1, profile="plain", tcp=tcp, nic=nic),
                wire.HostGroup(name="server", count=servers, profile="plain", tcp=tcp, nic=nic),
            ),
            switch=wire.Switch(
                profile="plain", ports=24, buffer=wire.OutputQueued(port_buffer_bytes=64_000)
            ),
            links=tuple(
                wire.Link(between=(group, "switch"), rate_bps=10**10, delay_ns=1000, mtu_bytes=9000)
                for group in ("client", "server")
            ),
        ),
        workload=wire.Incast(client="client", servers="server", block_bytes=100_000, iterations=20),
    )


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
