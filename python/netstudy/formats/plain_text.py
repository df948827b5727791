"""The bytes of a file as formats read them: decompressed, and text in UTF-8."""

from __future__ import annotations

import codecs
import zlib
from typing import Final

from netstudy.formats.measured import FormatError

_GZIP: Final = b"\x1f\x8b"
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Marks at the beginning of files that PowerShell redirects a program's output to."""


def plain(data: bytes) -> bytes:
    """The bytes as a format gets them: decompressed, and UTF-8 in place of UTF-16.

    Raises FormatError if they cannot be decompressed or decoded.
    """
    if data.startswith(_GZIP):
        data = _decompressed(data)
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    if data.startswith(_WIDE):
        try:
            return data.decode("utf-16").encode()
        except UnicodeError as error:
            raise FormatError(f"the file begins as UTF-16, and is not: {error}") from None
    return data


def text_of(data: bytes) -> str:
    """The bytes of a file as text. Raises FormatError, with the line, if they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"line {line}: the file is not text in UTF-8") from None


def whole_lines(text: str, notes: list[str]) -> list[str]:
    """The lines of a text, without a last one that does not end, so that its last number may have
    lost digits; `notes` get a sentence about it."""
    lines = text.splitlines()
    if not lines or text.endswith(("\n", "\r")):
        return lines
    notes.append(
        f"line {len(lines)} is left out: it does not end, so that its last value may be cut off."
    )
    return lines[:-1]


def _decompressed(data: bytes) -> bytes:
    parts = []
    while data.startswith(_GZIP):
        member = zlib.decompressobj(wbits=31)
        try:
            parts.append(member.decompress(data))
        except zlib.error as error:
            raise FormatError(f"the file is compressed by gzip and damaged: {error}") from None
        if not member.eof:
            raise FormatError("the file is compressed by gzip and was cut off")
        data = member.unused_data
    return b"".join(parts)
