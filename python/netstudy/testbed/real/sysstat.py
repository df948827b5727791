"""Records of sysstat's own recorder, as `sadf -r` shows them: raw counters, where sar itself shows
rates.

In a namespace /proc/net is the host's own, so sar's figures of interfaces and of TCP are the
host's. /proc/stat is the machine's: the CPU time that sar shows at any host includes all hosts and
all other programs. `cpu_pct` of a host (the CPU time of its processes) has no counterpart in sar.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

Grown = dict[str, int]
"""sar's name of a figure -> growth of its counter from the first record to the last one."""

SHOWN: Final = ("-u", "-n", "DEV,EDEV,ETCP")
"""The reports of the records, by sar's options: CPU, interfaces with their errors, errors of
TCP."""
_INTERFACE = "IFACE"
_CPU = "CPU"


@dataclass(frozen=True)
class Recording:
    """The records of a recorder at a host."""

    host: str
    file: bytes
    """As sysstat keeps it: `sar -f` and `sadf` read it."""
    began_ns: int
    """Time before its first record, and time after its last one."""
    ended_ns: int
    interfaces: dict[str, Grown] = field(default_factory=dict)
    cpu_ticks: Grown = field(default_factory=dict)
    """Of all CPUs of the machine."""
    tcp: Grown = field(default_factory=dict)


def recording(host: str, file: bytes, shown: str, began_ns: int, ended_ns: int) -> Recording:
    """The recording in `shown`, the output of `sadf -r FILE -- SHOWN`. Raises LookupError if it has
    fewer than two records."""
    found = Recording(host, file, began_ns, ended_ns)
    for line in shown.splitlines():
        _at, first, *fields = [*(one.strip() for one in line.rstrip("; ").split(";")), ""]
        if first == _INTERFACE:
            _add(found.interfaces.setdefault(fields[0], {}), fields[1:])
        elif first == _CPU:
            _add(found.cpu_ticks, fields[1:])
        elif fields:
            _add(found.tcp, [first, *fields])
    if not found.cpu_ticks:
        raise LookupError(f"sysstat's file of {host} has no two records")
    return found


def _add(grown: Grown, fields: list[str]) -> None:
    """Adds a line to the sums. It has names, each with the counter at the previous record and at
    this one, or with a momentary state."""
    for number in range(len(fields) - 2):
        name, before, now = fields[number : number + 3]
        if not _is_number(name) and _is_number(before) and _is_number(now):
            grown[name] = grown.get(name, 0) + int(now) - int(before)


def _is_number(field: str) -> bool:
    return field.isdecimal()
