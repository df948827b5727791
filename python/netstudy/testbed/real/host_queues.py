"""Queue disciplines at interfaces of hosts."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire


def host_queues(network: wire.Network) -> Iterator[str]:
    """Refuses queue disciplines at the interfaces of hosts: one sentence for each."""
    hosts = {host.name for host in network.hosts}
    for end in (end for link in network.links for end in link.ports):
        if end.queue is not None and end.node in hosts:
            yield (
                f"{end.node} is a host and has the queues of its kernel: leave {end.queue.kind} "
                f"out at {end.node}, or have it at the port of the switch."
            )
