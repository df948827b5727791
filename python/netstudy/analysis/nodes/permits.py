"""How many permits a host has: threads of the application server, connections of its pool, slots of
the database. A permit is what a page element, or a request of the database, holds while it is
worked on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from netstudy import wire

Permit = Literal["threads", "pool", "database_slots"]
"""A kind of permit, by the name that capacities, counters and metrics have for it."""


def permits(run: wire.Run, node: str, *, is_simulated: bool) -> Mapping[Permit, int]:
    """The number of permits of each kind at a host of a planned run.

    Kinds that the host does not have, or whose number is not limited or not known, are left out.
    The costs of a page element say the numbers of the simulator; on other testbeds, the brokerage
    has a pool of connections, and threads if the plan says how many.
    """
    work = run.workload
    if not isinstance(work, wire.Transactions):
        return {}
    serves = _is_one_of(work.roles.server, node)
    if not is_simulated:
        return _of_brokerage(work.application) if serves else {}
    if work.costs is None:
        return {}
    found: dict[Permit, int | None] = {}
    if serves:
        found["threads"] = work.costs.threads
        if work.roles.database:
            found["pool"] = work.costs.pool_connections
    if _is_one_of(work.roles.database or work.roles.server, node):
        found["database_slots"] = work.costs.database_slots
    return {kind: count for kind, count in found.items() if count is not None}


def _of_brokerage(application: wire.Application) -> Mapping[Permit, int]:
    if not isinstance(application, wire.Brokerage):
        return {}
    pool: Mapping[Permit, int] = {"pool": application.pool_connections}
    threads = application.threads
    return pool if threads is None else {**pool, "threads": threads}


def _is_one_of(role: tuple[str, ...], node: str) -> bool:
    return node in (member.partition("@")[0] for member in role)
