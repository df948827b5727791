"""The window that a receiver offers, by the size of its buffer."""

from __future__ import annotations

from typing import Final

from netstudy.units import payload_bytes
from netstudy.wire import Tcp

_SCALE_BITS: Final = 8
_SK_BUFF_BYTES: Final = 256
_SHARED_INFO_BYTES: Final = 320
_HEADROOM_BYTES: Final = 64
_SMALL_HEAD_BYTES: Final = 576
_PAGE_BYTES: Final = 4_096
_ETHERNET_HEADER_BYTES: Final = 14


def window_bytes(tcp: Tcp, mtu_bytes: int, *, by_kernel: bool) -> int:
    """The window in bytes that a host with this TCP offers over a path with this MTU, when the
    application reads at once. `by_kernel`: True if the host is a real one, whose kernel has its own
    rule. `crates/tcp/src/endpoint/window_rule.rs` has the same formula, with its sources."""
    buffer = tcp.receive_buffer_bytes
    if tcp.window_rule == "buffer" and not by_kernel:
        return buffer
    packet = _packet_memory_bytes(mtu_bytes)
    payload = payload_bytes(mtu_bytes, timestamps=tcp.timestamps)
    ratio = (payload << _SCALE_BITS) // packet
    space = max(buffer - packet, min(buffer, packet))
    return max(space * ratio >> _SCALE_BITS, 1)


def _packet_memory_bytes(mtu_bytes: int) -> int:
    """Memory of a received packet (`truesize`)."""
    frame = mtu_bytes + _ETHERNET_HEADER_BYTES
    if frame < _PAGE_BYTES:
        needed = _HEADROOM_BYTES + frame + _SHARED_INFO_BYTES
        return (1 << (needed - 1).bit_length()) + _SK_BUFF_BYTES
    pages = -(-frame // _PAGE_BYTES)
    return pages * _PAGE_BYTES + _SMALL_HEAD_BYTES + _SK_BUFF_BYTES
