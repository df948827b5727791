"""The most that throughput gains if parts of the time of a unit of work become shorter.

A part saves no more than its own share of the time, so this is a ceiling. It is no forecast: what
takes its time behind the shortened part may take over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from netstudy.analysis.bounds.candidates import NO_BOUND, Candidate
from netstudy.analysis.bounds.time_parts import Piece
from netstudy.analysis.bounds.verdict import Level
from netstudy.analysis.speedups import Speedup

_TIMERS: Final = ("delayed_ack", "timeouts")
_CARRIERS: Final = ("link", "packet_rate", "cpu", "bus")
_LOSSES: Final = ("timeouts", "congestion_window")
"""Parts of the time that would not be there without losses."""


def ceiling(pieces: Iterable[Piece], speedup: Speedup) -> float:
    """The ratio of throughput after to before is at most this. `pieces`: the parts of the time by
    an exact account."""
    pieces = list(pieces)
    is_faster = any(speedup(one.key) > 1 for one in pieces if one.key[0] in _CARRIERS)
    saved = sum(
        piece.share_pct / 100 * (1 - 1 / _speedup(piece, speedup, is_faster=is_faster))
        for piece in pieces
    )
    return 1 / (1 - saved) if saved < 1 else math.inf


def _speedup(piece: Piece, speedup: Speedup, *, is_faster: bool) -> float:
    """A larger window shortens all that passes until it has room; a timer may not pass at all. What
    carries frames faster may lose none of them."""
    if is_faster and piece.key[0] in _LOSSES:
        return math.inf
    own = speedup(piece.key)
    window = 1.0 if piece.window is None else speedup(piece.window)
    if piece.window is None or piece.window == piece.key or window <= 1:
        return own
    return math.inf if piece.key[0] in _TIMERS else own * window


def ceiling_at(level: Level, speedup: Speedup) -> float | None:
    """The ratio of throughput after to before in a cell is at most this: by the shares of the time,
    and by the bounds of the limits that do not become faster; None: the time is not known
    exactly."""
    time = level.seen.time
    if time is None or not time.is_exact:
        return None
    others = (
        100 / share
        for one in level.candidates
        if (share := _least_pct(one))
        and one.resource.kind != "none"
        and one.state not in NO_BOUND
        and not one.resource.comes_with_load
        and speedup(one.resource.key) == 1
    )
    return max(1.0, min(ceiling(time.pieces, speedup), *others, math.inf))


def _least_pct(one: Candidate) -> float | None:
    """The lower end of the share that throughput reaches of a bound."""
    return one.share_pct if one.interval is None else one.interval.low
