"""`ip -s -j link`: the counters of interfaces as JSON, also several readings in a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from netstudy.formats import json_text
from netstudy.formats.instants import beginning, sections
from netstudy.formats.interface_counters import QUANTITIES
from netstudy.formats.json_text import Object
from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of
from netstudy.formats.readings import COUNTER_MAX, Readings

_BEGINS: Final = re.compile(r'\s*\[\s*\{\s*"ifindex"\s*:')
_COUNTERS: Final = {
    "rx": {
        "bytes": "receive_bytes",
        "packets": "receive_packets",
        "errors": "receive_errors",
        "dropped": "receive_drops",
    },
    "tx": {
        "bytes": "send_bytes",
        "packets": "send_packets",
        "errors": "send_errors",
        "dropped": "send_drops",
    },
}


@dataclass(frozen=True)
class IpLink:
    """`ip -s -j link`; see the module."""

    name: str = "ip-link"
    title: str = "ip -s -j link, also several readings in a file"
    quantities: tuple[Quantity, ...] = tuple(
        found for found in QUANTITIES if found.name != "receive_overruns"
    )
    left_out: tuple[str, ...] = (
        "Detailed errors (ip -s -s), collisions and carrier: no metric is made of them.",
    )

    def recognises(self, head: bytes) -> bool:
        """True if the file is JSON of interfaces."""
        return _BEGINS.match(beginning(head)) is not None

    def read(self, data: bytes) -> HostReadings:
        """The readings of each interface. Raises FormatError if the file was cut off, or has no
        statistics."""
        readings = Readings()
        for at_s, text in sections(text_of(data)):
            if at_s is not None:
                readings.instant(at_s)
            for document in json_text.documents(text):
                readings.anew()
                for index, link in enumerate(json_text.listing(document, "")):
                    _read_link(readings, json_text.mapping(link, f"[{index}]"), f"[{index}]")
        if not readings.counters():
            raise FormatError("no interface has statistics; make the file with ip -s -j link")
        return HostReadings("ip", counters=readings.counters())


FORMAT: Final = IpLink()


def _read_link(readings: Readings, link: Object, path: str) -> None:
    name = json_text.string(link, "ifname", path)
    key = "stats64" if "stats64" in link else "stats"
    stats = json_text.child(link, key, path)
    if name is None or stats is None:
        return
    for direction, counters in _COUNTERS.items():
        where = f"{path}.{key}.{direction}"
        of = json_text.child(stats, direction, f"{path}.{key}") or {}
        for field, counter in counters.items():
            value = json_text.whole(of, field, where)
            if value is None:
                continue
            if not 0 <= value <= COUNTER_MAX:
                raise FormatError(f"{where}.{field}: {value} is not the value of a counter")
            if not readings.put(counter, value, name):
                raise FormatError(f"{where}: {name} is there twice in one reading")
