"""Engines under QEMU's emulation of system calls, which knows neither TCP_INFO nor sock_diag: that
for aarch64 from `make engine-static`, and this machine's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.sandbox import sandbox_command
from tests.skips import in_namespaces, needs_programs
from tests.testbed.conftest import CHECKOUT, environment

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    needs_programs("qemu-aarch64", "qemu-x86_64", "unshare"),
]

AARCH64 = CHECKOUT / "dist/netstudy-engine-aarch64"
needs_aarch64 = pytest.mark.skipif(
    not AARCH64.exists(), reason=f"needs dist/{AARCH64.name}; make engine-static builds it"
)


def python(*words: str, sandbox: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *words]
    argv = sandbox_command(command) if sandbox else command
    return subprocess.run(argv, env=environment(), cwd=CHECKOUT, capture_output=True, text=True)


@needs_aarch64
def test_the_engine_for_aarch64_writes_the_same_records() -> None:
    done = python("tools.same_bytes", str(find_engine()), str(AARCH64))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("  records  the same bytes as the fast engine's: "), done.stdout


@in_namespaces
@pytest.mark.parametrize(
    ("emulator", "engine"),
    [
        pytest.param("qemu-aarch64", AARCH64, marks=needs_aarch64, id="aarch64"),
        pytest.param("qemu-x86_64", find_engine(), id="x86_64"),
    ],
)
def test_a_transfer_without_tcp_info_and_sock_diag_is_whole_but_for_their_values(
    emulator: str, engine: Path
) -> None:
    done = python("tests.testbed.emulated_run", emulator, str(engine), sandbox=True)
    assert done.returncode == 0, done.stderr
    record: dict[str, Any] = json.loads(done.stdout)

    assert record["status"] == "ok", (record["error"], record["checks"])
    samples = record["samples"]
    connection = samples["connection"]
    assert sum(connection["bytes_received"]) >= 100_000
    assert (connection["retransmissions"], connection["timeouts"]) == (None, None)
    assert samples["second"] is None
