"""Which limits are faster in one planned run than in another, and how many times.

Where a limit has several figures that differ, such as the rate and the access time of a disk, their
effects are multiplied, since the result is for a ceiling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.bounds.candidates import Key, LimitKind
from netstudy.analysis.design import effective_settings
from netstudy.wire import Run

Speedup = Callable[[Key], float]
"""How many times as fast a limit becomes; below 1 if it becomes slower."""


@dataclass(frozen=True)
class _Figure:
    """A figure of a plan, and the limits that depend on it."""

    pattern: re.Pattern[str]
    """Of its path; the named groups `node` and `part` match the node and part of the limit."""
    kinds: tuple[LimitKind, ...]
    is_time: bool = False
    """True if the limit is faster where the figure is smaller."""
    part: str | None = None
    """Part of the limit; None: any."""

    def matches(self, path: str, key: Key) -> bool:
        """True if a limit depends on the figure at this path."""
        found = self.pattern.search(path)
        assert found is not None, "a path of this figure"
        kind, node, part = key
        names = found.groupdict()
        return (
            kind in self.kinds
            and names.get("node") in (None, node)
            and names.get("part", self.part) in (None, part)
        )


_LINK: Final = r"^link (?P<{}>.+) – (?P<{}>.+?)(?: \d+)?\.{}_bps$"
_HOST: Final = r"^(?P<node>.+)\."
_FIGURES: Final = (
    _Figure(re.compile(_LINK.format("node", "part", "rate")), ("link",)),
    _Figure(re.compile(_LINK.format("part", "node", "rate")), ("link",)),
    _Figure(re.compile(_LINK.format("node", "part", "rate_there")), ("link",)),
    _Figure(re.compile(_LINK.format("part", "node", "rate_back")), ("link",)),
    _Figure(
        re.compile(r"^link .*\.delay_ns$"),
        ("round_trip", "window", "send_buffer", "congestion_window"),
        is_time=True,
    ),
    _Figure(re.compile(_HOST + r"tcp\.receive_buffer_bytes$"), ("window",)),
    _Figure(re.compile(_HOST + r"tcp\.send_buffer_bytes$"), ("send_buffer",)),
    _Figure(re.compile(r"\.tcp\.min_rto_ns$"), ("timeouts",), is_time=True),
    _Figure(re.compile(_HOST + r"tcp\.delayed_ack_ns$"), ("delayed_ack",), is_time=True),
    _Figure(re.compile(_HOST + r"nic\.packet_rate_pps$"), ("packet_rate",)),
    _Figure(re.compile(_HOST + r"cpu\.(speed_pct|cpus)$"), ("cpu", "generator"), part=""),
    _Figure(
        re.compile(_HOST + r"cpu\.\w+_(packet_ns|ps_per_byte)$"),
        ("cpu", "generator"),
        is_time=True,
        part="",
    ),
    _Figure(re.compile(_HOST + r"disk\.disk_rate_bps$"), ("disk",)),
    _Figure(re.compile(_HOST + r"disk\.access_ns$"), ("disk",), is_time=True),
    _Figure(re.compile(_HOST + r"bus\.memory_channel(s|_bps)$"), ("bus",), part="memory bus"),
    _Figure(re.compile(_HOST + r"bus\.io_channel(s|_bps)$"), ("bus",), part="I/O bus"),
    _Figure(re.compile(r"^workload\.costs\.threads$"), ("slots",), part="threads"),
    _Figure(re.compile(r"^workload\.costs\.pool_connections$"), ("slots",), part="pool"),
    _Figure(re.compile(r"^workload\.costs\.database_slots$"), ("slots",), part="database_slots"),
)


def speedup(before: Run, after: Run) -> Speedup | None:
    """How many times as fast each limit is in the second run; None: the runs differ in something
    whose effect on the time is not known."""
    old, new = effective_settings(before), effective_settings(after)
    changed: list[tuple[str, list[_Figure], float]] = []
    for path in old.keys() | new.keys():
        values = old.get(path), new.get(path)
        if values[0] == values[1]:
            continue
        figures = [one for one in _FIGURES if one.pattern.search(path)]
        ratio = _ratio(*values)
        if not figures or ratio is None:
            return None
        changed.append((path, figures, ratio))
    return lambda key: _combined(
        [
            _faster(ratio, is_time=one.is_time)
            for path, figures, ratio in changed
            for one in figures
            if one.matches(path, key)
        ]
    )


def _ratio(old: object, new: object) -> float | None:
    if not isinstance(old, int | float) or not isinstance(new, int | float) or not old:
        return None
    return new / old


def _faster(ratio: float, *, is_time: bool) -> float:
    if not is_time:
        return ratio
    return 1 / ratio if ratio else math.inf


def _combined(factors: list[float]) -> float:
    faster = [factor for factor in factors if factor > 1]
    return math.prod(faster) if faster else max(factors, default=1.0)
