"""/proc/net/softnet_stat: packets of each CPU's receive path, also several readings in a file.

A line is a CPU, its columns are hexadecimal numbers of 32 bits. Since Linux 5.10 the line has the
number of the CPU; before, lines are counted from 0, which is wrong if a CPU is offline.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from netstudy.formats.instants import first_line, instant_s
from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of
from netstudy.formats.readings import Readings

_ROW: Final = re.compile(r"[0-9a-f]{8}(?: [0-9a-f]{8}){8,20}")
_COLUMNS: Final = {
    0: "softnet_packets",
    1: "softnet_drops",
    2: "softnet_squeezes",
    9: "softnet_rps_interrupts",
    10: "softnet_flow_limit_drops",
}
"""Place in the line -> counter (net/core/net-procfs.c)."""
_CPU: Final = 12
"""Place of the CPU's number."""


@dataclass(frozen=True)
class SoftnetStat:
    """/proc/net/softnet_stat; see the module."""

    name: str = "softnet-stat"
    title: str = "/proc/net/softnet_stat, also several readings"
    quantities: tuple[Quantity, ...] = (
        Quantity("softnet_packets", "packets of softnet", "", "neither", 0, "packets processed"),
        Quantity(
            "softnet_drops",
            "packets that softnet dropped",
            "",
            "lower",
            0,
            "packets dropped because the CPU's backlog was full",
        ),
        Quantity(
            "softnet_squeezes",
            "squeezes of softnet",
            "",
            "lower",
            0,
            "times that the CPU's packet work ended with packets left",
        ),
        Quantity(
            "softnet_rps_interrupts",
            "interrupts for packet steering",
            "",
            "neither",
            0,
            "interrupts by which other CPUs handed packets to this one (RPS)",
        ),
        Quantity(
            "softnet_flow_limit_drops",
            "packets that the flow limit dropped",
            "",
            "lower",
            0,
            "packets of large flows dropped by the flow limit",
        ),
    )
    left_out: tuple[str, ...] = ("Lengths of backlogs: they are levels of one instant.",)

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with a line of such numbers."""
        return _ROW.fullmatch(first_line(head).strip()) is not None

    def read(self, data: bytes) -> HostReadings:
        """The readings of each CPU. Raises FormatError if a line is something else."""
        readings = Readings()
        lines, row = text_of(data).splitlines(), 0
        for number, line in enumerate(lines, 1):
            at_s = instant_s(line, f"line {number}")
            if at_s is not None:
                readings.instant(at_s)
                row = 0
            elif line.strip():
                if _ROW.fullmatch(line.strip()) is None:
                    raise FormatError(f"line {number}: at least 9 hexadecimal numbers are expected")
                _read_row(readings, line.split(), row)
                row += 1
        if not readings.counters():
            raise FormatError("the file has no CPU")
        return HostReadings("proc", counters=readings.counters())


FORMAT: Final = SoftnetStat()


def _read_row(readings: Readings, words: list[str], row: int) -> None:
    part = f"cpu{int(words[_CPU], 16) if len(words) > _CPU else row}"
    if readings.has_part(part):
        readings.anew()
    for place, name in _COLUMNS.items():
        if place < len(words):
            readings.put(name, int(words[place], 16), part)
