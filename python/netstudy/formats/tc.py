"""`tc -s -j qdisc` and `tc -s qdisc`: the counters of queueing disciplines, also several readings.

A qdisc is the part `DEVICE KIND HANDLE`, and `parent` where it is not at the root, since the qdiscs
of an adapter's queues all have the handle 0. `tc -s qdisc show dev DEVICE` does not print the
device. The letters of the text mean bytes (`b`) and bytes per
second (`bps`); only whole numbers are read from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from netstudy.formats import json_text
from netstudy.formats.instants import beginning, first_line, instant_s, sections
from netstudy.formats.json_text import Object
from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of, whole_lines
from netstudy.formats.readings import COUNTER_MAX, Readings

_JSON: Final = re.compile(r'\s*\[\s*\{\s*"kind"\s*:\s*"\w+"\s*,\s*"handle"\s*:')
_QDISC: Final = re.compile(
    r"qdisc (?P<kind>\w+) (?P<handle>[0-9a-f]+:) (?:\[\w+\] ?)?(?:dev (?P<dev>\S+) ?)?"
    r"(?:(?:root|ingress|parent (?P<parent>[0-9a-f]*:[0-9a-f]*)))?(?: .*)?"
)
_SENT: Final = re.compile(
    r"Sent (?P<bytes>\d{1,20}) bytes (?P<packets>\d{1,20}) pkt \(dropped (?P<drops>\d{1,20}), "
    r"overlimits (?P<overlimits>\d{1,20}) requeues (?P<requeues>\d{1,20})\)",
    re.ASCII,
)
_MARKS: Final = re.compile(r"\b(?:ecn_mark|marked) (\d{1,20})\b", re.ASCII)
_COUNTERS: Final = {
    "bytes": "qdisc_bytes",
    "packets": "qdisc_packets",
    "drops": "qdisc_drops",
    "overlimits": "qdisc_overlimits",
    "requeues": "qdisc_requeues",
    "ecn_mark": "qdisc_marks",
}
"""Member of JSON -> counter."""
_UNNAMED: Final = (
    "The file does not name the device, as tc -s qdisc show dev DEVICE: all qdiscs of the file "
    "count as qdiscs of one device."
)


@dataclass(frozen=True)
class Tc:
    """`tc -s qdisc`; see the module."""

    name: str = "tc"
    title: str = "tc -s -j qdisc and tc -s qdisc, also several readings in a file"
    quantities: tuple[Quantity, ...] = (
        Quantity("qdisc_bytes", "bytes sent by the qdisc", "B", "neither", 0, "bytes dequeued"),
        Quantity(
            "qdisc_packets", "packets sent by the qdisc", "", "neither", 0, "packets dequeued"
        ),
        Quantity(
            "qdisc_drops",
            "packets that the qdisc dropped",
            "",
            "lower",
            0,
            "packets dropped, by inner qdiscs too",
        ),
        Quantity(
            "qdisc_overlimits",
            "times over the qdisc's limit",
            "",
            "neither",
            0,
            "times that a packet had to wait for its rate, as the kind of qdisc counts them",
        ),
        Quantity("qdisc_requeues", "requeues", "", "lower", 0, "packets that the driver gave back"),
        Quantity("qdisc_marks", "packets marked", "", "lower", 0, "packets marked by ECN (CE)"),
    )
    left_out: tuple[str, ...] = (
        "Backlogs and queue lengths: they are levels of one instant.",
        "Settings, and counters of single kinds of qdiscs.",
    )

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with a qdisc, as JSON or text."""
        return (
            _JSON.match(beginning(head)) is not None
            or _QDISC.fullmatch(first_line(head).strip()) is not None
        )

    def read(self, data: bytes) -> HostReadings:
        """The readings of each qdisc. Raises FormatError if the file was cut off, or has no
        statistics."""
        text = text_of(data)
        readings, notes = Readings(), list[str]()
        if beginning(data).lstrip().startswith("["):
            _read_json(readings, text, notes)
        else:
            _read_text(readings, text, notes)
        if not readings.counters():
            raise FormatError("no qdisc has statistics; make the file with tc -s -j qdisc")
        return HostReadings("tc", counters=readings.counters(), notes=tuple(notes))


FORMAT: Final = Tc()


def _part(dev: str | None, kind: str, handle: str, parent: str | None, notes: list[str]) -> str:
    if dev is None and _UNNAMED not in notes:
        notes.append(_UNNAMED)
    return " ".join(
        filter(None, (dev, kind, handle, None if parent is None else f"parent {parent}"))
    )


def _put(readings: Readings, name: str, value: int, part: str, where: str) -> None:
    if not 0 <= value <= COUNTER_MAX:
        raise FormatError(f"{where}: {value} is not the value of a counter")
    if not readings.put(name, value, part):
        raise FormatError(f"{where}: {part} is there twice in one reading")


def _read_json(readings: Readings, text: str, notes: list[str]) -> None:
    for at_s, part in sections(text):
        if at_s is not None:
            readings.instant(at_s)
        for document in json_text.documents(part):
            readings.anew()
            for index, each in enumerate(json_text.listing(document, "")):
                qdisc = json_text.mapping(each, f"[{index}]")
                _read_qdisc(readings, qdisc, f"[{index}]", notes)


def _read_qdisc(readings: Readings, qdisc: Object, path: str, notes: list[str]) -> None:
    dev, kind, handle, parent = (
        json_text.string(qdisc, key, path) for key in ("dev", "kind", "handle", "parent")
    )
    if not kind or not handle:
        raise FormatError(f"{path}: kind and handle are missing")
    part = _part(dev, kind, handle, parent, notes)
    for key, name in _COUNTERS.items():
        value = json_text.whole(qdisc, key, path)
        if value is not None:
            _put(readings, name, value, part, f"{path}.{key}")


@dataclass
class _Block:
    """A qdisc of the text."""

    part: str
    where: str
    lines: list[str] = field(default_factory=list)


def _read_text(readings: Readings, text: str, notes: list[str]) -> None:
    for block in _blocks(readings, whole_lines(text, notes), notes):
        found = " ".join(block.lines)
        match = _SENT.search(found)
        if match is None:
            continue
        if readings.has_part(block.part):
            readings.anew()
        for key, value in match.groupdict().items():
            _put(readings, _COUNTERS[key], int(value), block.part, block.where)
        if marks := _MARKS.search(found):
            _put(readings, "qdisc_marks", int(marks[1]), block.part, block.where)


def _blocks(readings: Readings, lines: list[str], notes: list[str]) -> Iterator[_Block]:
    """Each qdisc; the times between them are given to the readings."""
    block: _Block | None = None
    for number, line in enumerate(lines, 1):
        at_s = instant_s(line, f"line {number}")
        match = _QDISC.fullmatch(line.strip())
        if (at_s is not None or match) and block is not None:
            yield block
            block = None
        if at_s is not None:
            readings.instant(at_s)
        elif match:
            part = _part(match["dev"], match["kind"], match["handle"], match["parent"], notes)
            block = _Block(part, f"line {number}")
        elif line.strip():
            if block is None or not line[:1].isspace():
                raise FormatError(f"line {number}: a qdisc is expected, as tc -s qdisc prints it")
            block.lines.append(line)
    if block is not None:
        yield block
