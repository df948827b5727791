"""/proc/net/dev: the counters of interfaces, also several readings in a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from netstudy.formats.instants import first_line, instant_s
from netstudy.formats.interface_counters import QUANTITIES
from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of
from netstudy.formats.readings import COUNTER_MAX, Readings

_TITLE: Final = re.compile(r"Inter-\|\s+Receive\s+\|\s+Transmit")
_NAMES: Final = re.compile(
    r"face\s*\|bytes\s+packets\s+errs\s+drop\s+fifo\s+frame\s+compressed\s+multicast"
    r"\|bytes\s+packets\s+errs\s+drop\s+fifo\s+colls\s+carrier\s+compressed"
)
_COLUMNS: Final = {
    0: "receive_bytes",
    1: "receive_packets",
    2: "receive_errors",
    3: "receive_drops",
    4: "receive_overruns",
    8: "send_bytes",
    9: "send_packets",
    10: "send_errors",
    11: "send_drops",
}
"""Place in the row -> counter."""
_ROW: Final = re.compile(r"(?P<face>\S+?):\s*(?P<values>\d{1,20}(?:\s+\d{1,20}){15})", re.ASCII)


@dataclass(frozen=True)
class ProcNetDev:
    """/proc/net/dev; see the module."""

    name: str = "proc-net-dev"
    title: str = "/proc/net/dev, also several readings"
    quantities: tuple[Quantity, ...] = QUANTITIES
    left_out: tuple[str, ...] = (
        "Frame, multicast, compressed, collision and carrier counts: no metric is made of them.",
    )

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with the table's title."""
        return _TITLE.fullmatch(first_line(head).strip()) is not None

    def read(self, data: bytes) -> HostReadings:
        """The readings of each interface. Raises FormatError if the columns are not the known
        ones, or a row is not complete."""
        text = text_of(data)
        readings = Readings()
        lines = text.splitlines()
        notes = []
        for number, line in enumerate(lines, 1):
            if number == len(lines) and not text.endswith("\n"):
                # Its last value may have lost digits, which is a column that is not read.
                notes.append(f"line {number} does not end: the file may have been cut off.")
            _read_line(readings, line, f"line {number}")
        if not readings.counters():
            raise FormatError("the file has no interface")
        return HostReadings("proc", counters=readings.counters(), notes=tuple(notes))


FORMAT: Final = ProcNetDev()


def _read_line(readings: Readings, line: str, where: str) -> None:
    text = line.strip()
    at_s = instant_s(line, where)
    if at_s is not None:
        readings.instant(at_s)
    elif _TITLE.fullmatch(text):
        readings.anew()
    elif text.startswith("face"):
        if _NAMES.fullmatch(text) is None:
            raise FormatError(f"{where}: Linux since 2.2 has other columns")
    elif text:
        match = _ROW.fullmatch(text)
        if match is None:
            raise FormatError(f"{where}: an interface with 16 counters is expected")
        values = [int(value) for value in match["values"].split()]
        for place, name in _COLUMNS.items():
            if values[place] > COUNTER_MAX:
                raise FormatError(f"{where}: {values[place]} is not the value of a counter")
            if not readings.put(name, values[place], match["face"]):
                raise FormatError(f"{where}: {match['face']} is there twice in one reading")
