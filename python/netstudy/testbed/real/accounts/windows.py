"""Time in which a window of the connection had no room, by the clocks of the sender's kernel.

The clocks count jiffies (`tcp_chrono_set`, net/ipv4/tcp_output.c): a wait counts with the ticks in
it. Of waits shorter than a tick, only some meet one, so that the count varies like that of a
Poisson process, by its square root. Of longer waits, it varies less.
"""

from __future__ import annotations

from math import sqrt

from netstudy.testbed.real.accounts.bounds import NOTHING, Bounds, Part
from netstudy.wire import Reason

_CLOCKS: dict[Reason, str] = {"peer-window": "peer_window_us", "own-buffer": "own_buffer_us"}
_ERRORS = 2
"""Standard errors of a Poisson count: 95 %."""


def windows(counted_us: dict[str, Bounds], tick_ns: int) -> dict[Part, Bounds]:
    """The part of each window, from the growth of its clock, by the names of the clocks. The place
    is not known: a wait for a window is a round trip. A window whose clock did not grow has no
    part: its waits, if any, are below the clock's resolution, and count as other round trips."""
    found = {}
    for reason, name in _CLOCKS.items():
        counted = counted_us.get(name, NOTHING)
        if counted.high > 0:
            low, high = (1_000 * us / tick_ns for us in counted)
            least, most = max(low - _ERRORS * sqrt(low), 0.0), high + _ERRORS * sqrt(high) + 1
            found[Part(reason, "not-known")] = Bounds(least * tick_ns, most * tick_ns)
    return found
