"""The command lines of the ssh client, and the causes that are read from what it writes."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from netstudy.errors import TestbedError
from netstudy.testbed.ssh import connect
from netstudy.testbed.ssh.connect import explained, master_argv, session_argv, socket_folder

HOSTILE = """\
Host *
    RemoteCommand top
    RequestTTY force
    ControlMaster autoask
    ControlPath none
    ControlPersist yes
    ServerAliveInterval 0
    ServerAliveCountMax 99
    ConnectTimeout 0
    ConnectionAttempts 7
    ForwardAgent yes
    ForwardX11 yes
    LocalForward 8080 localhost:80
    Tunnel yes
    PermitLocalCommand yes
    LocalCommand echo mine
    StrictHostKeyChecking no
    BatchMode no
    LogLevel QUIET
    EscapeChar %
    UpdateHostKeys yes
    AddKeysToAgent yes
    ProxyJump bastion
    User someone
    Port 2222
"""


def settings(argv: list[str], tmp_path: Path) -> dict[str, str]:
    """What the ssh client makes of a command line and a configuration (`ssh -G`)."""
    (tmp_path / "config").write_text(HOSTILE)
    options = argv[: argv.index("--") + 2]
    command = [options[0], "-G", "-F", str(tmp_path / "config"), *options[1:]]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("no ssh client")
    return dict(line.split(" ", 1) for line in said.stdout.splitlines() if " " in line)


def test_options_that_would_break_the_protocol_are_overridden(tmp_path: Path) -> None:
    found = settings(master_argv("alpha", "/run/x/0"), tmp_path)
    assert "remotecommand" not in found
    assert "localforward" not in found
    expected = {
        "requesttty": "false",
        "controlmaster": "true",
        "controlpath": "/run/x/0",
        "controlpersist": "no",
        "serveraliveinterval": "2",
        "serveralivecountmax": "3",
        "connecttimeout": "10",
        "connectionattempts": "1",
        "forwardagent": "no",
        "forwardx11": "no",
        "tunnel": "false",
        "permitlocalcommand": "no",
        "stricthostkeychecking": "true",
        "batchmode": "yes",
        "loglevel": "INFO",
        "escapechar": "none",
        "updatehostkeys": "false",
        "addkeystoagent": "false",
    }
    assert {name: found[name] for name in expected} == expected


def test_the_users_own_way_to_the_host_counts(tmp_path: Path) -> None:
    found = settings(master_argv("alpha", "/run/x/0"), tmp_path)
    assert (found["proxyjump"], found["user"], found["port"]) == ("bastion", "someone", "2222")


def test_a_session_never_logs_in_by_itself(tmp_path: Path) -> None:
    found = settings(session_argv("alpha", "/run/x/0", "true"), tmp_path)
    assert found["controlpath"] == "/run/x/0"
    assert found["controlmaster"] == "false"
    assert found["proxycommand"] == "false"
    assert found["requesttty"] == "false"


def test_a_destination_is_never_taken_for_an_option() -> None:
    for argv in (master_argv("-v", "/x"), session_argv("-v", "/x", "true")):
        assert argv[argv.index("--") + 1] == "-v"


CHANGED = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
The fingerprint for the ED25519 key sent by the remote host is
SHA256:4v2nUgnFSJLgCW7rrDVwv5h9SFrVUpmSfpxHiFBZkFs.
Please contact your system administrator.
Add correct host key in /u/.ssh/known_hosts to get rid of this message.
Offending ED25519 key in /u/.ssh/known_hosts:1
  remove with:
  ssh-keygen -f "/u/.ssh/known_hosts" -R "10.99.0.1"
Host key for 10.99.0.1 has changed and you have requested strict checking.
Host key verification failed.
"""


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (CHANGED, "the host key of alpha is not the known one in /u/.ssh/known_hosts:1: "),
        (CHANGED, "It shows SHA256:4v2nUgnFSJLgCW7rrDVwv5h9SFrVUpmSfpxHiFBZkFs; `cat"),
        (CHANGED, 'remove the old key, ssh-keygen -f "/u/.ssh/known_hosts" -R "10.99.0.1", '),
        (
            "No ED25519 host key is known for alpha and you have requested strict checking.\n"
            "Host key verification failed.\n",
            "the host key of alpha is not known here. Log in once by hand, `ssh alpha true`, and",
        ),
        (
            "ns@10.0.0.1: Permission denied (publickey,password).\n",
            "alpha refuses the log-in (publickey,password): `ssh alpha true` must work without",
        ),
        (
            "ssh: Could not resolve hostname alpha.lab: Name or service not known\n",
            "there is no host alpha.lab: neither a Host of ~/.ssh/config nor",
        ),
        (
            "ssh: connect to host a port 22: Connection refused\n",
            "alpha refuses the connection: no",
        ),
        ("ssh: connect to host a port 22: No route to host\n", "there is no route to alpha"),
        ("ssh: connect to host a port 22: Connection timed out\n", "does not answer within 10 s"),
        ("Connection reset by 10.0.0.1 port 22\n", "alpha ended the connection during the log-in"),
        (
            "/u/.ssh/config: line 3: Bad configuration option: foo\n"
            "/u/.ssh/config: terminating, 1 bad configuration options\n",
            "refuses its configuration: /u/.ssh/config: line 3: Bad configuration option: foo",
        ),
        ("something new\n", "the log-in to alpha failed: something new; try it by hand"),
        ("", "the log-in to alpha failed: ssh said nothing; try it by hand"),
    ],
)
def test_each_failed_log_in_has_its_cause(errors: str, told: str) -> None:
    said = explained("a", "alpha", errors)
    assert said.startswith("a: ")
    assert told in said


def test_the_folder_of_sockets_is_private_short_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/tmp")
    with socket_folder() as folder:
        assert Path(folder).stat().st_mode & 0o777 == 0o700
        # OpenSSH adds 17 bytes; a path of a socket has 107 (unix(7)).
        assert len(os.fsencode(f"{folder}/9999")) + 17 <= 107
    assert not Path(folder).exists()


def test_the_folder_of_a_killed_process_is_removed_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with tempfile.TemporaryDirectory() as short:  # the path of tmp_path is too long for a socket
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        for name in (f"{ended.pid}-x", f"{os.getpid()}-x", "notes"):
            Path(short, f"netstudy-ssh-{name}").mkdir()
        with socket_folder():
            names = {path.name for path in Path(short).iterdir()}
    assert f"netstudy-ssh-{ended.pid}-x" not in names
    assert {f"netstudy-ssh-{os.getpid()}-x", "netstudy-ssh-notes"} < names


async def _log_in(tmp_path: Path, destination: str = "alpha") -> None:
    async with connect.master("alpha", destination, str(tmp_path / "0")):
        pass


def test_a_server_that_ends_the_connection_is_said_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            asking, _ = listening.accept()
            with asking:
                asking.sendall(b"SSH-2.0-busy\r\n")
                asking.recv(65_536)

        answering = threading.Thread(target=answer)
        answering.start()
        port = listening.getsockname()[1]
        with pytest.raises(TestbedError, match="ended the connection during the log-in"):
            asyncio.run(_log_in(tmp_path, f"ssh://127.0.0.1:{port}"))
        answering.join()


def test_without_a_client_its_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TestbedError, match="apt-get install openssh-client"):
        asyncio.run(_log_in(tmp_path))
