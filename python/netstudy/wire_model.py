"""The base of all models on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from netstudy.described import Described

UINT32_MAX: Final = 2**32 - 1


class Wire(Described, BaseModel):
    """Base of everything on the wire: immutable, and closed against unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Said:
    """How studies and profiles speak of a setting, where its name here does not tell.

    Else the name is the one here without its unit, and the words are the name's.
    """

    name: str | None = None
    what: str | None = None
    """A level of it in words, for messages: "a way of loss recovery"."""
