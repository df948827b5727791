"""Links that only the simulator has."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire


def random_links(network: wire.Network) -> Iterator[str]:
    """Refuses links that lose, duplicate or delay frames at random, or whose directions have
    different delays: one sentence for each."""
    for link in network.links:
        if any(port.path is not None for port in link.ports):
            a, b = link.ports
            yield (
                f"The link between {a.node} and {b.node} has loss, jitter, duplicates or another "
                "delay in each direction, which only the simulator has yet: use --testbed sim, or "
                "leave them out in the study's variant for this testbed."
            )
