"""What an incast asks of its servers: the rule of crates/workload."""

from __future__ import annotations

from netstudy.wire import Incast


def response_bytes(work: Incast, servers: int) -> list[int]:
    """What each server sends in an iteration: the block, or its part of it."""
    if not work.striped:
        return [work.block_bytes] * servers
    each, rest = divmod(work.block_bytes, servers)
    return [each + (index < rest) for index in range(servers)]
