"""`nstat -as` and `nstat -asj`: the counters of Linux's network stack.

Without `-a`, nstat prints differences since its last call by the same user (its history is in
/tmp/.nstat.u*), in the same form: a file does not say which of the two it has. It is read as
cumulative. `growth` then finds counters that fall, or the user's own pair of commands was right:
before and after with `-as` (`-s` leaves the history as it is). Counters that are 0 are not printed,
unless `-z` was given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from netstudy.formats import json_text
from netstudy.formats.instants import first_line, instant_s, sections
from netstudy.formats.kernel_counters import LEFT_OUT, QUANTITIES, counter_name
from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of
from netstudy.formats.readings import COUNTER_MAX, Readings

_TITLE: Final = "#kernel"
_JSON: Final = re.compile(r'\{\s*"kernel"\s*:')
_ROW: Final = re.compile(r"(?P<word>\w+)\s+(?P<value>-?\d+)\s+(?P<rate>\S+)", re.ASCII)
_NOTE: Final = (
    "The values are read as cumulative (nstat -as). Without -a, nstat prints differences since its "
    "last call, in the same form."
)


@dataclass(frozen=True)
class Nstat:
    """`nstat`; see the module."""

    name: str = "nstat"
    title: str = "nstat -as and nstat -asj, also several readings in a file"
    quantities: tuple[Quantity, ...] = QUANTITIES
    left_out: tuple[str, ...] = (*LEFT_OUT, "Rates: nstat averages them over a time of its own.")

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with nstat's title or its JSON."""
        line = first_line(head)
        return line.strip() == _TITLE or _JSON.match(line.lstrip()) is not None

    def read(self, data: bytes) -> HostReadings:
        """The readings. Raises FormatError if the file was cut off, or a value is not a count."""
        text = text_of(data)
        readings = Readings(zeros_left_out=True)
        if _JSON.search(text):
            _read_json(readings, text)
        else:
            _read_text(readings, text)
        counters = readings.counters()
        if not counters:
            raise FormatError("the file has no counters")
        return HostReadings("nstat", counters=counters, notes=(_NOTE,))


FORMAT: Final = Nstat()


def _read_json(readings: Readings, text: str) -> None:
    for at_s, part in sections(text):
        if at_s is not None:
            readings.instant(at_s)
        for document in json_text.documents(part):
            kernel = json_text.mapping(json_text.mapping(document, "").get("kernel"), "kernel")
            readings.anew()
            readings.of_part("")
            for word in kernel:
                value = json_text.whole(kernel, word, "kernel")
                if value is not None:
                    _put(readings, word, value, f"kernel.{word}")


def _read_text(readings: Readings, text: str) -> None:
    if not text.endswith("\n"):
        raise FormatError(
            "the last line does not end: the file was cut off. Since nstat leaves out counters "
            "that are 0, the missing ones would count as 0"
        )
    for number, line in enumerate(text.splitlines(), 1):
        at_s = instant_s(line, f"line {number}")
        if at_s is not None:
            readings.instant(at_s)
        elif line.strip() == _TITLE:
            readings.anew()
            readings.of_part("")
        elif line.strip():
            match = _ROW.fullmatch(line.strip())
            if match is None:
                raise FormatError(f"line {number}: a counter, its value and its rate are expected")
            _put(readings, match["word"], int(match["value"]), f"line {number}")


def _put(readings: Readings, word: str, value: int, where: str) -> None:
    if not 0 <= value <= COUNTER_MAX:
        raise FormatError(f"{where}: {value} is not the value of a counter")
    name = counter_name(word)
    if name is not None and not readings.put(name, value):
        raise FormatError(f"{where}: {word} is there twice in one reading")
