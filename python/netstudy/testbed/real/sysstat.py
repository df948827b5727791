"""Records of sysstat's own recorder, as `sadf -r` shows them: raw counters, where sar itself shows
rates.

Each namespace has its own /proc/net, so sar's figures for interfaces and TCP describe the host. But
/proc/stat is the machine's: the CPU time that sar shows in any host includes all hosts and all
other programs. `cpu_pct` of a host (the CPU time of its processes) cannot be read from sar.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

Grown = dict[str, int]
"""Figure, by its name in sar -> growth of its counter from the first record to the last one."""

SHOWN: Final = ("-u", "-n", "DEV,EDEV,ETCP")
"""Which reports to extract from the records, as options of sar: CPU, interfaces with their errors,
errors of TCP."""
_INTERFACE = "IFACE"
_CPU = "CPU"


@dataclass(frozen=True)
class Recording:
    """The records of a recorder at a host."""

    host: str
    file: bytes
    """The file as sysstat wrote it, for `sar -f` and `sadf`."""
    began_ns: int
    """A time before the first record, and one after the last record."""
    ended_ns: int
    interfaces: dict[str, Grown] = field(default_factory=dict)
    cpu_ticks: Grown = field(default_factory=dict)
    """Summed over all CPUs of the machine."""
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
    """Adds a line to the sums. Each name in the line has two values, the counter at the previous
    record and at this one, or a single momentary value."""
    for number in range(len(fields) - 2):
        name, before, now = fields[number : number + 3]
        if not _is_number(name) and _is_number(before) and _is_number(now):
            grown[name] = grown.get(name, 0) + int(now) - int(before)


def _is_number(field: str) -> bool:
    return field.isdecimal()
