"""The agents' server and client of FTP: beside each other, beside other programs, and under faults.

Everything happens on the loopback interface, with small files.
"""

from __future__ import annotations

import ftplib
import io
import json
import os
import resource
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.namespaces import program
from netstudy.testbed.real import wire
from netstudy.wire import UntilCount, to_json
from tests.skips import needs_programs, needs_root, or_skip

pytestmark = pytest.mark.engine

HERE = IPv4Address("127.0.0.1")
SIZE = 1_000_000
LOGIN = wire.FtpLogin(user="anonymous", password="anyone")
TIME_LIMIT_S = 60


class Agent:
    """An agent and what it says."""

    def __init__(self, plan: wire.AgentPlan, *prefix: str) -> None:
        with or_skip():
            engine = find_engine()
        self.process = subprocess.Popen(
            [*prefix, engine, "agent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.tell(plan)

    def tell(self, what: Any) -> None:
        """A line on its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(to_json(what) + "\n")
        self.process.stdin.flush()

    def next(self, kind: str) -> dict[str, Any]:
        """The next record of a kind, or its error."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            record: dict[str, Any] = json.loads(line)
            if record["kind"] in (kind, "error"):
                return record
        raise AssertionError(f"it ended without {kind}")

    def stop(self) -> list[dict[str, Any]]:
        """Its remaining records."""
        self.tell(wire.StopCommand())
        assert self.process.stdout is not None
        records = [json.loads(line) for line in self.process.stdout]
        assert self.process.wait(TIME_LIMIT_S) == 0
        return records

    def end(self) -> None:
        """Ends it if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
        with self.process:
            pass


Start = Callable[..., Agent]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts agents, and ends those that have not ended."""
    agents: list[Agent] = []

    def starts(workload: Any, connections: Any, *prefix: str) -> Agent:
        plan = wire.AgentPlan(
            run="r",
            node="n",
            token="5a" * 16,
            time_limit_ms=1_000 * TIME_LIMIT_S,
            silence_limit_ms=20_000,
            connections=tuple(connections),
            workload=workload,
        )
        agents.append(Agent(plan, *prefix))
        return agents[-1]

    yield starts
    for agent in agents:
        agent.end()


@dataclass(frozen=True)
class Server:
    """A server that is ready."""

    agent: Agent
    at: wire.Endpoint

    def url(self, path: str) -> str:
        """A file there, for curl."""
        return f"ftp://{LOGIN.user}:{LOGIN.password}@{HERE}:{self.at.port}/{path}"

    def session(self) -> ftplib.FTP:
        """A session of Python's client, logged in."""
        ftp = ftplib.FTP(timeout=20)
        ftp.connect(str(HERE), self.at.port)
        ftp.login(LOGIN.user, LOGIN.password)
        return ftp


def server(start: Start, sessions: int = 4, *prefix: str, **workload: Any) -> Server:
    work = wire.FtpServer.model_validate({"direction": "get", "size_bytes": SIZE, **workload})
    accept = wire.AcceptConnection(local=HERE, peer=HERE)
    agent = start(work, [accept] * sessions, *prefix)
    said = agent.next("ready")
    assert said["kind"] == "ready", said
    return Server(agent, wire.Endpoint.model_validate(said["listening"][0]))


def client(start: Start, at: wire.Endpoint, flows: int = 1, *prefix: str, **workload: Any) -> Agent:
    given = {
        "direction": "get",
        "size_bytes": SIZE,
        "warmup": UntilCount(count=0),
        "measure": UntilCount(count=2),
        **workload,
    }
    opens = [
        wire.OpenConnection(local=HERE, peer=at, peer_number=number) for number in range(flows)
    ]
    return start(wire.FtpClient.model_validate(given), opens, *prefix)


def transfers(agent: Agent) -> dict[str, Any]:
    """What a client measures, led through its phases."""
    warm = agent.next("phase")
    assert warm["kind"] == "phase", warm
    agent.tell(wire.GoCommand())
    measured = agent.next("phase")
    assert measured["kind"] == "phase", measured
    (found,) = [one for one in agent.stop() if one["kind"] == "transfers"]
    return found


def error_of(agent: Agent) -> str:
    """Why a client ends."""
    said = agent.next("phase")
    if said["kind"] == "phase":
        agent.tell(wire.GoCommand())
        said = agent.next("phase")
    assert said["kind"] == "error", said
    return str(said["message"])


def folder(path: Path, *, synced: bool = False) -> wire.FolderStore:
    """A folder of a test, wherever it is."""
    on = subprocess.run(
        ["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True
    )
    return wire.FolderStore(
        folder=str(path), place="ram" if on.stdout.strip() == "tmpfs" else "cache", synced=synced
    )


def made_by(agent: Agent, folder: Path) -> Path:
    """The file that an agent has made in a folder. It has no name there."""
    opened = Path(f"/proc/{agent.process.pid}/fd")
    (made,) = [one for one in opened.iterdir() if one.readlink().parent == folder]
    return made


# ---- beside each other and other programs


@pytest.mark.parametrize("direction", ["get", "put"])
def test_several_sessions_carry_their_files_at_once(start: Start, direction: str) -> None:
    there = server(start, 3, direction=direction)
    found = transfers(client(start, there.at, 3, direction=direction))
    assert sorted(found["connection"]) == [0, 0, 1, 1, 2, 2]
    assert found["bytes_received" if direction == "get" else "bytes_sent"] == [SIZE] * 6
    times = zip(found["started_ns"], found["first_byte_ns"], found["ended_ns"], strict=True)
    assert all(started < first < ended for started, first, ended in times)
    (refused,) = [one for one in there.agent.stop() if one["kind"] == "refused"]
    assert (refused["wrong_address"], refused["wrong_token"]) == (0, 0)


def curl(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [program("curl"), "-sS", "-m", str(TIME_LIMIT_S), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@needs_programs("curl")
@pytest.mark.parametrize("data_path", ["copying", "sendfile"])
@pytest.mark.parametrize("mode", ["--ftp-pasv", "--disable-epsv"])
def test_curl_downloads(start: Start, tmp_path: Path, data_path: str, mode: str) -> None:
    served = tmp_path / "served"
    served.mkdir()
    there = server(start, store=folder(served), data_path=data_path, login=LOGIN)
    (served / "own").write_bytes(os.urandom(SIZE + 7))
    for name, source in (("data", made_by(there.agent, served)), ("own", served / "own")):
        done = curl(mode, "-o", str(tmp_path / name), there.url(name))
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).read_bytes() == source.read_bytes()


@needs_programs("curl")
@pytest.mark.parametrize("synced", [False, True])
def test_curl_uploads(start: Start, tmp_path: Path, synced: bool) -> None:
    served, own = tmp_path / "served", tmp_path / "own"
    served.mkdir()
    own.write_bytes(os.urandom(SIZE))
    store = folder(served, synced=synced)
    there = server(start, direction="put", store=store, login=LOGIN, verify=False)
    done = curl("-T", str(own), there.url("taken"))
    assert done.returncode == 0, done.stderr
    assert (served / "taken").read_bytes() == own.read_bytes()


@pytest.fixture
def vsftpd(tmp_path: Path) -> Iterator[wire.Endpoint]:
    """vsftpd, which serves the file `data` and takes files in `up`."""
    root, empty = tmp_path / "root", tmp_path / "empty"
    for path in (root, root / "up", empty):
        path.mkdir()
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(path.stat().st_mode | 0o011)
    (root / "up").chmod(0o777)
    (root / "data").write_bytes(os.urandom(SIZE))
    port = free_port()
    settings = {
        "listen": "YES",
        "listen_address": HERE,
        "listen_port": port,
        "background": "NO",
        "anonymous_enable": "YES",
        "anon_root": root,
        "ftp_username": "daemon",
        "secure_chroot_dir": empty,
        "seccomp_sandbox": "NO",
        "write_enable": "YES",
        "anon_upload_enable": "YES",
        "anon_other_write_enable": "YES",
        "connect_from_port_20": "NO",
        "xferlog_enable": "NO",
    }
    config = tmp_path / "vsftpd.conf"
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    process = subprocess.Popen([program("vsftpd"), config])
    try:
        wait_for_port(port)
        yield wire.Endpoint(address=HERE, port=port)
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind((str(HERE), 0))
        return int(one.getsockname()[1])


def wait_for_port(port: int) -> None:
    until = time.monotonic() + 20
    while True:
        try:
            socket.create_connection((str(HERE), port), timeout=1).close()
        except OSError:
            assert time.monotonic() < until, "it does not listen"
            time.sleep(0.05)
        else:
            return


@needs_root("vsftpd changes its user")
@needs_programs("vsftpd")
@pytest.mark.parametrize(("direction", "path"), [("get", "data"), ("put", "up/file")])
def test_the_client_talks_to_vsftpd(
    start: Start, vsftpd: wire.Endpoint, tmp_path: Path, direction: str, path: str
) -> None:
    agent = client(start, vsftpd, direction=direction, path=path, login=LOGIN, verify=False)
    found = transfers(agent)
    assert found["bytes_received" if direction == "get" else "bytes_sent"] == [SIZE] * 2
    if direction == "put":
        assert (tmp_path / "root/up/file-0").stat().st_size == SIZE


@needs_root("vsftpd changes its user")
@needs_programs("vsftpd")
def test_a_log_in_that_vsftpd_refuses_is_told(start: Start, vsftpd: wire.Endpoint) -> None:
    nobody = wire.FtpLogin(user="nobody-at-all", password="x")
    why = error_of(client(start, vsftpd, login=nobody))
    assert "the server refuses the log-in: 530" in why


# ---- faults


def test_a_refused_log_in_is_an_error_and_is_counted(start: Start) -> None:
    there = server(start)
    wrong = wire.FtpLogin(user="netstudy-0", password="wrong")
    why = error_of(client(start, there.at, login=wrong))
    assert "the server refuses the log-in: 530" in why
    (refused,) = [one for one in there.agent.stop() if one["kind"] == "refused"]
    assert refused["wrong_token"] == 1


def test_a_size_that_is_not_the_announced_one_is_an_error(start: Start) -> None:
    there = server(start)
    why = error_of(client(start, there.at, size_bytes=SIZE + 1))
    assert f"the file data has {SIZE} B instead of the {SIZE + 1} B of the plan" in why


def test_paths_out_of_the_served_folder_are_refused(start: Start, tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (tmp_path / "secret").write_text("secret")
    (served / "link").symlink_to(tmp_path / "secret")
    there = server(start, store=folder(served), login=LOGIN)
    with there.session() as ftp:
        ftp.voidcmd("TYPE I")
        for path in ("../secret", str(tmp_path / "secret"), "link", "/etc/passwd", "/../secret"):
            with pytest.raises(ftplib.error_perm, match=r"^55[03]"):
                ftp.retrbinary(f"RETR {path}", lambda _: None)
            with pytest.raises(ftplib.error_perm, match=r"^55[03]"):
                ftp.size(path)
        assert ftp.size("data") == SIZE


def test_a_bounce_to_another_address_is_refused(start: Start) -> None:
    there = server(start, login=LOGIN)
    with there.session() as ftp, socket.socket() as other:
        other.bind((str(HERE), 0))
        other.listen()
        other.settimeout(0.5)
        port = other.getsockname()[1]
        for command in (f"PORT 127,0,0,1,{port >> 8},{port & 255}", f"EPRT |1|127.0.0.1|{port}|"):
            with pytest.raises(ftplib.error_perm, match=r"^502"):
                ftp.voidcmd(command)
        with pytest.raises(TimeoutError):
            other.accept()


@pytest.fixture
def many_open_files() -> Iterator[None]:
    """The shells of ordinary users allow 1,024 open files until one asks for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_open_files")
def test_a_thousand_idle_connections_hold_up_no_session(start: Start) -> None:
    there = server(start, login=LOGIN)
    with there.session() as ftp:
        idle, said = [], []
        for _ in range(1_000):
            one = socket.create_connection((str(HERE), there.at.port), timeout=20)
            idle.append(one)
            said.append(one.recv(100)[:3])
        assert set(said) == {b"220", b"421"}
        assert said.count(b"220") < 32
        ftp.voidcmd("TYPE I")
        got: list[bytes] = []
        ftp.retrbinary("RETR data", got.append)
        assert sum(map(len, got)) == SIZE
        for one in idle:
            one.close()


@needs_root("a full disk is mounted")
def test_a_full_disk_at_the_sink_is_told_to_the_client(start: Start, tmp_path: Path) -> None:
    mount = f'mount -t tmpfs -o size=256k tmpfs {tmp_path} && exec "$@"'
    prefix = ("unshare", "--mount", "sh", "-c", mount, "sh")
    store = wire.FolderStore(folder=str(tmp_path), place="ram")
    there = server(start, 4, *prefix, direction="put", store=store)
    why = error_of(client(start, there.at, direction="put"))
    assert "452 No space is left for the file." in why


@needs_root("a full disk is mounted")
def test_a_full_disk_at_a_client_that_fetches_is_an_error(start: Start, tmp_path: Path) -> None:
    there = server(start, 1)
    mount = f'mount -t tmpfs -o size=256k tmpfs {tmp_path} && exec "$@"'
    prefix = ("unshare", "--mount", "sh", "-c", mount, "sh")
    store = wire.FolderStore(folder=str(tmp_path), place="ram")
    why = error_of(client(start, there.at, 1, *prefix, store=store))
    assert "no space is left here for the file" in why


def test_an_upload_that_is_cut_in_the_middle_is_no_file(start: Start) -> None:
    """Where a client's data end early, or go on, the server does not confirm the transfer."""
    with server(start, login=LOGIN).session() as ftp:
        got: list[bytes] = []
        ftp.retrbinary("RETR data", got.append)
    whole = b"".join(got)
    with server(start, direction="put", login=LOGIN).session() as ftp:
        ftp.voidcmd("TYPE I")
        for data in (whole[: SIZE // 2], whole * 2, b""):
            with suppress(OSError), ftp.transfercmd("STOR taken") as carried:
                carried.sendall(data)  # of one that is too long the server does not take the rest
            with pytest.raises(ftplib.error_temp, match=r"^4(26|51)"):
                ftp.voidresp()
        assert ftp.storbinary("STOR taken", io.BytesIO(whole)).startswith("226")


class Peer:
    """A server of a few lines, which misbehaves."""

    def __init__(self, data: bytes, end: str, passive: str | None = None) -> None:
        self.listener = socket.create_server((str(HERE), 0))
        self.port = self.listener.getsockname()[1]
        self.data, self.end, self.passive = data, end, passive
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    @property
    def at(self) -> wire.Endpoint:
        return wire.Endpoint(address=HERE, port=self.port)

    def serve(self) -> None:
        with suppress(ConnectionError):  # a client that refuses what it hears leaves at once
            self._answer()

    def _answer(self) -> None:
        with self.listener:
            control, _ = self.listener.accept()
        with (
            control,
            control.makefile("r") as said,
            socket.create_server((str(HERE), 0)) as passive,
        ):
            port = passive.getsockname()[1]
            control.sendall(b"220 hello\r\n")
            for line in said:
                answer = {
                    "USER": "331 go on",
                    "PASS": "230 fine",
                    "TYPE": "200 fine",
                    "SIZE": f"213 {SIZE}",
                    "EPSV": "502 no" if self.passive else f"229 Entering (|||{port}|)",
                    "PASV": f"227 Entering ({self.passive})",
                    "RETR": "150 it comes",
                }[line.split()[0].upper()]
                control.sendall(answer.encode() + b"\r\n")
                if line.startswith("RETR"):
                    data, _ = passive.accept()
                    with data:
                        data.sendall(self.data)
                    if self.end:
                        control.sendall(self.end.encode() + b"\r\n")


@pytest.mark.parametrize(
    ("bytes_sent", "end", "said"),
    [
        (SIZE // 2, "426 cut", "the server refuses the transfer: 426 cut"),
        (SIZE // 2, "226 done", f"the transfer was cut off: {SIZE // 2} B of {SIZE} B arrived"),
        (SIZE + 1, "226 done", f"the transfer was longer than announced: {SIZE + 1} B of {SIZE} B"),
    ],
)
def test_a_file_that_is_not_whole_is_an_error(
    start: Start, bytes_sent: int, end: str, said: str
) -> None:
    peer = Peer(b"x" * bytes_sent, end)
    assert said in error_of(client(start, peer.at, login=LOGIN, verify=False))


def test_a_byte_that_was_not_sent_so_is_an_error(start: Start) -> None:
    peer = Peer(b"x" * SIZE, "226 done")
    why = error_of(client(start, peer.at, login=LOGIN))
    assert "byte 0 of the file differs from the expected pattern" in why


def test_data_from_a_foreign_address_are_not_fetched(start: Start) -> None:
    peer = Peer(b"", "", passive="127,0,0,2,7,208")
    why = error_of(client(start, peer.at, login=LOGIN))
    assert "the reply to PASV names another host, 127.0.0.2" in why


def test_a_server_that_goes_away_is_an_error(start: Start) -> None:
    there = server(start, size_bytes=50_000_000)
    agent = client(start, there.at, size_bytes=50_000_000, measure=UntilCount(count=1_000))
    assert agent.next("phase")["kind"] == "phase"
    agent.tell(wire.GoCommand())
    time.sleep(0.2)
    there.agent.end()
    said = agent.next("phase")
    assert said["kind"] == "error"
    assert str(there.at.port) in said["message"]
