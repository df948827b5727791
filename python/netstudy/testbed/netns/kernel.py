"""What the kernel here is: the facts that decide what the namespace testbed can do on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """A kernel, as far as its TCP and its queues matter; found out by `capabilities`."""

    release: str
    """As `uname -r` prints it."""
    tick_ns: int
    """Time between two interrupts of its clock: the granularity of TCP's timers."""
    sysctls: frozenset[str]
    """Files below /proc/sys/net that a new namespace may write, by their path from there."""
    congestion_controls: frozenset[str]
    """Those that a socket could be given."""
    hystart: bool
    """Whether its cubic has HyStart switched on, which is one switch for the whole machine."""
    qdiscs: frozenset[str]
    """Queue disciplines that an interface could be given."""
    links: frozenset[str]
    """Kinds of links that could be made: veth, bridge."""
    packet_sockets: bool
    """Whether a program may receive and send frames (AF_PACKET)."""
    source_routes: bool
    """Whether a route may depend on the address that a packet comes from."""

    @property
    def version(self) -> tuple[int, int]:
        """(6, 18) for 6.18.44-generic."""
        major, minor = self.release.split("-")[0].split(".")[:2]
        return int(major), int(minor)

    @property
    def name(self) -> str:
        """Linux 6.18: how a sentence calls it."""
        return "Linux {}.{}".format(*self.version)
