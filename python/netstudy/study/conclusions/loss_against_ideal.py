"""`loss against ideal`: how much is lost compared with ideal scaling."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from netstudy.study.conclusions.base import Conclusion


class ScalingLoss(Conclusion):
    """How much is lost compared with ideal scaling."""

    loss: Literal[True] = Field(alias="loss against ideal")
    """Always true."""
