"""Collects readings of cumulative counters from a file that may have several of them."""

from __future__ import annotations

from typing import Final

from netstudy.formats.measured import Counters

COUNTER_MAX: Final = 2**64 - 1
"""The largest value of a counter of the kernel; a larger number is damage."""


class Readings:
    """The readings of one file, in its order.

    A time or a part (`begin`) that comes again starts the next reading of that part.
    """

    def __init__(self, *, zeros_left_out: bool = False) -> None:
        """`zeros_left_out`: True if the tool does not print counters that are 0."""
        self._zeros_left_out = zeros_left_out
        self._readings: list[tuple[str, float | None, dict[str, int]]] = []
        self._open: dict[str, dict[str, int]] = {}
        self._at_s: float | None = None

    def instant(self, at_s: float) -> None:
        """The readings that follow were taken at this time."""
        self._at_s = at_s
        self._open = {}

    def anew(self) -> None:
        """The counters that follow belong to the next reading of all parts, of the same time."""
        self._open = {}

    def of_part(self, part: str) -> None:
        """The part has a reading, even if no counter follows: where zeros are left out, this is a
        reading of zeros."""
        if part not in self._open:
            self._open[part] = {}
            self._readings.append((part, self._at_s, self._open[part]))

    def put(self, name: str, value: int, part: str = "") -> bool:
        """Take a counter. False if the current reading of the part has it already: then it is left
        as it was."""
        self.of_part(part)
        values = self._open[part]
        if name in values:
            return False
        values[name] = value
        return True

    def has_part(self, part: str) -> bool:
        """True if the current reading has the part."""
        return part in self._open

    def has(self, name: str, part: str = "") -> bool:
        """True if the current reading of the part has this counter."""
        return name in self._open.get(part, {})

    def counters(self) -> tuple[Counters, ...]:
        """All readings."""
        return tuple(
            Counters(part, at_s, values, self._zeros_left_out)
            for part, at_s, values in self._readings
        )
