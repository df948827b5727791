"""The settings of a kernel that concern TCP, queues and buffers: files below /proc/sys/net."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Final

FOLDER: Final = "/proc/sys/net"
PATTERNS: Final = ("ipv4/tcp_*", "core/*")
"""Files below the folder; each network namespace has settings of its own there."""
_SECRET: Final = re.compile(r"_(key|seed)$")
"""Names of settings that contain secret keys, for example for TCP Fast Open and for hashes."""


def is_secret(path: PurePath) -> bool:
    """True if a setting holds a secret, which no file of results may have."""
    return _SECRET.search(path.name) is not None


def setting(path: PurePath, text: str) -> tuple[str, str]:
    """Name and value of a setting, as sysctl(8) writes them."""
    return f"net.{path.parent.name}.{path.name}", " ".join(text.split())
