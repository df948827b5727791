"""Prints the machine's ceilings as JSON: `… -m tests.testbed.probe_capacity RATE_BPS SWITCHING`."""

from __future__ import annotations

import sys

from pydantic import TypeAdapter

from netstudy import wire
from netstudy.testbed.netns.capacity_probe import ceilings
from netstudy.testbed.netns.limits import Ceiling
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import star


def run(rate_bps: int) -> wire.Run:
    """An incast of two servers."""
    work = wire.Incast(roles=roles("client", ("server-1", "server-2")), block_bytes=100_000)
    return a_run(star(2, rate_bps=rate_bps, mtu_bytes=1500), work, counts(10))


if __name__ == "__main__":
    plan = wire.Plan(study="tried", seed=1, runs=(run(int(sys.argv[1])),))
    found = ceilings(plan, "kernel" if sys.argv[2] == "kernel" else "user-space")
    sys.stdout.buffer.write(TypeAdapter(list[Ceiling]).dump_json(found))
