"""Files of measurements that other programs made: each format is one file here, a pure function
from bytes to a `Content` (`measured.py`).

A format is recognised by the beginning of a file, never by its name. A format of a user's own is an
object like those here, under the entry point `netstudy.formats`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from netstudy.formats import flent, hdr_log, hdr_percentiles, iperf3, netperf, ping, wrk
from netstudy.formats.measured import Content, Format, FormatError
from netstudy.formats.of_hosts import OF_HOSTS
from netstudy.formats.plain_text import plain

HEAD_BYTES: Final = 65_536
"""Bytes of a file by which it is recognised."""
FORMATS: Final[tuple[Format, ...]] = (
    flent.FORMAT,
    hdr_log.FORMAT,
    hdr_percentiles.FORMAT,
    iperf3.FORMAT,
    netperf.FORMAT,
    ping.FORMAT,
    wrk.FORMAT,
    *OF_HOSTS,
)
"""The formats that come with netstudy."""


@cache
def formats() -> tuple[Format, ...]:
    """All formats: netstudy's own, then the formats of installed packages.

    Raises FormatError if the format of a package cannot be loaded, or has the name of another one.
    """
    found = list(FORMATS)
    for entry in sorted(entry_points(group="netstudy.formats"), key=lambda each: each.name):
        try:
            own: Format = entry.load()
        except Exception as error:
            raise FormatError(
                f"the format {entry.name} ({entry.value}) cannot be loaded: {error}"
            ) from error
        if not isinstance(own, Format):
            raise FormatError(
                f"the format {entry.name} ({entry.value}) is not complete: it needs name, title, "
                "quantities, left_out, recognises and read"
            )
        if any(own.name == other.name for other in found):
            raise FormatError(f"there are two formats {own.name}; rename that of {entry.value}")
        found.append(own)
    return tuple(found)


def recognise(head: bytes, among: Iterable[Format] | None = None) -> Format | None:
    """The format of a file that begins with these bytes; None: no format is known.

    `among` are the formats that come into question; all of them by default. Raises FormatError if
    several formats recognise it.
    """
    found = [each for each in (formats() if among is None else among) if each.recognises(head)]
    if len(found) > 1:
        names = " and ".join(each.name for each in found)
        raise FormatError(f"{names} both recognise the file; take one of them away")
    return found[0] if found else None


def read_file(path: Path) -> tuple[Format, Content]:
    """The format of a file, and its content.

    Raises FormatError if no format recognises the file or it cannot be read, and OSError as `open`.
    """
    return content_of(path.read_bytes())


def content_of(data: bytes) -> tuple[Format, Content]:
    """The format of the bytes of a file, and its content. Raises FormatError."""
    data = plain(data)
    found = recognise(data[:HEAD_BYTES])
    if found is None:
        raise FormatError(_unknown(data))
    return found, found.read(data)


def _unknown(data: bytes) -> str:
    if not data.strip(b"\x00 \t\r\n"):
        return "the file is empty"
    names = ", ".join(each.name for each in formats())
    return f"no format recognises the file by its beginning; known are {names}"
