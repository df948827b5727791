"""`first repetition`: whether the first repetition differs from the later ones."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from netstudy.study.conclusions.base import Conclusion


class FirstRepetition(Conclusion):
    """Reports a first repetition that differs from the later ones."""

    repetitions_min: ClassVar[int] = 3
    """The first one, and two later ones whose spread can be estimated."""

    first_repetition: Literal[True] = Field(alias="first repetition")
    """Always true."""
