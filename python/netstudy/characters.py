"""Characters that no name may hold, and how texts that contain them are shown."""

from __future__ import annotations

import re
from typing import Final

UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML forbids (XML 1.0, 2.2: Char), so that no SVG can hold them, and the other
control characters (C1 and DEL), which terminals obey."""
_SHOWN: Final = re.compile(f"\r|{UNPRINTABLE.pattern}")
"""The characters that `visible` replaces: also a carriage return, after which a terminal overwrites
the line."""
_PICTURES: Final = 0x2400
"""The first of Unicode's symbols for control characters: U+001B is shown as U+241B."""
_OTHER: Final = "\ufffd"


def code_point(character: str) -> str:
    """A character as Unicode writes it: U+001B."""
    return f"U+{ord(character):04X}"


def visible(text: str) -> str:
    """The text with a visible symbol in place of each character that a terminal would obey or a
    page could not hold. Line ends and tabs stay."""
    return _SHOWN.sub(_picture, text)


def escaped_json(text: str) -> str:
    """The same JSON text with unprintable characters written as escapes."""
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < ord(" "):
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else _OTHER  # the symbol of DEL has a code point of its own
