"""Records with planted accounts of time: parts in ms for the mean unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netstudy.wire import RunRecord, TimeAccount

Part = tuple[str, str, str, str]
"""Reason, place, node, and the node at the other end."""
Bounds = tuple[float, float]
PS_PER_MS = 10**9


def account(
    parts: Mapping[Part, float | Bounds],
    *,
    view: str = "journey",
    group: str = "all",
    unit: str = "iteration",
    units: int = 100,
    whole_ms: float | None = None,
    number: int | None = None,
) -> TimeAccount:
    """An account of units with these parts; without `whole_ms`, the parts are exact and add up to
    the whole."""
    ends = [one if isinstance(one, tuple) else (one, one) for one in parts.values()]
    low, high = (tuple(_ps(one[end], units) for one in ends) for end in (0, 1))
    return TimeAccount.model_validate(
        {
            "view": view,
            "group": group,
            "unit": unit,
            "units": units,
            "whole_ps": sum(low) if whole_ms is None else _ps(whole_ms, units),
            "number": number,
            **{
                name: tuple(part[place] for part in parts)
                for place, name in enumerate(("reason", "place", "node", "to"))
            },
            "low_ps": low,
            "high_ps": None if whole_ms is None else high,
        }
    )


def _ps(ms: float, units: int) -> int:
    return round(ms * units * PS_PER_MS)


def with_accounts(
    record: RunRecord, accounts: Sequence[TimeAccount], last: Sequence[int] | None = None
) -> RunRecord:
    """The record with these accounts, and with the number of units that each connection ended."""
    table = record.samples.connection
    if table is not None and last is not None:
        table = table.model_copy(update={"last": tuple(last)})
    samples = record.samples.model_copy(update={"time": tuple(accounts), "connection": table})
    return record.model_copy(update={"samples": samples})
