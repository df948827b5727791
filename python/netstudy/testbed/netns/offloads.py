"""Features of an interface on and off, by the ioctl that `ethtool -K` and `-k` are made of.

Needs no program of its own, and no process an interface. linux/ethtool.h has the numbers.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from collections.abc import Mapping

from netstudy.store.nodes import Tuning

_SIOCETHTOOL = 0x8946  # linux/sockios.h

_GET_AND_SET = {
    "tx": (0x16, 0x17),  # ETHTOOL_GTXCSUM, ETHTOOL_STXCSUM
    "tso": (0x1E, 0x1F),  # ETHTOOL_GTSO, ETHTOOL_STSO
    "gso": (0x23, 0x24),  # ETHTOOL_GGSO, ETHTOOL_SGSO
    "gro": (0x2B, 0x2C),  # ETHTOOL_GGRO, ETHTOOL_SGRO
}
"""ETHTOOL_G… and ETHTOOL_S…, under the names of `ethtool -K`."""
_GET_DRIVER, _GET_STRINGS, _GET_SET_INFO, _GET_FEATURES = 0x03, 0x1B, 0x37, 0x3A
_FEATURES = 4
"""ETH_SS_FEATURES: the set of strings that holds the features' names."""
_NAME_BYTES, _FEATURES_PER_BLOCK = 32, 32
"""ETH_GSTRING_LEN, and the features of an ethtool_get_features_block."""


def set_offloads(interface: str, wanted: Mapping[str, bool]) -> list[Tuning]:
    """Set features of an interface of the current namespace; what that changed. Raises OSError when
    refused."""
    return [_set_offload(interface, feature, on=on) for feature, on in wanted.items()]


def _set_offload(interface: str, feature: str, *, on: bool) -> Tuning:
    get, set_ = _GET_AND_SET[feature]
    before = _value(interface, get)
    _ethtool(interface, struct.pack("II", set_, int(on)))
    after = _value(interface, get)
    command = f"ethtool -K {interface} {feature} {_state(on)}"
    return Tuning(command=command, before=_state(before), after=_state(after))


def offloads(interface: str) -> str:
    """All features of an interface of the current namespace as `ethtool -k` prints them, by the
    kernel's own names. Raises OSError when refused."""
    asked = struct.pack("IIQI", _GET_SET_INFO, 0, 1 << _FEATURES, 0)
    count = struct.unpack_from("I", _ethtool(interface, asked), 16)[0]
    asked = struct.pack("III", _GET_STRINGS, _FEATURES, count) + bytes(count * _NAME_BYTES)
    names = _ethtool(interface, asked)[12:]
    blocks = -(-count // _FEATURES_PER_BLOCK)
    asked = struct.pack("II", _GET_FEATURES, blocks) + bytes(16 * blocks)
    found = _ethtool(interface, asked)
    lines = []
    for number in range(count):
        name = _text(names[number * _NAME_BYTES : (number + 1) * _NAME_BYTES])
        block, bit = divmod(number, _FEATURES_PER_BLOCK)
        available, _, active, never = struct.unpack_from("IIII", found, 8 + 16 * block)
        fixed = never >> bit & 1 or not available >> bit & 1
        if name:
            lines.append(f"{name}: {_state(active >> bit & 1)}{' [fixed]' if fixed else ''}\n")
    return "".join(sorted(lines))


def driver(interface: str) -> str:
    """The driver of an interface of the current namespace, with its version where it tells one.
    Raises OSError when refused."""
    told = _ethtool(interface, struct.pack("I", _GET_DRIVER) + bytes(192))
    name, version = _text(told[4:36]), _text(told[36:68])
    return f"{name} {version}".rstrip()


def _state(on: int) -> str:
    return "on" if on else "off"


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode()


def _value(interface: str, command: int) -> int:
    """That of an ethtool_value."""
    return int(struct.unpack("II", _ethtool(interface, struct.pack("II", command, 0)))[1])


def _ethtool(interface: str, asked: bytes) -> bytes:
    """A structure of linux/ethtool.h, as the kernel gives it back."""
    data = ctypes.create_string_buffer(asked, len(asked))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(data))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
    return data.raw
