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
    """Name and description of a setting in studies and profiles, if not the default ones. The
    default name is the field's name without its unit, the default description the words of that
    name."""

    name: str | None = None
    what: str | None = None
    """Description of the setting's values, for messages: "a way of loss recovery"."""
