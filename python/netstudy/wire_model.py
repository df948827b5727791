"""The base of all models on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from netstudy.described import Described

UINT32_MAX: Final = 2**32 - 1


class Wire(Described, BaseModel):
    """Base of everything on the wire: immutable, and without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Said:
    """Name and description of a setting in studies and profiles, if they differ from the defaults.
    The default name is the field's name without the unit; the default description consists of the
    words of this name."""

    name: str | None = None
    what: str | None = None
    """Description of the values of the setting, for messages: "a way of loss recovery"."""
    words: tuple[str, ...] = ()
    """For a setting of words of which only some are known beforehand: the known ones. Others must
    match the field's pattern."""
