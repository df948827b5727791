"""/proc/net/snmp, /proc/net/netstat and /proc/net/snmp6: the counters of Linux's network stack.

A file may be any of them or several, as `cat /proc/net/snmp /proc/net/netstat` gives them, and may
hold readings of several instants. Each group is two lines: names and values. A group that comes
again begins the next reading. /proc/net/snmp6 has a counter in each line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from netstudy.formats.instants import first_line, instant_s
from netstudy.formats.kernel_counters import LEFT_OUT, QUANTITIES, counter_name
from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of, whole_lines
from netstudy.formats.readings import COUNTER_MAX, Readings

_NAMES: Final = re.compile(r"(?P<group>[A-Z]\w*):(?P<rest>(?: [A-Za-z]\w*)+) ?", re.ASCII)
_VALUES: Final = re.compile(r"(?P<group>[A-Z]\w*):(?P<rest>(?: -?\d{1,20})+) ?", re.ASCII)
_NO_NAMES: Final = re.compile(r"\w+: ?", re.ASCII)
"""A group without counters: IcmpMsg before the first message."""
_PAIR: Final = re.compile(
    r"(?P<word>(?:Ip6|Icmp6|Udp6|UdpLite6)\w+)\s+(?P<value>\d{1,20})", re.ASCII
)


@dataclass(frozen=True)
class ProcNet:
    """/proc/net/snmp and its like; see the module."""

    name: str = "proc-net"
    title: str = "/proc/net/snmp, /proc/net/netstat and /proc/net/snmp6, also several readings"
    quantities: tuple[Quantity, ...] = QUANTITIES
    left_out: tuple[str, ...] = LEFT_OUT

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with the names of a group, or with a counter of IPv6."""
        line = first_line(head)
        return any(pattern.fullmatch(line.strip()) for pattern in (_NAMES, _PAIR))

    def read(self, data: bytes) -> HostReadings:
        """The readings. Raises FormatError if a line is neither names nor values, or the file ends
        between them."""
        reader = _Reader(Readings(), [])
        lines = whole_lines(text_of(data), reader.notes)
        is_cut = bool(reader.notes)
        for number, line in enumerate(lines, 1):
            reader.line(line.strip(), f"line {number}")
        if reader.group is not None and not is_cut:
            raise FormatError(
                f"line {len(lines)}: the file was cut off: {reader.group} has no values"
            )
        counters = reader.readings.counters()
        if not counters:
            raise FormatError("the file has no counters")
        return HostReadings("proc", counters=counters, notes=tuple(reader.notes))


FORMAT: Final = ProcNet()


@dataclass
class _Reader:
    readings: Readings
    notes: list[str]
    group: str | None = None
    """The group whose names were the last line."""
    names: tuple[str, ...] = ()

    def line(self, line: str, where: str) -> None:
        """Take the next line."""
        at_s = instant_s(line, where)
        if self.group is not None:
            self._values(self.group, line, where)
        elif at_s is not None:
            self.readings.instant(at_s)
        elif match := _NAMES.fullmatch(line):
            self.group, self.names = match["group"], tuple(match["rest"].split())
        elif match := _PAIR.fullmatch(line):
            self._put(match["word"], int(match["value"]), where)
        elif line and not line.startswith(("#", "=")) and not _NO_NAMES.fullmatch(line):
            raise FormatError(f"{where}: names or values of a group of counters are expected")

    def _values(self, group: str, line: str, where: str) -> None:
        match = _VALUES.fullmatch(line)
        if match is None or match["group"] != group:
            raise FormatError(f"{where}: the values of {group} are expected")
        values = match["rest"].split()
        self.group = None
        if len(values) != len(self.names):
            self.notes.append(
                f"{where}: {group} is left out: it has {len(self.names)} names and {len(values)} "
                "values."
            )
            return
        for name, value in zip(self.names, values, strict=True):
            self._put(group + name, int(value), where)

    def _put(self, word: str, value: int, where: str) -> None:
        name = counter_name(word)
        if name is None:
            return
        if not 0 <= value <= COUNTER_MAX:
            raise FormatError(f"{where}: {value} is not the value of a counter ({word})")
        if self.readings.has(name):
            self.readings.anew()
        self.readings.put(name, value)
