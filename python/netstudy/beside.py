"""Work on another processor, in a forked copy of this process."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection

Work = Callable[[str], str]
Instead = Callable[[Sequence[str]], list[str]]


@contextmanager
def beside(
    prepare: Callable[[], object], work: Work, instead: Instead | None = None
) -> Iterator[Callable[[Sequence[str]], Callable[[], list[str]]]]:
    """Forks a worker that calls `prepare` once and then `work` for each submitted piece. Yields a
    function that submits a batch of pieces. It returns another function, which waits for the
    results of this batch and returns them in the order of the pieces. Several batches may be
    pending, and their results may be fetched in any order. If the worker fails, `instead` computes
    the results of a batch; without `instead`, this process calls `work` itself, so that the error
    is raised here."""
    context = multiprocessing.get_context("fork")  # the worker inherits the data
    near, far = context.Pipe()
    copy = context.Process(target=_serve, args=(near, far, prepare, work), daemon=True)
    copy.start()
    far.close()
    # A thread sends the pieces, because the worker does not read while it works on a batch.
    sender = ThreadPoolExecutor(max_workers=1, initializer=_refuse_sigpipe)
    answers: list[list[str] | None] = []
    places = count()

    def hand_over(pieces: Sequence[str]) -> Callable[[], list[str]]:
        place = next(places)
        sender.submit(near.send_bytes, _text(pieces))  # if this fails, so does `_answer`

        def results() -> list[str]:
            while len(answers) <= place:
                answers.append(_answer(near))
            found = answers[place]
            if found is not None:
                return found
            return instead(pieces) if instead else [work(piece) for piece in pieces]

        return results

    try:
        yield hand_over
    finally:
        copy.terminate()
        copy.join()
        sender.shutdown()
        near.close()


def _refuse_sigpipe() -> None:
    """Blocks SIGPIPE in the sending thread: writing to a worker that has ended then raises an error
    instead of killing the command `netstudy`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})


def _answer(copy: Connection) -> list[str] | None:
    """The next batch of results from the worker; None if it has ended."""
    try:
        results: list[str] = json.loads(copy.recv_bytes())
    except (EOFError, ConnectionResetError):
        return None
    return results


def _serve(near: Connection, far: Connection, prepare: Callable[[], object], work: Work) -> None:
    """Serve until the parent process has ended. The worker notices this only if no other process
    holds the parent's end of the pipe, so it closes its own copy of that end. The parent's signal
    handlers are reset, so that they do not run twice. Errors are not reported here: they occur
    again when the parent works on the pieces itself."""
    for wanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(wanted, signal.SIG_DFL)
    near.close()
    # A thread sends the results: if both processes blocked in sending, neither would read.
    with suppress(Exception), ThreadPoolExecutor(max_workers=1) as answers:
        prepare()
        while True:
            pieces = json.loads(far.recv_bytes())
            answers.submit(far.send_bytes, _text([work(piece) for piece in pieces]))


def _text(pieces: Sequence[str]) -> bytes:
    return json.dumps(pieces).encode()
