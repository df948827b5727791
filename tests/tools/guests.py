"""Guests for tests: hosts with a kernel of their own, Debian's Linux 6.1, in an emulator without
KVM.

A guest has sshd at 10.97.0.N in the control network, and 10.98.0.N in the test network, of 20
Mbit/s. They and the controller are in namespaces of the test, and end with them. Only root may use
tap devices.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from netstudy.testbed.netns.sandbox import sandbox_command
from tests.skips import needs_programs, needs_root
from tests.testbed.conftest import CHECKOUT, User
from tests.tools.guest_image import make_image
from tests.tools.lab import SSH, Lab

KERNEL: Final = CHECKOUT / ".cache/guests/kernel"
"""Into which `tools/programs slow` unpacks the kernel's package."""
PACKAGE: Final = "linux-image-6.1.0-*-cloud-amd64"
_PARTS = Path(__file__).parent
_OFFLOADS = ("csum", "gso", "host_tso4", "host_tso6", "host_ecn", "host_ufo")
_RECEIVED = ("guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo")
_MACHINE = (
    "-accel tcg -cpu max -m 320 -nodefaults -display none -no-user-config "
    "-append 'console=ttyS0 panic=1 quiet net.ifnames=0'"
)

needs_guests = (
    needs_programs("qemu-system-x86_64", "busybox", "ssh", "sshd", "ip", "tc"),
    needs_root("only root may use tap devices"),
    pytest.mark.skipif(
        not KERNEL.exists(), reason=f"needs the package {PACKAGE}, from tools/programs slow"
    ),
)


@dataclass(frozen=True)
class Guests(Lab):
    """Guests that are running, and the shell of their controller."""

    folder: Path
    names: tuple[str, ...]

    def start(self, name: str) -> None:
        """Switch a guest on; it answers when this returns."""
        number = self.names.index(name) + 1
        self._ran(
            f"qemu-system-x86_64 {_MACHINE} -kernel {_kernel()} -initrd {self.folder}/{name}.img "
            f"-serial file:{self.folder}/{name}.console "
            f"{_interface('c', number)} {_interface('t', number)} "
            f">{self.folder}/{name}.log 2>&1 & echo $! >{self.folder}/{name}.pid"
        )

    def wait(self, name: str) -> None:
        """Wait until a guest answers."""
        self._ran(f"until {SSH} {name} true; do sleep 1; done 2>/dev/null")

    def kill(self, name: str) -> None:
        """Switch a guest off, without a word to anybody."""
        self._ran(f"kill -9 $(cat {self.folder}/{name}.pid)")

    def cpu_s(self, name: str) -> float:
        """CPU time that a guest has taken so far."""
        return float(self._ran(f"ps -o cputimes= -p $(cat {self.folder}/{name}.pid)"))

    def _ran(self, script: str) -> str:
        done = self.run(script)
        assert done.code == 0, done.output
        return done.output


@contextmanager
def guests_of(user: User, folder: Path, count: int) -> Iterator[Guests]:
    """This many guests: h1, h2, …"""
    names = tuple(f"h{number}" for number in range(1, count + 1))
    _make_images(folder, names)
    process = user.start(
        *sandbox_command(["sh"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        guests = Guests(user, process, folder, names)
        assert process.stdin is not None
        process.stdin.write(f"set -- {folder} {count}; . {_PARTS}/guests.sh\n")
        for name in names:
            guests.start(name)
        for name in names:
            guests.wait(name)
        yield guests
    finally:
        process.kill()
        process.communicate()


def _make_images(folder: Path, names: tuple[str, ...]) -> None:
    """Images, keys, and the controller's home folder."""
    home = folder / "home"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    key = home / ".ssh/id_ed25519"
    _make_key(key)
    known, config = "", "User ns\n"
    for number, name in enumerate(names, start=1):
        control, host_key = f"10.97.0.{number}", folder / f"{name}.key"
        _make_key(host_key)
        make_image(
            folder / f"{name}.img",
            KERNEL,
            name=name,
            addresses={"eth0": f"{control}/24", "eth1": f"10.98.0.{number}/24"},
            host_key=host_key,
            public_key=key.with_suffix(".pub").read_text(),
        )
        known += f"{name} {host_key.with_suffix('.key.pub').read_text()}"
        config += f"Host {name}\n  HostName {control}\n  HostKeyAlias {name}\n"
    (home / ".ssh/known_hosts").write_text(known)
    (home / ".ssh/config").write_text(config)
    own = [line.split(":") for line in Path("/etc/passwd").read_text().splitlines()]
    lines = [":".join([*one[:5], str(home), *one[6:]] if one[2] == "0" else one) for one in own]
    (folder / "passwd").write_text("".join(f"{line}\n" for line in lines))


def _make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def _kernel() -> Path:
    (found,) = (KERNEL / "boot").glob("vmlinuz-*")
    return found


def _interface(network: str, number: int) -> str:
    device = f"{network}{number}"
    mac = f"52:54:00:{ord(network):02x}:00:{number:02x}"
    off = ",".join(f"{name}=off" for name in (*_OFFLOADS, *_RECEIVED))
    return (
        f"-netdev tap,id={device},ifname={device},script=no,downscript=no "
        f"-device virtio-net-pci,netdev={device},mac={mac},romfile=,{off}"
    )
