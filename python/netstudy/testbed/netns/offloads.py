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
    "tso": 0x1F,  # ETHTOOL_STSO
    "gso": 0x24,  # ETHTOOL_SGSO
    "gro": 0x2C,  # ETHTOOL_SGRO
}
"""ETHTOOL_S…, under the names of `ethtool -K`."""


def set_offloads(interface: str, wanted: Mapping[str, bool]) -> None:
    """Set features of an interface of the current namespace. Raises OSError when refused."""
    for feature, on in wanted.items():
        _ethtool(interface, _SET[feature], int(on))


def _ethtool(interface: str, command: int, value: int) -> None:
    """One ethtool_value: the command, and its value."""
    data = ctypes.create_string_buffer(struct.pack("II", command, value), 8)
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(data))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
