"""The laws that files of measurements are held against.

Each function returns a `Check` with the figures that it compared. A tolerance is the caller's, in
the unit of the figures: it follows from the digits that the file prints and from the tool's known
slack, and the detail names it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from netstudy.wire import Check


def agree(law: str, one: tuple[str, float], other: tuple[str, float], tolerance: float) -> Check:
    """Two figures are the same. Each has its words before it: `("sum of 3 intervals", 12.5)`."""
    holds = abs(one[1] - other[1]) <= tolerance
    return Check(law=law, holds=holds, detail=f"{_words(one)}, {_words(other)}{_give(tolerance)}")


def add_up(
    law: str, parts: Sequence[float], of: str, total: tuple[str, float], tolerance: float
) -> Check:
    """Parts add up to a total; `of` names the parts with their unit: `bytes of the streams`."""
    return agree(law, (f"the sum of {len(parts)} {of} is", math.fsum(parts)), total, tolerance)


def received_is_sent_less_lost(
    sent: float, lost: float, received: float, *, unit: str, tolerance: float
) -> Check:
    """Sent × (1 − lost) = received; `lost` is a share from 0 to 1."""
    should = sent * (1 - lost)
    holds = abs(should - received) <= tolerance
    detail = (
        f"{figure(sent)} {unit} were sent and {figure(lost * 100)} % of them were lost, as the "
        f"file says, so that {figure(should)} arrive; it says that {figure(received)} were received"
    )
    if not holds and sent > 0:
        detail += f", which is a loss of {figure((1 - received / sent) * 100)} %"
    return Check(
        law="sent × (1 − lost) = received", holds=holds, detail=f"{detail}{_give(tolerance)}"
    )


def rate_is_bytes_by_time(
    of: str, bytes_moved: float, seconds: float, bits_per_s: float, *, tolerance: float
) -> Check:
    """Bytes ÷ time = rate; the tolerance is in bit/s. `of` says whose they are: `the sum sent`."""
    should = 8 * bytes_moved / seconds if seconds > 0 else 0.0
    return Check(
        law="bytes ÷ time = rate",
        holds=abs(should - bits_per_s) <= tolerance,
        detail=f"{of}: {figure(bytes_moved)} bytes in {figure(seconds)} s are {figure(should)} "
        f"bit/s, the file says {figure(bits_per_s)}{_give(tolerance)}",
    )


def is_a_share(of: str, percent: float) -> Check:
    """A share is from 0 to 100 %."""
    return Check(
        law=f"{of} is from 0 to 100 %", holds=0 <= percent <= 100, detail=f"{figure(percent)} %"
    )


def ascending(law: str, points: Sequence[tuple[str, float]], *, tolerance: float = 0.0) -> Check:
    """Each value is at least the one before it; each has a name: `("p99", 5.2)`."""
    broken = [
        f"{after[0]} is {figure(after[1])}, {before[0]} is {figure(before[1])}"
        for before, after in pairwise(points)
        if after[1] < before[1] - tolerance
    ]
    kept = f"{len(points)} values" if points else "no values"
    return Check(law=law, holds=not broken, detail="; ".join(broken) or kept)


def figure(value: float) -> str:
    """A figure in a detail: nine digits, without an exponent where it is readable."""
    if not math.isfinite(value):
        return "beyond all numbers"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.9g}" if abs(value) < 1e-4 else f"{value:,.4f}".rstrip("0").rstrip(".")


def _words(of: tuple[str, float]) -> str:
    return f"{of[0]} {figure(of[1])}"


def _give(tolerance: float) -> str:
    return f" (give or take {figure(tolerance)})" if tolerance else ""
