"""`ethtool -S`: the counters of a network adapter and its driver.

Drivers choose their names. A name keeps its words here behind `ethtool_`, with an underscore for
each other character: `port.rx_dropped` becomes `ethtool_port_rx_dropped`. Bytes, packets, drops and
pause frames with the usual names have the names of all interfaces: `rx_bytes` becomes
`receive_bytes`. Among a driver's values there may be levels; `growth` takes a fall of a value with
`ethtool_` for one, and leaves out that value only.

ethtool does not print the interface. A line such as `# ethtool -S eth0` before the counters names
it; otherwise the part is empty.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from netstudy.formats.instants import first_line, instant_s
from netstudy.formats.interface_counters import QUANTITIES
from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of, whole_lines
from netstudy.formats.readings import COUNTER_MAX, Readings

PREFIX: Final = "ethtool_"
"""The beginning of the name of a value that only the driver knows."""
_TITLE: Final = "NIC statistics:"
_COMMAND: Final = re.compile(
    r"[#$+>]*\s*(?:sudo )?(?:\S*/)?ethtool (?:-S|--statistics) (?P<name>\S+)"
)
_ROW: Final = re.compile(r"(?P<name>\S.*?)\s*: (?P<value>\d{1,20})", re.ASCII)
_SAME: Final = {
    "rx_bytes": "receive_bytes",
    "rx_packets": "receive_packets",
    "rx_errors": "receive_errors",
    "rx_dropped": "receive_drops",
    "tx_bytes": "send_bytes",
    "tx_packets": "send_packets",
    "tx_errors": "send_errors",
    "tx_dropped": "send_drops",
    "rx_pause": "receive_pause_frames",
    "rx_pause_frames": "receive_pause_frames",
    "rx_pause_ctrl_phy": "receive_pause_frames",
    "tx_pause": "send_pause_frames",
    "tx_pause_frames": "send_pause_frames",
    "tx_pause_ctrl_phy": "send_pause_frames",
}
_PAUSE: Final = (
    Quantity(
        "receive_pause_frames",
        "pause frames received",
        "",
        "lower",
        0,
        "pause frames (IEEE 802.3x) that the adapter received: the other side was full",
    ),
    Quantity(
        "send_pause_frames",
        "pause frames sent",
        "",
        "lower",
        0,
        "pause frames (IEEE 802.3x) that the adapter sent, because it was full",
    ),
)


@dataclass(frozen=True)
class Ethtool:
    """`ethtool -S`; see the module."""

    name: str = "ethtool"
    title: str = "ethtool -S, also several readings in a file"
    quantities: tuple[Quantity, ...] = (
        *(found for found in QUANTITIES if found.name != "receive_overruns"),
        *_PAUSE,
    )
    left_out: tuple[str, ...] = (
        "Values whose names become the same here: each is named in a note.",
        "Values that are no whole numbers.",
    )

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with ethtool's title, or with its command."""
        line = first_line(head).strip()
        return line == _TITLE or _COMMAND.fullmatch(line) is not None

    def read(self, data: bytes) -> HostReadings:
        """The readings of each interface. Raises FormatError if a line is no counter."""
        text = text_of(data)
        reader = _Reader()
        for number, line in enumerate(whole_lines(text, reader.notes), 1):
            reader.line(line, f"line {number}")
        reader.flush()
        if not reader.readings.counters():
            raise FormatError("the file has no counters")
        return HostReadings(
            "ethtool", counters=reader.readings.counters(), notes=tuple(reader.notes)
        )


FORMAT: Final = Ethtool()


@dataclass
class _Reader:
    readings: Readings = field(default_factory=Readings)
    notes: list[str] = field(default_factory=list)
    part: str = ""
    values: list[tuple[str, int]] = field(default_factory=list)
    """Name in the file and value, of the reading that is not complete yet."""

    def line(self, line: str, where: str) -> None:
        """Take the next line."""
        text = line.strip()
        at_s = instant_s(line, where)
        if at_s is not None:
            self.flush()
            self.readings.instant(at_s)
        elif match := _COMMAND.fullmatch(text):
            self.flush()
            self.part = match["name"]
        elif text == _TITLE:
            self.flush()
        elif text and not text.startswith("#"):
            match = _ROW.fullmatch(text)
            if match is None:
                raise FormatError(f"{where}: a name and a whole number are expected")
            value = int(match["value"])
            if value > COUNTER_MAX:
                raise FormatError(f"{where}: {value} is not the value of a counter")
            self.values.append((match["name"], value))

    def flush(self) -> None:
        """The reading is complete."""
        values, self.values = self.values, []
        if not values:
            return
        counts = Counter(_name(name) for name, _ in values)
        if self.readings.has_part(self.part):
            self.readings.anew()
        for name, value in values:
            if counts[_name(name)] == 1:
                self.readings.put(_name(name), value, self.part)
        for name, count in counts.items():
            if count > 1:
                self.notes.append(f"{name} is left out: {count} values have this name.")


def _name(text: str) -> str:
    return _SAME.get(text) or PREFIX + re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
