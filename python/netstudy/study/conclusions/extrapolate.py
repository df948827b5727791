"""`extrapolate`: how many clients one link would carry."""

from __future__ import annotations

from typing import Literal

from netstudy.study.conclusions.base import Conclusion


class Extrapolation(Conclusion):
    """How many clients one link would carry, with the derivation."""

    extrapolate: Literal["clients per link"]
    """The quantity to extrapolate."""

    @property
    def title(self) -> str:
        """The key and the quantity."""
        return f"{self.key()} {self.extrapolate}"
