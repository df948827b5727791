"""What every testbed offers: it carries out a plan and hands over the records as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from netstudy.wire import Plan, Record

OnRecord = Callable[[Record, bytes], None]
"""Called with each record and the exact line, newline included, that it was read from."""


class Testbed(Protocol):
    """A place where runs are carried out."""

    __test__: ClassVar[bool] = False  # not a test case, whatever its name suggests to pytest
    name: ClassVar[str]

    def check(self) -> None:
        """Raise TestbedError when the testbed cannot be used at all, before anything is made."""

    def run(self, plan: Plan, *, threads: int | None, on_record: OnRecord) -> None:
        """Carry out every run of the plan; records come in the order in which runs complete.

        `threads` None means all cores. Raises TestbedError when the testbed fails; an exception
        from `on_record` ends the work and is passed on.
        """

    def seconds(self, packets: int, per_hop_packets: int, *, threads: int | None) -> float:
        """The time that runs with that many useful data packets take, roughly.

        `per_hop_packets` of them belong to runs that need one event a hop to be simulated.
        """
        ...
