"""Flushes a file that grows to the disk, once a second."""

from __future__ import annotations

import os
from threading import Event, Thread
from typing import Final

_INTERVAL_S: Final = 1.0


class Flusher:
    """Flushes an open file at most a second after each write, in a thread: a flush takes
    milliseconds, which is longer than a small run."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._written, self._ending = Event(), Event()
        self._error: OSError | None = None
        self._thread = Thread(target=self._flush_on, name="flush records", daemon=True)
        self._thread.start()

    def written(self) -> None:
        """Say that something was written. Raises the OSError of an earlier flush."""
        if self._error is not None:
            raise self._error
        self._written.set()

    def close(self) -> None:
        """End the thread and flush the rest. Raises the OSError of this or an earlier flush."""
        self._ending.set()
        self._written.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        os.fsync(self._descriptor)

    def _flush_on(self) -> None:
        while True:
            self._written.wait()
            if self._ending.wait(_INTERVAL_S):
                return
            self._written.clear()  # first, since the flush may miss a later write
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                self._error = error
                return
