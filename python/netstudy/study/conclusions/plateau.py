"""`plateau`: where throughput stops growing."""

from __future__ import annotations

from typing import Literal

from netstudy.study.conclusions.base import Conclusion


class Plateau(Conclusion):
    """Finds where throughput stops growing with the load: the factor that grows, users,
    connections, flows, the rate of requests, or the number of hosts of a group."""

    plateau: Literal[True]
    """Always true."""
