"""Characters that no name may hold, and how texts that contain them are shown."""

from __future__ import annotations

import re
from typing import Final

UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML forbids (XML 1.0, 2.2: Char), so that no SVG can hold them, and the other
control characters (C1 and DEL), which terminals obey."""
_SHOWN: Final = re.compile(f"\r|{UNPRINTABLE.pattern}")
"""A carriage return too: the text after it overwrites the start of its line."""
_PICTURES: Final = 0x2400
"""Where the pictures of control characters begin: U+001B is shown as U+241B."""
_OTHER: Final = "\ufffd"


def code_point(character: str) -> str:
    """A character as Unicode writes it: U+001B."""
    return f"U+{ord(character):04X}"


def visible(text: str) -> str:
    """The text with a visible symbol in place of each character that a terminal would obey or a
    page could not hold. Line ends and tabs stay."""
    return _SHOWN.sub(_picture, text)


def escaped_json(text: str) -> str:
    """JSON text with such characters escaped, so that it means the same and can be printed."""
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < ord(" "):
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else _OTHER  # the symbol for DEL is apart from the others
