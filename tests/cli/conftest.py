"""The command line as tests call it: in this process, or as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from netstudy.cli import invoke
from netstudy.errors import TestbedError
from netstudy.testbed.engine import find_engine

CHECKOUT = Path(__file__).parents[2]
INCAST = CHECKOUT / "studies" / "incast"

SMALL_STUDY = """\
study: small
question: Which of two switches finishes sooner?
factors:
  switch: [arista-7124s, nexus-5010]
  servers: [1, 3, 6]
topology:
  switch: "${switch}"
  client: {profile: ucs-c200-rhel54}
  server: {profile: ucs-c200-rhel54, count: "${servers}"}
  link: {rate: 10 Gbit/s, delay: 1 us, mtu: 9000 B}
workload:
  incast: {block: 100 kB, iterations: 20, warmup: 2, jitter: {exponential: 75 us}}
replicates: 2
compare: {factor: switch, base: nexus-5010, noise: 2 %}
quick:
  only: {servers: [1, 3]}
  set: {replicates: 1}
"""
SMALL_RUNS = 12


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


Netstudy = Callable[..., Outcome]


@pytest.fixture
def netstudy(renderer: None, capfd: pytest.CaptureFixture[str]) -> Netstudy:
    """Carry out a command line in this process."""

    def call(*arguments: str | Path) -> Outcome:
        capfd.readouterr()
        code = invoke([str(argument) for argument in arguments])
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with nothing set that would change what netstudy does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("NETSTUDY_RESULTS", "FAKE_ENGINE", "FAKE_ENGINE_LOG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def study(here: Path) -> Path:
    """A small study of twelve runs, in the folder to work in."""
    path = here / "study.yaml"
    path.write_text(SMALL_STUDY)
    return path


@pytest.fixture(scope="session")
def real_engine() -> Path:
    """The engine as `make build` leaves it."""
    try:
        return find_engine()
    except TestbedError:
        built = CHECKOUT / "target" / "debug" / "netstudy-engine"
        assert built.is_file(), "no engine: make build"
        return built


@pytest.fixture
def engine(real_engine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real engine, where netstudy finds it."""
    monkeypatch.setenv("NETSTUDY_ENGINE", str(real_engine))
    return real_engine


def start(*arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Start netstudy as a process of its own, in the current folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "netstudy", *map(str, arguments)],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
