"""Records of an incast that lost nothing, with counters planted by hand."""

from __future__ import annotations

import numpy as np

from netstudy.wire import Run, RunRecord
from tests.report.synthetic import from_samples, server_count

COUNTED = {"ring_drops", "loss_probes", "loss_probe_recoveries", "pauses_sent"}
"""Counters of hosts."""


def counting(made: RunRecord, **counted: int) -> RunRecord:
    """The record with counters: those of hosts at the client, the others at the client's port."""
    hosts = {name: (0, counted.get(name, 0)) for name in COUNTED}
    none = dict.fromkeys(COUNTED, (0, 0))
    port = {name: (0, counted.get(name, 0)) for name in ("frames_marked", "frames_forwarded")}
    ports = {**made.ports["switch"]["client"], **port, "pauses_sent": (0, 0)}
    ports["queue_bytes_max"] = (0, counted.get("queue_bytes_max", 0))
    hosts_of_run = [name for name, node in made.nodes.items() if node.kind == "host"]
    return made.model_copy(
        update={
            "counters": {name: hosts if name == "client" else none for name in hosts_of_run},
            "ports": {"switch": {"client": ports}},
        }
    )


def wire_ms(planned: Run) -> float:
    """The time that 4 MB of each server take at 10 Gbit/s, and a twentieth more."""
    return server_count(planned) * 4_000_000 * 8 / 1e7 * 1.05


def quiet(planned: Run, **counted: int) -> RunRecord:
    """No packet is dropped or retransmitted."""
    n = planned.count("measure")
    rng = np.random.default_rng(int(planned.seed, 16))
    times = wire_ms(planned) * (1 + 0.01 * rng.random(n))
    zeros = np.zeros(n, dtype=int)
    return counting(from_samples(planned, times, zeros, zeros, zeros), **counted)
