"""The text of the pages of a PDF as Chromium writes it: enough to see what is printed where."""

from __future__ import annotations

import re
import zlib

_OBJECT = re.compile(rb"(?:^|\n)(\d+) 0 obj\n?(.*?)\nendobj", re.DOTALL)
_SHOWN = re.compile(r"/(F\d+) [\d.]+ Tf|((?:<\w+>|\[[^\]]*\])) ?T[jJ]")
_RANGE = re.compile(r"<(\w+)> <(\w+)> <(\w+)>")
_CHARACTER = re.compile(r"<(\w+)> <(\w+)>")


def page_texts(pdf: bytes) -> list[str]:
    """The text of each page, with a blank between pieces that are drawn one by one."""
    objects = {int(number): body for number, body in _OBJECT.findall(pdf)}
    pages = [body for _, body in sorted(objects.items()) if re.search(rb"/Type /Page\b", body)]
    return [_text(page, objects) for page in pages]


def _text(page: bytes, objects: dict[int, bytes]) -> str:
    content = re.search(rb"/Contents (\d+) 0 R", page)
    assert content, "a page has a content"
    fonts = {
        name.decode(): _characters(objects[int(number)], objects)
        for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", page)
    }
    font: dict[int, str] = {}
    pieces = []
    for name, glyphs in _SHOWN.findall(_stream(objects[int(content[1])])):
        if name:
            font = fonts[name]
        else:
            digits = "".join(re.findall(r"<(\w+)>", glyphs))
            codes = (int(digits[at : at + 4], 16) for at in range(0, len(digits), 4))
            pieces.append("".join(font.get(code, "") for code in codes))
    return " ".join(pieces)


def _stream(body: bytes) -> str:
    head, _, rest = body.partition(b"stream\n")
    data = rest[: rest.rindex(b"endstream")].rstrip(b"\n")
    return (zlib.decompress(data) if b"FlateDecode" in head else data).decode("latin-1")


def _characters(font: bytes, objects: dict[int, bytes]) -> dict[int, str]:
    """Glyph -> character, by the font's own map."""
    number = re.search(rb"/ToUnicode (\d+) 0 R", font)
    found: dict[int, str] = {}
    text = _stream(objects[int(number[1])]) if number else ""
    for block in re.findall(r"beginbfrange\n(.*?)endbfrange", text, re.DOTALL):
        for first, last, start in _RANGE.findall(block):
            codes = range(int(first, 16), int(last, 16) + 1)
            found |= {code: chr(int(start, 16) + at) for at, code in enumerate(codes)}
    for block in re.findall(r"beginbfchar\n(.*?)endbfchar", text, re.DOTALL):
        for code, character in _CHARACTER.findall(block):
            found[int(code, 16)] = bytes.fromhex(character).decode("utf-16-be")
    return found
