"""Features of an interface on and off, by the ioctl that `ethtool -K` is made of.

Needs no program of its own, and no process an interface. linux/ethtool.h has the numbers.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from collections.abc import Mapping

_SIOCETHTOOL = 0x8946  # linux/sockios.h

_SET = {
    "tx": 0x17,  # ETHTOOL_STXCSUM
    "sg": 0x19,  # ETHTOOL_SSG
    "tso": 0x1F,  # ETHTOOL_STSO
    "gso": 0x24,  # ETHTOOL_SGSO
    "gro": 0x2C,  # ETHTOOL_SGRO
}
_GET = {"tx": 0x16, "sg": 0x18, "tso": 0x1E, "gso": 0x23, "gro": 0x2B}
"""ETHTOOL_G…, under the names of `ethtool -K`."""


def set_offloads(interface: str, wanted: Mapping[str, bool]) -> None:
    """Set features of an interface of the current namespace. Raises OSError when refused."""
    for feature, on in wanted.items():
        _ethtool(interface, _SET[feature], int(on))


def get_offloads(interface: str) -> dict[str, bool]:
    """Every feature that `set_offloads` knows, as it is now."""
    return {feature: _ethtool(interface, command, 0) != 0 for feature, command in _GET.items()}


def _ethtool(interface: str, command: int, value: int) -> int:
    """One ethtool_value: the command, then a value that goes in or comes out."""
    data = ctypes.create_string_buffer(struct.pack("II", command, value), 8)
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(data))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
    return int(struct.unpack("II", data.raw)[1])
