"""Stored runs as if each host were a machine with a clock of its own: the processes of a host write
later times, and the controller's pings say how much later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from netstudy.testbed.real.clocks import Clocks, HostClock, Ping
from netstudy.testbed.real.evidence import SWITCH
from tests.testbed.golden_runs import Golden
from tests.testbed.replay import Replay

STEP_NS = 1_000_000_000_000
"""How far the clock of each host is ahead of that of the one before it."""
_INSTANTS = {
    *("at_ns", "from_ns", "to_ns", "quiet_ns", "started_ns", "ended_ns", "intended_ns", "sent_ns"),
    *("first_byte_ns", "done_ns", "requested_ns", "begun_ns", "answered_ns", "before_ns"),
    *("until_ns", "due_ns", "idle_ns", "received_ns"),
}
"""Fields of records that are times of a clock."""
_WAY_NS = 40_000
"""Each way of a ping."""


@dataclass
class Apart(Replay):
    """A stored run whose hosts are machines with clocks of their own; the switch is another one."""

    is_compared: bool = True
    """False: nobody pings."""

    @classmethod
    def of(cls, golden: Golden) -> Self:
        found = super().of(golden)
        moved = {
            name: [_later(line, found.ahead_ns[found.clock(name)]) for line in lines]
            for name, lines in golden.transcript.items()
        }
        found.golden = replace(golden, transcript=moved)
        return found

    @property
    def ahead_ns(self) -> dict[str, int]:
        """Clock -> how far it is ahead of the controller's."""
        hosts = [host.name for host in self.stored.run.network.hosts]
        return {name: number * STEP_NS for number, name in enumerate((*hosts, SWITCH), 1)}

    def clock(self, name: str) -> str:
        """The clock of a node or process, which has the name of its host."""
        zones = {zone.name: zone.host for zone in self.stored.run.network.zones}
        if name == SWITCH or name in {one.name for one in self.stored.run.network.switches}:
            return SWITCH
        node = name.split(" ")[0]
        return zones.get(node, node)

    @property
    def machines(self) -> Mapping[str, str]:
        return {one.name: self.clock(one.name) for one in self.stored.run.network.nodes}

    @property
    def clocks(self) -> Clocks:
        compared = self.ahead_ns if self.is_compared else {}
        return Clocks(
            self.machines,
            {name: HostClock.of(name, self._pings(ahead)) for name, ahead in compared.items()},
        )

    def _pings(self, ahead_ns: int) -> list[list[Ping]]:
        """Groups of pings at the times at which the stored run's switch was read."""
        times = [
            json.loads(line)["at_ns"] - self.ahead_ns[SWITCH]
            for line in self.stored.transcript[SWITCH]
            if b'"kind":"snapshot"' in line
        ]
        return [[Ping(at - _WAY_NS, at + ahead_ns, at + _WAY_NS)] for at in times]


def _later(line: bytes, by_ns: int) -> bytes:
    record: dict[str, Any] = json.loads(line)
    for name in _INSTANTS & record.keys():
        record[name] = _moved(record[name], by_ns)
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _moved(time_ns: Any, by_ns: int) -> Any:
    if isinstance(time_ns, list):
        return [_moved(one, by_ns) for one in time_ns]
    return None if time_ns is None else time_ns + by_ns
