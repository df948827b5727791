"""The table `time`: a row for each part of an account of a run's time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from netstudy.analysis.accounts import PartKey
from netstudy.wire import RunRecord

TIME: Final = "time"
TIME_COLUMNS: Final = (
    "view",
    "group",
    "unit",
    "units",
    "whole_ps",
    "number",
    "connection",
    "family",
    "reason",
    "place",
    "node",
    "to",
    "low_ps",
    "high_ps",
)
"""Columns of the table. Times are sums over the units of the group. In the simulator, `high_ps`
equals `low_ps`."""


def time_columns(record: RunRecord) -> Sequence[Sequence[Any]]:
    """The values of each column."""
    rows = [
        (
            *(getattr(one, name) for name in TIME_COLUMNS[:7]),
            PartKey(reason, place, node, to).family,
            *(reason, place, node, to, low, high),
        )
        for one in record.samples.time
        for reason, place, node, to, low, high in one.rows()
    ]
    return list(zip(*rows, strict=True))
