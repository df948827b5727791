"""Runs on the workers of a dask cluster: the same bytes, whatever dies meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netstudy.plan_lines import read_plan
from netstudy.store import Folder
from netstudy.testbed.survival import is_of_dead_engine
from tests.cli.conftest import SMALL_RUNS, SMALL_STUDY, Netstudy, start
from tests.cli.test_growth import GROWING
from tests.cli.test_kill import run_apart
from tests.skips import needs_root
from tests.testbed.processes import all_processes, descendants, status

pytest.importorskip("distributed", reason="needs distributed: pip install netstudy[dask]")
pytest.importorskip("cryptography", reason="needs cryptography: pip install netstudy[dask]")

FAKE_ENGINE = Path(__file__).parents[1] / "fake_engine.py"
PATIENCE_S = 120
LOCAL = ("--on", "dask:local:2")
Started = Callable[..., subprocess.Popen[str]]


def netstudy_apart(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run netstudy as a process of its own, to its end."""
    command = [sys.executable, "-m", "netstudy", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@pytest.fixture
def started(nothing_left: None) -> Iterator[Started]:
    """Starts netstudy as a process of its own, which does not outlive the test."""
    begun: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path) -> subprocess.Popen[str]:
        begun.append(start(*arguments))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


def wait_until(happened: Callable[[], bool]) -> None:
    """Look until something has happened; fails if it does not."""
    end_s = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end_s, "it never happened"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, real_engine: Path) -> bytes:
    """The records of the small study from one machine, without dask."""
    made = run_apart(SMALL_STUDY, tmp_path_factory.mktemp("alone"), real_engine)
    return b"".join(Folder(made).stream())


def records_of(here: Path) -> bytes:
    """The records of the only results folder."""
    return b"".join(latest(here).stream())


def latest(here: Path) -> Folder:
    """The only results folder."""
    (path,) = (here / "results").glob("*/latest")
    folder = Folder.at(path)
    assert folder is not None
    return folder


@pytest.fixture
def gate(here: Path, engine: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """An engine that waits before its first run, until it may go on."""
    made = Gate(here / "gate")
    script = here / "waiting-engine"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = sim ] || exec "{engine}" "$@"\nplan=$(mktemp)\ncat >"$plan"\n'
        f'echo $PPID >"{made.folder}/$$"\nwhile [ ! -e "{made.go}" ]; do sleep 0.05; done\n'
        f'exec "{engine}" "$@" <"$plan"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("NETSTUDY_ENGINE", str(script))
    return made


class Gate:
    """The place where engines wait."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.go = folder / "go"

    def engines(self) -> dict[int, int]:
        """Engine -> its worker, of all engines that came here so far."""
        texts = {path.name: path.read_text() for path in self.folder.glob("[0-9]*")}
        return {int(name): int(text) for name, text in texts.items() if text}

    def next_engine(self, before: set[int]) -> int:
        """An engine that is not among those before."""
        wait_until(lambda: bool(self.engines().keys() - before))
        return min(self.engines().keys() - before)

    def open(self) -> None:
        """Let all engines go on, and those to come."""
        self.go.touch()


def is_gone(pid: int) -> bool:
    """Whether a process has ended."""
    return status(pid, "State") in (None, "Z", "X")


@pytest.fixture
def nothing_left(here: Path) -> Iterator[None]:
    """The test leaves no worker behind."""
    before = set(all_processes())
    yield
    mine = str(here)
    wait_until(
        lambda: (
            not [
                pid
                for pid in set(all_processes()) - before
                if mine.encode() in read(f"/proc/{pid}/environ") and not is_gone(pid)
            ]
        )
    )


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


pytestmark = pytest.mark.usefixtures("nothing_left")


def test_the_records_are_the_same_bytes(study: Path, engine: Path, alone: bytes) -> None:
    done = netstudy_apart("run", study, *LOCAL)
    assert done.returncode == 0, done.stderr
    assert records_of(study.parent) == alone
    assert "12/12 runs" in done.stderr


def test_a_worker_that_is_killed_twice_costs_no_run(
    study: Path, gate: Gate, alone: bytes, started: Started
) -> None:
    run = started("run", study, *LOCAL)
    first = gate.next_engine(set())
    os.kill(gate.engines()[first], signal.SIGKILL)
    second = gate.next_engine({first})
    wait_until(lambda: is_gone(first))  # no engine outlives its worker
    os.kill(gate.engines()[second], signal.SIGKILL)
    gate.next_engine({first, second})
    gate.open()
    _, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, errors
    assert records_of(study.parent) == alone


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_workers_and_resume_goes_on(
    study: Path, gate: Gate, alone: bytes, started: Started, number: signal.Signals
) -> None:
    run = started("run", study, *LOCAL)
    engine = gate.next_engine(set())
    workers = descendants(run.pid)
    os.kill(run.pid, number)
    _, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 128 + number
    assert f"stopped by {number.name}; 0 of 12 runs are kept" in errors
    assert "Traceback" not in errors
    wait_until(lambda: all(map(is_gone, (engine, *workers))))
    gate.open()
    done = netstudy_apart("run", latest(study.parent).path, "--resume", *LOCAL)
    assert done.returncode == 0, done.stderr
    assert records_of(study.parent) == alone


def test_no_process_outlives_a_killed_client_and_resume_goes_on_without_dask(
    study: Path, gate: Gate, alone: bytes, started: Started
) -> None:
    run = started("run", study, *LOCAL)
    engine = gate.next_engine(set())
    left = descendants(run.pid)
    assert engine in left
    run.kill()
    run.communicate()
    wait_until(lambda: all(map(is_gone, left)))
    gate.open()
    done = netstudy_apart("run", latest(study.parent).path, "--resume")
    assert done.returncode == 0, done.stderr
    assert records_of(study.parent) == alone


CLUSTER = Path(__file__).with_name("dask_cluster.py")


@contextmanager
def cluster(folder: Path, **environment: str) -> Iterator[str]:
    """A scheduler with one worker that has no netstudy; its address."""
    process = subprocess.Popen(
        [sys.executable, CLUSTER, folder],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def certificates(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cluster's certificates, which dask's configuration names."""
    folder = here / "certificates"
    folder.mkdir()
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    monkeypatch.setenv(f"{tls}CA_FILE", str(folder / "ca.pem"))
    monkeypatch.setenv(f"{tls}CLIENT__CERT", str(folder / "cert.pem"))
    monkeypatch.setenv(f"{tls}CLIENT__KEY", str(folder / "key.pem"))
    return folder


def test_workers_of_any_cluster_need_no_netstudy(
    study: Path, engine: Path, certificates: Path, alone: bytes
) -> None:
    with cluster(certificates) as address:
        assert address.startswith("tls://127.0.0.1:")
        done = netstudy_apart("run", study, "--on", f"dask:{address}")
    assert done.returncode == 0, done.stderr
    assert records_of(study.parent) == alone


def test_a_cluster_with_other_certificates_is_not_reached(
    study: Path, engine: Path, certificates: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with cluster(other) as address:
        (certificates / "ca.pem").write_text((other / "ca.pem").read_text())
        for name, text in strange_certificate().items():
            (certificates / name).write_text(text)
        done = netstudy_apart("run", study, "--on", f"dask:{address}")
    assert done.returncode == 3, done.stderr
    assert f"netstudy: cannot reach dask:{address}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (study.parent / "results").exists()


def test_engines_of_another_cluster_end_with_a_killed_client(
    study: Path, gate: Gate, certificates: Path, started: Started
) -> None:
    with cluster(certificates) as address:
        run = started("run", study, "--on", f"dask:{address}")
        engine = gate.next_engine(set())
        run.kill()
        wait_until(lambda: is_gone(engine))
        assert not is_gone(gate.engines()[engine])  # its worker


def test_further_rounds_of_a_growing_factor_are_the_same_bytes(here: Path, engine: Path) -> None:
    study = here / "study.yaml"
    study.write_text(GROWING)
    whole = ("--only", "direction=get", "--set", "replicates=1")
    assert netstudy_apart("run", study, *whole, "--results", here / "local").returncode == 0
    done = netstudy_apart("run", study, *whole, *LOCAL)
    assert done.returncode == 0, done.stderr
    assert "round 2: " in done.stderr
    (local,) = (here / "local").glob("*/latest")
    assert records_of(here) == b"".join(Folder(local).stream())


def strange_certificate() -> dict[str, str]:
    """A certificate and its key, by name of the file, of an authority that nobody trusts."""
    import distributed

    made = distributed.Security.temporary()
    return {"cert.pem": made.tls_client_cert, "key.pem": made.tls_client_key}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("WORKER_MACHINE", "riscv64", "has machine Linux riscv64 instead of Linux "),
        ("WORKER_DASK", "2020.1.0", "has dask 2020.1.0 instead of "),
    ],
)
def test_a_worker_of_another_kind_is_refused_by_name(
    study: Path, engine: Path, certificates: Path, name: str, value: str, said: str
) -> None:
    with cluster(certificates, **{name: value}) as address:
        done = netstudy_apart("run", study, "--on", f"dask:{address}")
    assert done.returncode == 3, done.stderr
    assert "has workers that cannot execute runs of this machine's engine:" in done.stderr
    assert "\n  - tls://127.0.0.1:" in done.stderr
    assert said in done.stderr
    assert not (study.parent / "results").exists()


STRANGER = """
import os, socket, ssl, sys
certificate, key, *ports = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.load_cert_chain(certificate, key)
"localhost".encode("idna")  # loads the codec
os.setgroups([]); os.setgid(65534); os.setuid(65534)
assert os.getresuid() == (65534, 65534, 65534)
for port in ports:
    with socket.create_connection(("127.0.0.1", int(port)), timeout=3) as plain:
        plain.sendall(b"GET /info/main/workers.html HTTP/1.0\\r\\n\\r\\n")
        try:
            begin = plain.recv(12)
        except OSError:
            begin = b""
    print("plain:", "let in" if begin.startswith(b"HTTP/1.1 200") else "refused")
    with socket.create_connection(("127.0.0.1", int(port)), timeout=3) as plain:
        try:
            with context.wrap_socket(plain) as secure:
                begin = secure.recv(1)  # dask's greeting
        except OSError:  # of TLS or of the socket, or no answer
            begin = b""
    print("TLS:", "let in" if begin else "refused")
"""


def stranger(certificates: Path, ports: set[int]) -> list[str]:
    """The answers that another user with these certificates gets at some ports of the loopback."""
    files = [certificates / "cert.pem", certificates / "key.pem"]
    answer = subprocess.run(
        [sys.executable, "-c", STRANGER, *files, *map(str, sorted(ports))],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


@needs_root("to become another user")
def test_a_stranger_is_refused_at_every_port(
    study: Path, gate: Gate, started: Started, certificates: Path
) -> None:
    for name, text in strange_certificate().items():
        (certificates / name).write_text(text)
    run = started("run", study, *LOCAL)
    gate.next_engine(set())
    ends = {end for pid in (run.pid, *descendants(run.pid)) for end in listening(pid)}
    assert len(ends) >= 5  # the scheduler, two nannies and two workers
    assert {address for address, _ in ends} == {"0100007F"}  # 127.0.0.1
    answers = stranger(certificates, {port for _, port in ends})
    assert answers == ["plain: refused", "TLS: refused"] * len(ends)
    gate.open()
    _, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, errors


@needs_root("to become another user")
def test_the_stranger_would_be_let_in_with_the_certificate(certificates: Path) -> None:
    with cluster(certificates) as address:
        answers = stranger(certificates, {int(address.rpartition(":")[2])})
    assert answers == ["plain: refused", "TLS: let in"]


def listening(pid: int) -> set[tuple[str, int]]:
    """The addresses and ports at which a process waits for TCP connections."""
    try:
        links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:  # the process, or a file of it, is gone by now
        return set()
    inodes = {text[8:-1] for text in links if text.startswith("socket:[")}
    tables = (Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    found = [row[1].split(":") for row in rows if row[3] == "0A" and row[9] in inodes]
    return {(address, int(port, 16)) for address, port in found}


def test_a_plain_scheduler_of_another_machine_is_refused(netstudy: Netstudy, study: Path) -> None:
    done = netstudy("run", study, "--on", "dask:tcp://192.0.2.1:8786")
    assert done.code == 2
    assert "--on: tcp://192.0.2.1:8786 is not encrypted" in done.err
    assert not Path("results").exists()


def test_other_testbeds_are_refused(netstudy: Netstudy, study: Path) -> None:
    done = netstudy("run", study, "--on", "dask:local", "--testbed", "netns")
    assert done.code == 2
    assert "--on: runs of the testbed sim only can be executed elsewhere" in done.err


def test_threads_are_those_of_the_workers(netstudy: Netstudy, study: Path) -> None:
    done = netstudy("run", study, "--on", "dask:local", "--threads", "2")
    assert done.code == 2
    assert "--threads: the workers of --on have their own; use dask:local:N" in done.err


def test_without_dask_the_command_that_installs_it_is_said(
    netstudy: Netstudy, study: Path, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = netstudy("run", study, "--on", "dask:local")
    assert done.code == 2
    command = f"{sys.executable} -m pip install distributed cryptography"
    assert f"netstudy: distributed is not installed. Install it with: {command}" in done.err
    assert not Path("results").exists()


def test_a_dry_run_starts_no_cluster(netstudy: Netstudy, study: Path, engine: Path) -> None:
    done = netstudy("run", study, "--on", "dask:local:1", "--dry-run")
    assert done.code == 0
    assert f"runs     {SMALL_RUNS}: " in done.out


def test_a_run_that_kills_its_engines_is_a_failed_run_and_resume_repeats_it(
    study: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    poison = planned_run(netstudy, study, 5)
    monkeypatch.setenv("NETSTUDY_ENGINE", str(FAKE_ENGINE))
    monkeypatch.setenv("FAKE_ENGINE", f"poison:{poison}")
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(here / "log"))
    done = netstudy_apart("run", study, *LOCAL)
    assert done.returncode == 3, done.stderr
    assert f"run {poison} " in done.stderr
    assert "its engine died: the engine was killed by SIGABRT" in done.stderr
    folder = latest(study.parent)
    texts = list(folder.record_texts(folder.plan().runs))
    assert len(texts) == SMALL_RUNS
    assert [is_of_dead_engine(text) for text in texts].count(True) == 1
    monkeypatch.setenv("FAKE_ENGINE", "")
    (here / "log").unlink()
    again = netstudy_apart("run", folder.path, "--resume", *LOCAL)
    assert again.returncode == 0, again.stderr
    assert (here / "log").read_text().split() == [poison]


def planned_run(netstudy: Netstudy, study: Path, number: int) -> str:
    """The id of a run of the study."""
    runs: list[str] = [
        run.id
        for run in read_plan(netstudy("plan", study, "--json").out.encode().splitlines()).runs
    ]
    return runs[number]
