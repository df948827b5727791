"""The most that throughput gains if parts of the time of a unit of work become shorter.

A part saves no more than its own share of the time, so this is a ceiling. It is no forecast: what
takes its time behind the shortened part may take over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from netstudy.analysis.bounds.candidates import Key
from netstudy.analysis.bounds.verdict import Seen


def ceiling(seen: Seen, times_as_fast: Mapping[Key, float]) -> float:
    """The ratio of throughput after to before is at most this, by the shares of an exact account.
    `times_as_fast`: limits -> how many times as fast they become; below 1 if slower."""
    saved = sum(
        seen.share_pct(key) / 100 * (1 - 1 / factor) for key, factor in times_as_fast.items()
    )
    return 1 / (1 - saved) if saved < 1 else math.inf
