"""Being told to stop: Ctrl-C, SIGTERM and a closed terminal all unwind the run in the same way."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked the run to stop; `exit_code` is 128 and its number, as shells say it."""

    def __init__(self, number: int) -> None:
        """`number` is the signal's."""
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def _stop(number: int, _frame: FrameType | None) -> None:
    raise Interrupted(number)


@contextmanager
def interruptible() -> Iterator[None]:
    """During the block, turn signals that ask to stop into Interrupted.

    A signal that is ignored, as SIGHUP is under nohup, stays ignored.
    """
    before = {number: signal.getsignal(number) for number in _STOPPING}
    before = {number: old for number, old in before.items() if old != signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, _stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
