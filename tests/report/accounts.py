"""Accounts of time, planted in records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from netstudy.analysis.accounts import TimeView
from netstudy.wire import Place, Reason, TimeAccount

Spot = tuple[Reason, Place, str, str]
"""Reason, place, node, and the node at the other end."""
Shares = Mapping[Spot, float | tuple[float, float]]
"""Part -> its share of the time, or the bounds of this share."""


def accounts(
    unit: Literal["iteration", "transfer", "interval"],
    whole_ps: float,
    shares: Shares,
    units: int = 1,
) -> tuple[TimeAccount, ...]:
    """The same parts in both views, for all units of a run together; bounds only as a journey, as
    on real testbeds. None without parts."""
    both = [each if isinstance(each, tuple) else (each, each) for each in shares.values()]
    low, high = (tuple(round(whole_ps * each[end]) for each in both) for end in (0, 1))
    if not shares:
        return ()
    views: tuple[TimeView, ...] = ("journey", "cause") if low == high else ("journey",)
    reason, place, node, to = zip(*shares, strict=True)
    return tuple(
        TimeAccount(
            view=view,
            group="all",
            unit=unit,
            units=units,
            whole_ps=round(whole_ps),
            reason=reason,
            place=place,
            node=node,
            to=to,
            low_ps=low,
            high_ps=None if low == high else high,
        )
        for view in views
    )
