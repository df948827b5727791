"""The processes of one run: what they write is kept as it comes, and they end with the run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

from pydantic import TypeAdapter

from netstudy.testbed.real.process import GRACE_S, NodeError, NodeProcess, RecordT
from netstudy.testbed.real.wire import EndRecord, StopCommand
from netstudy.wire import Wire

Transcript = dict[str, list[bytes]]
"""Node -> everything that its process has written, a line each."""


class Running:
    """The processes of a run that is under way."""

    def __init__(self, stack: AsyncExitStack, transcript: Transcript) -> None:
        """They end with the stack; `transcript` is filled while they run."""
        self._stack = stack
        self._transcript = transcript
        self._processes: list[NodeProcess[Any]] = []

    async def start(
        self, node: str, command: Sequence[str], plan: Wire, adapter: TypeAdapter[RecordT]
    ) -> NodeProcess[RecordT]:
        """See NodeProcess.start."""
        process = await NodeProcess.start(node, command, plan, adapter)
        self._stack.push_async_callback(process.close)
        self._transcript[node] = process.lines
        self._processes.append(process)
        return process

    def accompany(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work beside the processes until the run ends."""
        self._stack.push_async_callback(_end, asyncio.ensure_future(work))

    def standing_still(self) -> list[str]:
        """Those that a signal has stopped: others may only have noticed their silence."""
        found = [(process.node, process.stopped_by) for process in self._processes]
        return [f"{node} stands still, stopped by {name}" for node, name in found if name]

    async def hear_out(self) -> None:
        """Of a run that failed: have those that can write what they would at its end."""
        able = [process for process in self._processes if process.stopped_by is None]
        await asyncio.gather(*map(_hear_out, able))


async def _end(work: asyncio.Future[None]) -> None:
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work


async def _hear_out(process: NodeProcess[Any]) -> None:
    await process.send(StopCommand())
    with suppress(NodeError, TimeoutError):  # of the run's failure the reason is known
        await asyncio.wait_for(process.finish(EndRecord), GRACE_S)
