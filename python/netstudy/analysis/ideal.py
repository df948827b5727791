"""What the wire alone allows: the time and the goodput of an iteration without loss or waiting.

A lower bound that needs no simulation: every byte of the blocks, in full segments with their
headers, once over the slowest of the links that all of them share.
"""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.units import FRAMING_BYTES, header_bytes
from netstudy.wire import HostGroup, Link, Network, Run


@dataclass(frozen=True)
class Ideal:
    """The bound of one iteration."""

    line_rate_bps: int
    payload_bytes: int
    wire_bytes: int
    segments: int
    mtu_bytes: int
    min_rto_ns: int
    """The shortest wait that a timeout costs a server."""

    @property
    def time_ms(self) -> float:
        """Time that the client's link needs for the blocks with all headers."""
        return self.wire_bytes * 8 / self.line_rate_bps * 1e3

    @property
    def goodput_mbps(self) -> float:
        """Goodput of an iteration that takes this time."""
        return self.line_rate_bps / 1e6 * self.payload_bytes / self.wire_bytes


def ideal_of(run: Run) -> Ideal:
    """The bound for a run, from its network and workload."""
    work = run.workload
    servers = group(run.network, work.servers)
    link = link_of(run.network, work.client)
    mtu = min(link.mtu_bytes, link_of(run.network, work.servers).mtu_bytes)
    headers = header_bytes(timestamps=servers.tcp.timestamps)
    each = -(-work.block_bytes // servers.count) if work.striped else work.block_bytes
    payload = work.block_bytes if work.striped else work.block_bytes * servers.count
    segments = servers.count * -(-each // (mtu - headers))
    return Ideal(
        line_rate_bps=link.rate_bps,
        payload_bytes=payload,
        wire_bytes=payload + segments * (headers + FRAMING_BYTES),
        segments=segments,
        mtu_bytes=mtu,
        min_rto_ns=servers.tcp.min_rto_ns,
    )


def group(network: Network, name: str) -> HostGroup:
    """The host group of that name."""
    return next(host for host in network.hosts if host.name == name)


def link_of(network: Network, name: str) -> Link:
    """The link between a host group and the switch."""
    return next(link for link in network.links if name in link.between)
