"""The image of a guest: an initramfs with Debian's sshd, the programs that netstudy needs at hosts,
and drivers of the guest's kernel. Everything but the kernel is this machine's."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from netstudy.testbed.ssh.engines import engine_for

_INIT = Path(__file__).with_name("guest_init.sh")
_BUSYBOX: Final = "/bin/busybox"
_APPLETS: Final = ("insmod", "ip", "mount", "hostname", "reboot", "ps", "pgrep", "grep")
"""Programs that busybox stands in for: those that start a guest, and that tests look with."""
_PROGRAMS: Final = (
    *("cat", "chmod", "chown", "cut", "date", "df", "dirname", "id", "ls", "mkdir", "mv", "rm"),
    *("rmdir", "sha256sum", "sleep", "sync", "tail", "touch", "true", "uname"),
)
"""Debian's coreutils, as hosts have them."""
_DRIVERS: Final = (
    *("drivers/virtio/virtio_ring.ko", "drivers/virtio/virtio.ko"),
    *("drivers/virtio/virtio_pci_modern_dev.ko", "drivers/virtio/virtio_pci_legacy_dev.ko"),
    *("drivers/virtio/virtio_pci.ko", "net/core/failover.ko", "drivers/net/net_failover.ko"),
    *("drivers/net/virtio_net.ko", "net/ipv4/inet_diag.ko", "net/ipv4/tcp_diag.ko"),
)
"""Each after those that it needs."""
_SSHD_CONFIG: Final = """\
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
"""
_PASSWD: Final = """\
root:*:0:0::/root:/bin/sh
sshd:*:100:65534::/run/sshd:/bin/false
ns:*:1000:1000::/srv/ns:/bin/sh
"""


def make_image(
    image: Path,
    kernel: Path,
    *,
    name: str,
    addresses: Mapping[str, str],
    host_key: Path,
    public_key: str,
) -> None:
    """Write the image of a guest: its name, interface -> address with the length of the prefix, the
    private key of its sshd, and the public key that may log in as root and as ns. `kernel` is the
    folder into which the kernel's package is unpacked."""
    root = image.with_suffix(".root")
    for folder in ("dev", "etc/ssh", "modules", "proc", "root", "run", "srv", "sys", "tmp"):
        (root / folder).mkdir(parents=True)
    for folder in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / folder).mkdir(parents=True)
        (root / folder).symlink_to(f"usr/{folder}")
    _add_programs(root)
    _add_drivers(root, kernel)
    shutil.copy(_INIT, root / "init")
    (root / "init").chmod(0o755)
    etc = {
        "hostname": f"{name}\n",
        "addresses": "".join(f"{device} {one}\n" for device, one in addresses.items()),
        "passwd": _PASSWD,
        "group": "root:x:0:\nnogroup:x:65534:\nns:x:1000:\n",
        "ssh/sshd_config": _SSHD_CONFIG,
        "ssh/authorized_keys": public_key,
        "ssh/host_key": host_key.read_text(),
    }
    for file, text in etc.items():
        (root / "etc" / file).write_text(text)
    (root / "etc/ssh/host_key").chmod(0o600)
    _pack(root, image)
    shutil.rmtree(root)


def _add_programs(root: Path) -> None:
    programs = [found for one in ("sh", *_PROGRAMS) if (found := shutil.which(one))]
    programs += ["/usr/sbin/sshd", *map(str, Path("/usr/lib/openssh").glob("sshd-*"))]
    for one in (*programs, *_libraries([*programs, *_dynamic_engine()])):
        _copy(root, one)
    _copy(root, _BUSYBOX)
    for applet in _APPLETS:
        (root / "bin" / applet).symlink_to(_BUSYBOX)


def _dynamic_engine() -> list[str]:
    """The engine that is copied to hosts, if it needs libraries."""
    engine = engine_for(os.uname().machine)
    return [] if engine.is_static else [str(engine.path)]


def _libraries(programs: Iterable[str]) -> set[str]:
    """The libraries of programs, and the loader."""
    done = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True)
    return {word for word in done.stdout.split() if word.startswith("/") and word[-1] != ":"}


def _copy(root: Path, path: str) -> None:
    there = root / path.lstrip("/")
    there.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, there)


def _add_drivers(root: Path, kernel: Path) -> None:
    (release,) = (kernel / "lib/modules").iterdir()
    for driver in _DRIVERS:
        shutil.copy(release / "kernel" / driver, root / "modules")
    order = "".join(f"{Path(driver).name}\n" for driver in _DRIVERS)
    (root / "modules/order").write_text(order)


def _pack(root: Path, image: Path) -> None:
    names = sorted(str(one.relative_to(root)) for one in root.rglob("*"))
    with image.open("wb") as output:
        subprocess.run(
            [_BUSYBOX, "cpio", "-o", "-H", "newc"],
            input="".join(f"{name}\n" for name in names).encode(),
            stdout=output,
            stderr=subprocess.DEVNULL,
            cwd=root,
            check=True,
        )
