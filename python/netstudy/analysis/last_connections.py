"""The connections whose last bytes end the units of work of a run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from netstudy.analysis.gathering import Block
from netstudy.wire import RunRecord

_MOST: Final = 0.9
"""The last connections are the fewest that end at least this share of the units."""


@dataclass(frozen=True)
class LastConnections:
    """The fewest connections that end most units of a run."""

    number: int
    of: int
    """Number of connections of the run."""
    share_pct: float
    """Share of the units that they end."""


def last_part(block: Block) -> list[LastConnections]:
    """Gathers the last connections of the runs of a block that have accounts."""
    traced = (run.record for run in block if run.record.samples.time)
    return [found for record in traced if (found := _last(record)) is not None]


def _last(record: RunRecord) -> LastConnections | None:
    table = record.samples.connection
    if table is None or table.last is None or not any(table.last):
        return None
    ended = list(accumulate(sorted(table.last, reverse=True)))
    number = next(k for k, units in enumerate(ended, start=1) if units >= _MOST * ended[-1])
    return LastConnections(number, len(ended), 100 * ended[number - 1] / ended[-1])
