"""`where time goes`: the parts of the time of a unit of work."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from netstudy.study.conclusions.base import Conclusion


class WhereTimeGoes(Conclusion):
    """Shows where the time of a unit of work goes, such as an iteration, a transfer or a request: a
    bar for each cell, whose parts add up to the whole, a table, and a sentence on the largest part.
    It decides nothing. Every report whose runs have accounts of time has it; a study asks for it to
    draw it from chosen cells, or to have it among the first conclusions.

    The simulator traces one replicate of each cell, so that the parts are exact. On real testbeds,
    parts have bounds.
    """

    where_time_goes: Literal[True] = Field(alias="where time goes")
    """Always true."""
