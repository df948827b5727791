"""Evidence for accounts of time, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netstudy import wire
from netstudy.testbed.real import switch_wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.evidence import Evidence, UserSpaceSwitches
from tests.testbed.told import EDGES, evidence

US, MS = 1_000, 1_000_000
GAUGES = {"srtt_us": 2_000, "rttvar_us": 200, "min_rtt_us": 100, "rto_us": 204_000}
"""A round trip of 1.8 to 2.2 ms, and of 0.1 ms at the least."""
COUNTERS = ("retransmissions", "timeouts", "peer_window_us", "own_buffer_us")
ROOMY = {"peer_window_bytes": 10**6}


def readings(
    taken: str,
    rows: Mapping[int, Mapping[str, int]],
    unacked: Sequence[int] | None = None,
    connection: int = 0,
) -> agent_wire.ReadingsRecord:
    """Readings at times in microseconds: these values and usual gauges, and 0 for all others."""
    names = (*GAUGES, *COUNTERS, *ROOMY)
    usual = {**GAUGES, **ROOMY}
    values = {
        name: tuple(row.get(name, usual.get(name, 0)) for row in rows.values()) for name in names
    }
    spent = [tuple(row.get(name, 0) for row in rows.values()) for name in ("cpu_ns", "waited_ns")]
    return agent_wire.ReadingsRecord.model_validate(
        {
            "connection": connection,
            "taken": taken,
            "at_ns": tuple(US * at for at in rows),
            "cpu_ns": spent[0],
            "waited_ns": spent[1],
            "values": {**values, "unacked_segments": tuple(unacked or (0,) * len(rows))},
        }
    )


def over_a_switch(
    run: wire.Run,
    records: Mapping[str, Sequence[agent_wire.AgentRecord]],
    measure: tuple[int, int],
    grown: Mapping[str, Mapping[str, int]] | None = None,
) -> Evidence:
    """Evidence of a run over a switch in user space, which delays frames as the plan says."""
    clock = switch_wire.SwitchClock(
        departures=1,
        departures_late=0,
        late_ns_p50=0,
        late_ns_p99=0,
        late_ns_max=0,
        frames_lost=0,
        kept_up=True,
        why=None,
        cpu_ns=0,
    )
    read = {
        edge: switch_wire.SwitchSnapshot(
            name=edge, at_ns=0, counters={"switch": {}}, cost_ns=0, raw={}
        )
        for edge in EDGES
    }
    switch = UserSpaceSwitches(read, (clock,))
    return evidence(run, records, grown, switch=switch, measure=measure)


def bounds_ms(account: wire.TimeAccount) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Reason, place and node -> the bounds of the part; links and ports are added up."""
    assert account.high_ps is not None
    keys = zip(account.reason, account.place, account.node, strict=True)
    rows = zip(keys, account.low_ps, account.high_ps, strict=True)
    found: dict[tuple[str, str, str], tuple[float, float]] = {}
    for key, low, high in rows:
        before = found.get(key, (0.0, 0.0))
        found[key] = (before[0] + low / 1e9, before[1] + high / 1e9)
    return found
