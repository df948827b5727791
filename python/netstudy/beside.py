"""A computation beside another one, on a second processor."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection


@contextmanager
def beside(work: Callable[[], bytes]) -> Iterator[Callable[[], bytes]]:
    """Carry `work` out in a copy of this process while the block runs, which gets its result by a
    call. What the copy cannot finish is carried out here: then its error is seen."""
    context = multiprocessing.get_context("fork")  # what is to be looked at need not be sent there
    here, there = context.Pipe(duplex=False)
    copy = context.Process(target=_send, args=(there, work), daemon=True)
    copy.start()
    there.close()

    def result() -> bytes:
        try:
            return here.recv_bytes()
        except EOFError:
            return work()

    try:
        yield result
    finally:
        here.close()
        copy.terminate()
        copy.join()


def _send(to: Connection, work: Callable[[], bytes]) -> None:
    to.send_bytes(work())
