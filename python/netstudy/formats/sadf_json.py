"""`sadf -j`: the records of sysstat's data files as JSON.

Versions differ in small things: `"utc": 1` before and `"tz": "UTC"` since 12.7, `cpu-load-all`
before 11.6, sectors or kB of disks. Times are in UTC unless sadf had `-t` or `-T`; a local time is
refused, since the zone of the file's header need not be the one of its times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.formats import json_text
from netstudy.formats.clock import iso_s
from netstudy.formats.json_text import Object
from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of
from netstudy.formats.sysstat import ACTIVITIES, LEFT_OUT, QUANTITIES, Activity, Records, plain_name

_BEGINS: Final = re.compile(rb'\s*\{\s*"sysstat"\s*:')
_UTC: Final = ("UTC", "GMT")
_ITEM_KEYS: Final = {"dev": "disk-device"}
"""Names of items that differ between JSON and text."""


@dataclass(frozen=True)
class SadfJson:
    """`sadf -j`; see the module."""

    name: str = "sadf-json"
    title: str = "sadf -j (sysstat 10 to 12.7)"
    quantities: tuple[Quantity, ...] = QUANTITIES
    left_out: tuple[str, ...] = LEFT_OUT

    def recognises(self, head: bytes) -> bool:
        """True if the file is JSON of sysstat."""
        return _BEGINS.match(head) is not None

    def read(self, data: bytes) -> HostReadings:
        """The series of the host. Raises FormatError if the file is cut off, is of several hosts,
        has decimal commas or local times."""
        text = text_of(data)
        try:
            parts = json_text.documents(text)
        except FormatError as error:
            raise FormatError(f"{error}; make it anew with LC_ALL=C sadf -j FILE") from None
        records = Records()
        for part in parts:
            top = json_text.mapping(part, "")
            sysstat = json_text.mapping(top.get("sysstat"), "sysstat")
            for index, host in enumerate(json_text.objects(sysstat, "hosts", "sysstat")):
                _read_host(records, host, f"sysstat.hosts[{index}]")
        return records.readings()


FORMAT: Final = SadfJson()


def _read_host(records: Records, host: Object, path: str) -> None:
    name = json_text.string(host, "nodename", path)
    if name is not None:
        records.of_host(name, path)
    for index, entry in enumerate(json_text.objects(host, "restarts", path)):
        where = f"{path}.restarts[{index}]"
        boot = json_text.child(entry, "boot", where)
        if boot is not None:
            records.restart(_time_s(boot, f"{where}.boot"))
    for index, entry in enumerate(json_text.objects(host, "statistics", path)):
        where = f"{path}.statistics[{index}]"
        if isinstance(entry.get("timestamp"), str):
            raise FormatError(
                f"{where}.timestamp: a local time without a date, as mpstat -o JSON and iostat "
                "-o JSON print it; record with sar -o FILE and make the file with sadf -j FILE"
            )
        _read_record(records, entry, where)


def _read_record(records: Records, record: Object, path: str) -> None:
    stamp = json_text.child(record, "timestamp", path)
    if stamp is None:
        if record:
            records.notes.append(f"{path} is left out: it has no time.")
        return
    where = f"{path}.timestamp"
    end_s = _time_s(stamp, where)
    length_s = json_text.number(stamp, "interval", where)
    if length_s is not None and length_s < 0:
        raise FormatError(f"{where}.interval: {length_s:g} s is no interval")
    for activity in ACTIVITIES:
        for item, row, place in _rows(activity, record, path):
            values = _numbers(row, activity.needs, place, records.notes)
            if activity.sign in values:
                records.row(activity, end_s, length_s, item, values)


def _time_s(stamp: Object, path: str) -> float:
    date = json_text.string(stamp, "date", path)
    time = json_text.string(stamp, "time", path)
    if date is None or time is None:
        raise FormatError(f"{path}: a date and a time are expected")
    utc = json_text.flag(stamp, "utc", path)
    zone = json_text.string(stamp, "tz", path)
    if zone in _UTC or (zone is None and utc):
        return iso_s(f"{date}T{time}Z", path)
    raise FormatError(
        f"{path}: {date} {time} is a local time, whose zone is not certain; make the file with "
        "sadf -j FILE, without -t and -T"
    )


def _rows(activity: Activity, record: Object, path: str) -> Iterator[tuple[str, Object, str]]:
    """The item, the row and the path of each row of an activity."""
    inner = record
    for key in activity.path[:-1]:
        child = json_text.child(inner, key, path)
        if child is None:
            return
        inner, path = child, f"{path}.{key}"
    key = activity.path[-1]
    if activity.item is None:
        row = json_text.child(inner, key, path)
        if row is not None:
            yield "", row, f"{path}.{key}"
        return
    item_key = _ITEM_KEYS.get(activity.item, activity.item)
    for index, row in enumerate(json_text.objects(inner, key, path)):
        place = f"{path}.{key}[{index}]"
        item = json_text.string(row, item_key, place)
        if item is None:
            raise FormatError(f"{place}: {item_key} is missing")
        yield item, row, place


def _numbers(row: Object, needs: frozenset[str], path: str, notes: list[str]) -> dict[str, float]:
    """The numbers with these plain names, in a row and in the objects in it."""
    found: dict[str, float] = {}
    for key, value in row.items():
        name = plain_name(key)
        if type(value) is dict:
            found |= _numbers(value, needs, f"{path}.{key}", notes)
        elif name in needs:
            number = json_text.number(row, key, path, notes)
            if number is not None:
                found[name] = number
    return found
