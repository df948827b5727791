"""The engines that this machine can copy to hosts: one for each architecture.

A statically linked engine runs on any Linux of its architecture. The engine of a checkout is linked
to this machine's libraries; it is copied to hosts of the same architecture if there is no static
one, and may not run there.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netstudy.errors import TestbedError
from netstudy.testbed.engine import ENGINE_NAME, find_engine

_MACHINES: Final = {62: "x86_64", 183: "aarch64"}
"""e_machine of ELF -> the word of `uname -m`: elf(5)."""
_PT_INTERP: Final = 3
_CHECKOUT: Final = Path(__file__).parents[4]


@dataclass(frozen=True)
class Engine:
    """An engine for hosts of an architecture."""

    path: Path
    sha256: str
    is_static: bool

    def read(self) -> bytes:
        """The whole binary."""
        return self.path.read_bytes()


def engine_for(architecture: str) -> Engine:
    """The engine to copy to hosts of an architecture, as `uname -m` gives it. Raises TestbedError
    if this machine has none."""
    found = [
        Engine(path, _sha256(path), is_static)
        for path, (machine, is_static) in _candidates(architecture)
        if machine == architecture
    ]
    if architecture not in _MACHINES.values():
        known = " and ".join(_MACHINES.values())
        raise TestbedError(f"there is no engine for {architecture}: engines are for {known}")
    if not found:
        raise TestbedError(
            f"there is no engine for {architecture} here; `make engine-static` in a checkout makes "
            f"dist/{ENGINE_NAME}-{architecture}"
        )
    return next((one for one in found if one.is_static), found[0])


def _candidates(architecture: str) -> Iterator[tuple[Path, tuple[str | None, bool]]]:
    own = find_engine()
    named = f"{ENGINE_NAME}-{architecture}"
    for path in (own, own.with_name(named), _CHECKOUT / "dist" / named):
        if path.is_file():
            yield path, elf(path)


def elf(path: Path) -> tuple[str | None, bool]:
    """The architecture of a program and whether it is statically linked, from its ELF headers. An
    unknown architecture is None, as that of a file that is no 64-bit little-endian program."""
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            return None, False
        (machine,) = struct.unpack_from("<H", head, 18)
        (offset,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(offset)
        table = file.read(size * count)
    kinds = {struct.unpack_from("<I", table, size * n)[0] for n in range(len(table) // size)}
    return _MACHINES.get(machine), _PT_INTERP not in kinds


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
