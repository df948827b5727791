"""`plateau`: where throughput stops growing."""

from __future__ import annotations

from typing import Literal

from netstudy.study.conclusions.base import Conclusion


class Plateau(Conclusion):
    """Finds where throughput stops growing, and what limits it there."""

    plateau: Literal[True]
    """Always true."""
