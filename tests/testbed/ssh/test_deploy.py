"""The engine on its way to a host; the commands run in the shells of this machine."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from netstudy.errors import TestbedError
from netstudy.inventory import parse_inventory
from netstudy.testbed.ssh import engines, remote
from netstudy.testbed.ssh.connect import Master
from netstudy.testbed.ssh.deploy import ended_early, not_begun, not_copied, not_run, probed
from netstudy.testbed.ssh.engines import elf, engine_for
from netstudy.testbed.ssh.host_wire import AGENT_PROTOCOL, HelloRecord
from netstudy.testbed.ssh.hosts import commands, disagreement

BINARY = b"#!/bin/sh\necho engine\n"
SHA256 = hashlib.sha256(BINARY).hexdigest()
NONCE = "5f0e"
SHELLS = [name for name in ("sh", "bash", "dash", "tcsh", "fish") if shutil.which(name)]
"""Log-in shells; a command must be the same in each."""
MASTER = Master("alpha", "alpha.lab", "/run/x/0")


def in_shell(shell: str, command: str, given: bytes = b"", home: Path | None = None) -> list[str]:
    """The lines that a command prints after its nonce."""
    environment = {**os.environ, **({"HOME": str(home)} if home else {})}
    done = subprocess.run([shell, "-c", command], input=given, capture_output=True, env=environment)
    lines = remote.after_nonce(done.stdout, NONCE).lines
    assert lines is not None, done.stderr
    return [*lines, *done.stderr.decode().splitlines()]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("folder", ["~/.cache/netstudy", "/plain", '/it\'s a "folder" $HOME!'])
def test_an_engine_is_copied_found_and_removed(shell: str, folder: str, tmp_path: Path) -> None:
    if not folder.startswith("~"):
        folder = f"{tmp_path}{folder}"
    real = Path(folder.replace("~", str(tmp_path)))
    before = probed(in_shell(shell, remote.probe(NONCE, folder, None), home=tmp_path), ())
    assert (before.architecture, before.engines) == (os.uname().machine, frozenset())
    assert before.free_bytes is not None
    assert before.free_bytes[0] == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.1)
    copied = in_shell(shell, remote.copy(NONCE, folder, SHA256), BINARY, tmp_path)
    assert copied == ["copied"]
    after = probed(in_shell(shell, remote.probe(NONCE, folder, None), home=tmp_path), ())
    assert after.engines == {SHA256}
    engine = real / f"engine-{SHA256}"
    assert engine.read_bytes() == BINARY
    assert (engine.stat().st_mode & 0o777, real.stat().st_mode & 0o777) == (0o700, 0o700)
    assert in_shell(shell, remote.remove(NONCE, folder), home=tmp_path) == [
        f"removed {engine.name}"
    ]
    assert not real.exists()


def test_an_engine_that_arrives_damaged_is_not_stored(tmp_path: Path) -> None:
    said = in_shell("sh", remote.copy(NONCE, str(tmp_path / "e"), SHA256), BINARY[:-1])
    assert said == ["differs"]
    assert list((tmp_path / "e").iterdir()) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_copy_whose_connection_ends_leaves_nothing(shell: str, tmp_path: Path) -> None:
    command = remote.copy(NONCE, str(tmp_path / "e"), SHA256)
    pipe = subprocess.PIPE
    # Popen restores the default action of SIGPIPE, which a shell of sshd has, too.
    with subprocess.Popen([shell, "-c", command], stdin=pipe, stdout=pipe) as copying:
        assert copying.stdin is not None
        assert copying.stdout is not None
        copying.stdin.write(BINARY[:-1])
        copying.stdin.flush()
        assert copying.stdout.readline().split()[-1] == NONCE.encode()
        copying.stdout.close()
    assert copying.returncode != 0
    assert list((tmp_path / "e").iterdir()) == []


def test_an_engine_of_another_content_under_the_name_counts_as_absent(tmp_path: Path) -> None:
    (tmp_path / f"engine-{SHA256}").write_bytes(b"other")
    said = in_shell("sh", remote.probe(NONCE, str(tmp_path), None))
    assert probed(said, ()).engines == frozenset()


def test_only_our_own_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / "engine-x").touch()
    (tmp_path / "notes").touch()
    in_shell("sh", remote.remove(NONCE, str(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


@pytest.mark.parametrize(
    ("out", "before", "lines"),
    [
        (f"netstudy {NONCE}\nx86_64\n", (), ("x86_64",)),
        (f"Welcome\nnetstudy 00\nnetstudy {NONCE}\n", ("Welcome", "netstudy 00"), ()),
        ("This account is not available.\n", ("This account is not available.",), None),
        ("", (), None),
        (f"Welcome\n$ netstudy {NONCE}\nx86_64\n", ("Welcome", "$ "), ("x86_64",)),
    ],
)
def test_the_output_of_log_in_scripts_is_parted_at_the_nonce(
    out: str, before: tuple[str, ...], lines: tuple[str, ...] | None
) -> None:
    assert remote.after_nonce(out.encode(), NONCE) == remote.Said(before, lines)


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ("cat: write error: No space left on device", "the disk is full; free some space, or name"),
        ("cat: write error: Disk quota exceeded", "the disk quota is used up"),
        (
            "mkdir: cannot create directory '/x': Read-only file system",
            "is read-only; name another",
        ),
        ("mkdir: cannot create directory '/x': Permission denied", "the user may not write there"),
        ("sh: 1: sha256sum: not found", "the host has no sha256sum"),
        ("", "the bytes that arrived differ"),
    ],
)
def test_each_failure_to_copy_has_its_cause(errors: str, told: str) -> None:
    said = not_copied("alpha", "/var/e", 13_000_000, errors)
    assert said.startswith("alpha: the engine (13.0 MB) cannot be copied into /var/e: ")
    assert told in said


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((), "/var/e: the connection ended before the copy did"),
        (("differs",), "/var/e: the bytes that arrived differ from those sent"),
    ],
)
def test_a_copy_that_is_cut_is_not_taken_for_one_that_differs(
    lines: tuple[str, ...], told: str
) -> None:
    assert not_copied("alpha", "/var/e", 13_000_000, ended_early(lines)).endswith(told)


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ("sh: 1: exec: /o/engine-1: Permission denied", "programs in /o may not be run there"),
        ("sh: 1: exec: /o/engine-1: Exec format error", "its architecture is not that of the"),
        ("/o/engine-1: /lib/libc.so.6: version `GLIBC_2.34' not found", "make engine-static"),
        (
            "bash: line 1: /o/engine-1: cannot execute: required file not found",
            "make engine-static",
        ),
        ("Killed", "the engine did not start; the host said: Killed"),
    ],
)
def test_each_engine_that_does_not_start_has_its_cause(errors: str, told: str) -> None:
    assert told in not_run("alpha", "/o/engine-1", errors)


def test_a_host_that_refuses_sessions_or_commands_is_told_apart_from_a_refused_log_in() -> None:
    of_mux = "mux_client_request_session: session request failed: Session open refused by peer"
    assert "raise MaxSessions" in not_begun(MASTER, [], of_mux)
    said = not_begun(MASTER, ["This account is currently not available."], "")
    assert said == (
        "alpha: alpha.lab lets us log in, but runs no command; it said: This account is currently "
        "not available."
    )


def program(path: Path, machine: int, *, is_static: bool) -> Path:
    """A file with the ELF headers of a program."""
    kinds = [1, 2] if is_static else [1, 3]
    head = b"\x7fELF\x02\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, len(kinds), 64, 0, 0
    )
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(head + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in kinds))
    path.chmod(0o755)
    return path


class TestEngines:
    def test_the_headers_of_real_programs_are_read(self) -> None:
        assert elf(Path("/bin/sh").resolve()) == (os.uname().machine, False)
        assert elf(Path(__file__)) == (None, False)

    def test_a_static_engine_is_preferred(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = program(tmp_path / "netstudy-engine", 62, is_static=False)
        monkeypatch.setenv("NETSTUDY_ENGINE", str(own))
        monkeypatch.setattr(engines, "_CHECKOUT", tmp_path)
        assert engine_for("x86_64").path == own
        static = program(tmp_path / "dist/netstudy-engine-x86_64", 62, is_static=True)
        found = engine_for("x86_64")
        assert (found.path, found.is_static) == (static, True)
        assert found.sha256 == hashlib.sha256(static.read_bytes()).hexdigest()

    @pytest.mark.parametrize(
        ("architecture", "told"),
        [("aarch64", "make engine-static"), ("riscv64", "engines are for x86_64 and aarch64")],
    )
    def test_an_architecture_without_an_engine_is_refused(
        self, architecture: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = program(tmp_path / "netstudy-engine", 62, is_static=True)
        monkeypatch.setenv("NETSTUDY_ENGINE", str(own))
        monkeypatch.setattr(engines, "_CHECKOUT", tmp_path)
        with pytest.raises(TestbedError, match=f"no engine for {architecture}.*{told}"):
            engine_for(architecture)


HELLO = HelloRecord(
    version="0.1.0",
    agent_protocol=AGENT_PROTOCOL,
    architecture="x86_64",
    kernel="6.1.0",
    boot_id="b",
    time_namespace=None,
    tick_ns=4_000_000,
    pid=7,
    user="ns",
    uid=1000,
    cpus=2,
)


def test_an_engine_of_another_version_or_protocol_is_refused() -> None:
    assert disagreement("alpha", HELLO, "0.1.0") is None
    said = disagreement("alpha", HELLO, "0.2.0")
    assert said is not None
    assert "its engine is version 0.1.0, the one here is 0.2.0; make the engines anew" in said
    said = disagreement(
        "alpha", HELLO.model_copy(update={"agent_protocol": AGENT_PROTOCOL - 1}), "0.1.0"
    )
    assert said is not None
    assert (
        f"speaks version {AGENT_PROTOCOL - 1} of the protocol with agents, netstudy speaks" in said
    )


def test_a_dry_run_knows_every_command_for_a_host() -> None:
    entry = parse_inventory("hosts: {a: {ssh: a, address: 192.0.2.1}}", "hosts.yaml").hosts["a"]
    found = commands("a", entry, 5 * 10**9)
    assert [argv[0] for _, argv in found] == ["ssh"] * 4
    assert found[-1][1][-1] == (
        'exec "$HOME"/.cache/netstudy/engine-SHA256 host --nonce NONCE --lease-ms 5000'
    )
