"""Sends UDP datagrams to a host from an interface, from an address that no host has: stray.py
INTERFACE MAC ADDRESS MBIT/S. Ends when it is killed.
"""

import socket
import struct
import sys
import time

_BYTES = 1_000
"""Of the IP packet."""
_FRAMING_BYTES = 14 + 4 + 20  # header, check sequence, preamble and gap
_DISCARD = 9
_STEP_S = 0.001


def frame(mac: str, address: str) -> bytes:
    """An Ethernet frame with a datagram to the port `discard` (RFC 863)."""
    target = socket.inet_aton(address)
    source = target[:3] + b"\xfd"
    size = _BYTES - 20
    datagram = struct.pack("!HHHH", _DISCARD, _DISCARD, size, 0) + bytes(size - 8)
    fields = (0x45, 0, _BYTES, 0, 0, 64, socket.IPPROTO_UDP)
    header = struct.pack("!BBHHHBBH4s4s", *fields, 0, source, target)
    header = struct.pack("!BBHHHBBH4s4s", *fields, checksum(header), source, target)
    ethernet = bytes.fromhex(mac.replace(":", "")) + b"\x02\x00\x00\xff\xff\xff\x08\x00"
    return ethernet + header + datagram


def checksum(header: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def main() -> None:
    """Say `sending` on standard output, and send until killed."""
    interface, mac, address, mbit_s = sys.argv[1:]
    sent, data, started = 0, frame(mac, address), time.monotonic()
    frames_per_s = float(mbit_s) * 1e6 / 8 / (_BYTES + _FRAMING_BYTES)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sending:
        sending.bind((interface, 0))
        sys.stdout.write("sending\n")
        sys.stdout.flush()
        while True:
            due = int((time.monotonic() - started) * frames_per_s)
            for _ in range(due - sent):
                sending.send(data)
            sent = due
            time.sleep(_STEP_S)


if __name__ == "__main__":
    main()
