"""Hosts that run: their files, their sshd as first process, their start and end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from netstudy.errors import TestbedError
from netstudy.testbed.netns.namespaces import in_namespace, program, run_program
from netstudy.testbed.netns.users import is_all_users
from tools.ssh_lab.children import Children, children_of
from tools.ssh_lab.hosts import LabHost
from tools.ssh_lab.users import ROOT, User, passwd

_SCRIPT = Path(__file__).with_name("host.sh")
_SSH_PORT: Final = 22
_UP_S = 60.0
"""Time for all sshds to answer, on a busy machine."""
_LOOK_S = 0.02
_CONFIGURATION = """\
ListenAddress {address}
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
StrictModes no
UseDNS no
PidFile none
PrintMotd no
PrintLastLog no
MaxStartups 100:30:200
LogLevel VERBOSE
MaxSessions {sessions}
Subsystem sftp internal-sftp
"""
"""One address, so that nothing listens in the test network. StrictModes would refuse folders of
another user than root and the one who logs in, such as those above the lab's. LogLevel VERBOSE logs
each session."""


@dataclass
class Machine:
    """A host of the lab that is running."""

    host: LabHost
    user: User
    """The ordinary user who can log in."""
    children: Children
    clock_s: int
    """How far its monotonic clock is ahead of the machine's."""
    disk_mb: int
    """Size of the file system with the home folders."""
    on_disk: Path
    """The host's /var/tmp, on a disk of this machine."""
    cpu: int | None = None
    """The CPU that its processes are kept on; None: any."""
    sessions: int = 10
    """sshd's MaxSessions, as by default."""
    noexec: bool = False
    """Whether nothing on the disk can be executed."""
    helpers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, repr=False)
    """Programs that make a fault at this host, by the fault's name."""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def prepare(self, public_key: str) -> None:
        """Make the host's files."""
        own, disk = self.host.own_etc, self.host.disk
        own.mkdir(parents=True)
        disk.mkdir()
        options = f"mode=755,size={self.disk_mb}m"
        run_program("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk))
        self.on_disk.mkdir()
        self.on_disk.chmod(0o1777)
        (own / "passwd").write_text(passwd([ROOT, self.user]))
        _private(own / "shadow").write_text(f"root:*:::::::\n{self.user.name}:*:::::::\n")
        (own / "authorized_keys").write_text(public_key)
        self.write_configuration()
        self.make_key()
        for user in (ROOT, self.user):
            home = self.home(user)
            home.mkdir(parents=True)
            user.own(home, 0o700)
            (home / ".bashrc").write_text("# nothing\n")
            user.own(home / ".bashrc", 0o644)

    def home(self, user: User) -> Path:
        """The home folder of a user at the host, as the lab sees it."""
        return self.host.disk / user.home.relative_to("/")

    def write_configuration(self) -> None:
        """Write sshd's configuration, which it reads when it starts and at SIGHUP."""
        text = _CONFIGURATION.format(address=self.host.control_address, sessions=self.sessions)
        (self.host.own_etc / "sshd_config").write_text(text)

    def make_key(self) -> None:
        """Make the host's key, or another one in its place."""
        path = self.host.own_etc / "host_key"
        path.unlink(missing_ok=True)
        make_key(path)

    @property
    def public_key(self) -> str:
        """Kind and key, as in known_hosts."""
        text = (self.host.own_etc / "host_key.pub").read_text()
        return " ".join(text.split()[:2])

    def boot(self) -> None:
        """Start the host, with another boot id each time. It answers a little later: see `up`."""
        (self.host.own_etc / "boot_id").write_text(f"{uuid.uuid4()}\n")
        spaces = ["--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child"]
        clocks = [f"--monotonic={self.clock_s}", f"--boottime={self.clock_s}"]
        if self.clock_s:
            spaces += ["--time", *clocks]
        as_user = [] if is_all_users() else self.user.words()
        sshd = [program("sshd"), "-D", "-e", "-f", "/etc/ssh/sshd_config"]
        host, uid = self.host, self.user.uid
        own = [host.name, str(host.folder), str(self.on_disk), str(uid)]
        script = ["sh", str(_SCRIPT), *own, *as_user, *sshd]
        kept = [] if self.cpu is None else [program("taskset"), "--cpu-list", str(self.cpu)]
        command = [*kept, *in_namespace(host.name), program("unshare"), *spaces, "--", *script]
        self._process = self.children.start_apart(command, host.log)

    def halt(self) -> None:
        """End the host with all its processes at once, as a power cut does."""
        if self._process is not None:
            self.children.kill(self._process)
        self._process = None

    @property
    def first_process(self) -> int:
        """The process id of sshd. Raises TestbedError when the host is not running."""
        if self._process is not None and self._process.returncode is None:
            for first in children_of(self._process.pid):
                return first
        raise TestbedError(f"{self.host.name} is not running{self._last_words()}")

    def words_inside(self) -> list[str]:
        """The words to put before a command to run it at the host, as root."""
        return [*self.words_beside(), "--mount", "--"]

    def words_beside(self) -> list[str]:
        """Like `words_inside`, but the command sees the files of the lab: for programs that the
        host may not have."""
        spaces = ["--net", "--pid", "--ipc", "--uts"]
        return [program("nsenter"), f"--target={self.first_process}", *spaces]

    def start_helper(self, name: str, command: Sequence[str], *, until: str) -> None:
        """Start a program that makes a fault, and wait until it writes a line. Raises TestbedError
        when it ends instead."""
        log = self.host.folder / f"{name}.log"
        log.unlink(missing_ok=True)
        helper = self.children.start_apart(command, log)
        self.helpers[name] = helper
        while until not in log.read_text().split():
            if helper.poll() is not None:
                raise TestbedError(f"{name}: {log.read_text().strip()}")
            time.sleep(_LOOK_S)

    def stop_helper(self, name: str) -> None:
        """Stop a program that makes a fault, if there is one."""
        helper = self.helpers.pop(name, None)
        if helper is not None:
            self.children.kill(helper)

    def processes(self) -> Iterator[tuple[int, str]]:
        """The processes of the host: id in the lab, and command line."""
        own = Path(f"/proc/{self.first_process}/ns/pid").readlink()
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                if (path / "ns/pid").readlink() == own:
                    words = (path / "cmdline").read_bytes().split(b"\0")
                    yield int(path.name), b" ".join(words).decode(errors="replace").strip()

    def reload(self) -> None:
        """Have sshd read its configuration and its key again; sessions go on."""
        before = self._times_listening()
        os.kill(self.first_process, signal.SIGHUP)
        self._wait(lambda: self._times_listening() > before)

    def _times_listening(self) -> int:
        return self.host.log.read_text(errors="replace").count("Server listening on")

    def wait_until_up(self) -> None:
        """Wait until sshd answers. Raises TestbedError with the end of its log if it does not."""
        self._wait(self._answers)

    def _wait(self, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _UP_S
        while not is_done():
            if time.monotonic() > deadline:
                raise TestbedError(f"sshd of {self.host.name} does not answer{self._last_words()}")
            if self._process is not None and self._process.poll() is not None:
                raise TestbedError(f"sshd of {self.host.name} does not start{self._last_words()}")
            time.sleep(_LOOK_S)

    def _answers(self) -> bool:
        address = (self.host.control_address, _SSH_PORT)
        try:
            with socket.create_connection(address, timeout=_UP_S) as asking:
                return asking.recv(4) == b"SSH-"
        except OSError:
            return False

    def _last_words(self) -> str:
        lines = self.host.log.read_text(errors="replace").splitlines()[-5:]
        return "".join(f"\n  {line}" for line in lines)


def make_key(path: Path) -> None:
    """Make a key without a passphrase."""
    run_program("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(path))


def _private(path: Path) -> Path:
    path.touch(mode=0o600)
    return path
