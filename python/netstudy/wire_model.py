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
    """Name and description of a setting in studies and profiles, where they differ from the field.

    By default the name is the field's without its unit, and the description is made of its words.
    """

    name: str | None = None
    what: str | None = None
    """Description of its values, for messages: "a way of loss recovery"."""
