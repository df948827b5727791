"""TCP of Linux as every kernel has it: the differences from a study's TCP that no setting removes.

Sources: net/ipv4 of the kernel; Documentation/networking/ip-sysctl.rst.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.wire import Tcp

_PROFILE: Final = "linux-6"
"""The TCP profile that is closest to today's kernels."""

_DELAYED_ACK_NS = 40_000_000  # TCP_DELACK_MIN, include/net/tcp.h
_INITIAL_RTO_NS = 1_000_000_000  # TCP_TIMEOUT_INIT
_QUICK_ACKS = 16  # TCP_MAX_QUICKACKS
_ACK_EVERY = 2  # RFC 5681 (4.2)
_RACK_ALWAYS = (6, 17)
"""From this version on, the RACK bit of tcp_recovery has no effect: ip-sysctl.rst."""
BURST_MAX_BYTES = 65_536  # GSO_LEGACY_MAX_SIZE

_OTHER_NAMES: Final = {"reno-ack-counting": "reno", "cubic-hystart": "cubic"}
"""Name in studies -> name in the kernel, where they differ. The kernel's reno counts acknowledged
bytes, as RFC 3465 says."""


@dataclass(frozen=True)
class KernelRelease:
    """The release of a Linux kernel."""

    release: str
    """As `uname -r` prints it."""

    @property
    def version(self) -> tuple[int, int]:
        """(6, 18) for 6.18.44-generic."""
        major, minor = self.release.split("-")[0].split(".")[:2]
        return int(major), int(minor)

    @property
    def name(self) -> str:
        """Linux 6.18, for sentences."""
        return "Linux {}.{}".format(*self.version)


def control_name(tcp: Tcp) -> str:
    """The kernel's name of a study's congestion control; reno stands for the one that counts
    acknowledgments, which no Linux has."""
    return _OTHER_NAMES.get(tcp.congestion_control, tcp.congestion_control)


def recovery_departures(tcp: Tcp, kernel: KernelRelease) -> Iterator[str]:
    """Differences in loss recovery."""
    if tcp.recovery == "fack":
        yield (
            f"{kernel.name} has no forward acknowledgment and no rate halving: "
            f"its loss recovery is that of the profile {_PROFILE}."
        )
    elif tcp.recovery == "rfc":
        yield (
            f"{kernel.name} recovers with proportional rate reduction (RFC 6937), not RFC 6675: "
            f"its loss recovery is that of the profile {_PROFILE}."
        )
    elif tcp.sack and not tcp.rack and kernel.version >= _RACK_ALWAYS:
        yield f"{kernel.name} always finds losses by time (RACK) while SACK is on."


def rule_departures(tcp: Tcp, kernel: KernelRelease) -> Iterator[str]:
    """Differences in the rules for the timeout and for the receive window."""
    if tcp.rto_rule != "linux":
        yield (
            f"{kernel.name} bounds the part of the timeout that is for variation from below, "
            "not the timeout as RFC 6298 (2.4) does."
        )
    if tcp.window_rule != "scaling-ratio":
        yield "Linux offers the payload that fits into its receive buffer, not the whole buffer."


def initial_rto_departures(tcp: Tcp, kernel: KernelRelease) -> Iterator[str]:
    """The difference in the timeout before a round trip was measured."""
    if tcp.initial_rto_ns != _INITIAL_RTO_NS:
        yield f"{kernel.name} starts with a timeout of 1 s, not {milliseconds(tcp.initial_rto_ns)}."


def ack_departures(tcp: Tcp) -> Iterator[str]:
    """Differences in acknowledgments."""
    if tcp.delayed_ack_ns != _DELAYED_ACK_NS:
        yield f"Linux delays an acknowledgment by 40 ms, not by {milliseconds(tcp.delayed_ack_ns)}."
    if tcp.ack_every_segments != _ACK_EVERY:
        yield f"Linux acknowledges every 2 segments, not every {tcp.ack_every_segments}."
    if tcp.quick_ack_segments != _QUICK_ACKS:
        yield (
            "Linux acknowledges the first 16 segments at once, "
            f"not the first {tcp.quick_ack_segments}."
        )
    if tcp.quick_ack_disorder:
        yield "Linux since 4.18 does not acknowledge quickly because of data out of order."
    if not tcp.ack_pushed:
        yield "Linux acknowledges the end of what was written as soon as it is read."


def offload_departures(tcp: Tcp) -> Iterator[str]:
    """Differences in bursts that are cut into frames below TCP."""
    if tcp.offload_burst_bytes > BURST_MAX_BYTES:
        yield f"A burst has 65536 bytes at most here, not {tcp.offload_burst_bytes}."
    if tcp.offload_burst_bytes and tcp.offload_rule != "autosizing":
        yield "Linux sizes its bursts by the pacing rate, it does not put them off."
    if tcp.offload_request_bytes:
        yield (
            "No adapter cuts packets here: "
            f"requests of {tcp.offload_request_bytes} bytes are not imposed."
        )


def milliseconds(duration_ns: int) -> str:
    """A duration in ms, for sentences."""
    return f"{duration_ns / 1_000_000:g} ms"
