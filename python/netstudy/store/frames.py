"""Frames: the entries of a segment of records, an append-only file.

A frame is a header, the run's id, and a record as zlib-compressed text. The header has the sum of
itself and of the record, so that a torn or damaged frame is noticed and costs no other: after a
damaged header, the next frame is found by its mark.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Final

_MARK: Final = b"\xf5NSR"
"""The first bytes of a frame; 0xf5 is in no UTF-8 text."""
_HEADER: Final = Struct("<4sBBxxII")
"""Mark, kind, bytes of the id, bytes of the body, CRC-32 of the body."""
_SUM: Final = Struct("<I")
"""CRC-32 of the header and the id."""
_READ_BYTES: Final = 16_384
"""Read at once: most frames are smaller."""
_LEVEL: Final = 1
"""The fastest level of zlib: records of 5 to 50 kB shrink to a sixth; the highest level takes three
times the time for another fifth."""


class Kind(IntEnum):
    """The meaning of a frame for its run."""

    OK = 1
    """Its record, with this status."""
    INVALID = 2
    FAILED = 3
    SET_ASIDE = 4
    """The earlier record of the run no longer counts; the body is the reason: failed, invalid or
    damaged."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame found in a segment."""

    kind: Kind
    run: str
    start: int
    """Offset of its header."""
    body: int
    """Offset of its body."""
    end: int
    body_sum: int

    def text(self, body: bytes) -> bytes | None:
        """The text in the frame's body; None if the body is damaged."""
        if zlib.crc32(body) != self.body_sum:
            return None
        return zlib.decompress(body)


def framed(kind: Kind, run: str, text: bytes) -> bytes:
    """The frame of a run."""
    body, name = zlib.compress(text, _LEVEL), run.encode()
    head = _HEADER.pack(_MARK, kind, len(name), len(body), zlib.crc32(body)) + name
    return head + _SUM.pack(zlib.crc32(head)) + body


def frames(segment: bytes | mmap.mmap, start: int = 0) -> Iterator[Frame]:
    """The frames of a segment from an offset on. Bytes that are no frame are skipped; an incomplete
    frame at the end, which a killed writer leaves or another process is writing, is left out."""
    size, at = len(segment), start
    while at + _HEADER.size <= size:
        found = _frame(segment, at)
        if found is None:
            mark = segment.find(_MARK, at + 1)
            at = size if mark < 0 else mark
        elif found.end > size:
            return
        else:
            yield found
            at = found.end


def frame_at(descriptor: int, start: int) -> tuple[Frame, bytes] | None:
    """The frame at an offset of an open segment, with its body; None if it is damaged."""
    head = os.pread(descriptor, _READ_BYTES, start)
    found = _frame(head, 0) if len(head) >= _HEADER.size else None
    if found is None:
        return None
    rest = found.end - len(head)
    whole = head if rest <= 0 else head + os.pread(descriptor, rest, start + len(head))
    return found, whole[found.body : found.end]


def _frame(segment: bytes | mmap.mmap, at: int) -> Frame | None:
    """The frame that begins at an offset; its end may be beyond the segment's. None: there is none
    whose header is whole."""
    mark, kind, name_bytes, body_bytes, body_sum = _HEADER.unpack_from(segment, at)
    if mark != _MARK:
        return None
    name = at + _HEADER.size
    end_of_name = name + name_bytes
    body = end_of_name + _SUM.size
    if body > len(segment):
        return None  # torn, or the length is damaged: the next frame, if there is one, shows which
    if _SUM.unpack_from(segment, end_of_name)[0] != zlib.crc32(segment[at:end_of_name]):
        return None
    run = segment[name:end_of_name].decode()
    return Frame(Kind(kind), run, at, body, body + body_bytes, body_sum)
