"""Links that lose, duplicate or delay frames at random."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire


def random_links(network: wire.Network, who_has: str) -> Iterator[str]:
    """Refuses links that lose, duplicate or delay frames at random, or whose directions have
    different delays: one sentence for each. `who_has` says where there are such links."""
    for link in network.links:
        if any(port.path is not None for port in link.ports):
            a, b = link.ports
            yield (
                f"The link between {a.node} and {b.node} has loss, jitter, duplicates or a delay "
                f"of its own in each direction, which {who_has}: leave them out in the study's "
                "variant for this testbed."
            )
