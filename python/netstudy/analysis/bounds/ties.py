"""Decides between bounds that differ by less than the noise, by where the time of a unit of work
goes: throughput is limited by the bound that takes the larger share of it.

Equal bounds of one kind, such as two links of the same rate in a row, count together. The time is
spent at one of them, but raising only this one gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from netstudy.analysis.bounds.candidates import Candidate, Key, LimitKind

WINDOWS: Final[tuple[LimitKind, ...]] = ("window", "send_buffer")
_EQUAL_PCT: Final = 1.0
"""Bounds of one kind that differ by no more than this percentage are equal."""
_JOINT_PCT: Final = 25.0
"""Bounds that take more than this share of the time each limit throughput together."""


def limits_by_time(tied: Sequence[Candidate], share_pct: Callable[[Key], float]) -> list[Candidate]:
    """The bounds that limit throughput, of several that throughput reaches. `share_pct`: the share
    of the time that a limit takes."""
    groups = _equal(tied)
    shares = [sum(share_pct(one.resource.key) for one in group) for group in groups]
    most = max(shares)
    kept = (
        group
        for group, share in zip(groups, shares, strict=True)
        if share > _JOINT_PCT or share == most
    )
    return [one for group in kept for one in group]


def _equal(tied: Sequence[Candidate]) -> list[list[Candidate]]:
    groups: list[list[Candidate]] = []
    for one in tied:
        like = (group for group in groups if _are_equal(group[0], one))
        group = next(like, None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return groups


def _are_equal(one: Candidate, other: Candidate) -> bool:
    kinds = {one.resource.kind, other.resource.kind}
    if len(kinds) > 1 and not kinds <= set(WINDOWS):
        return False
    low, high = sorted((one.bound or 0.0, other.bound or 0.0))
    return high <= low * (1 + _EQUAL_PCT / 100)
