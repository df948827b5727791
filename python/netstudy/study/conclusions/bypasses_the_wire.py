"""`bypasses the wire`: whether data cross the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from netstudy.study.conclusions.base import Conclusion


class BypassesTheWire(Conclusion):
    """Finds for each placement of the endpoints whether data cross the wire. They do not if the
    payload rate exceeds the line rate and the interfaces carried less than the payload; if only one
    of the two is true, the report shows both facts."""

    bypasses_the_wire: Literal[True] = Field(alias="bypasses the wire")
    """Always true."""
