"""A place where nothing runs: its processes write again what those of a stored run wrote."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter

from netstudy.testbed.netns.place import NamespacePlace
from netstudy.testbed.netns.resources import CpuPinning, Resources
from netstudy.testbed.netns.switches import EngineSwitch
from netstudy.testbed.real import switch_wire
from netstudy.testbed.real.evidence import SWITCH
from netstudy.testbed.real.place import Program, RunSwitch
from netstudy.testbed.real.polling import polled_switches
from netstudy.testbed.real.processes import NodeProcess, RecordT, RunProcesses, ready
from netstudy.testbed.real.wire import GoCommand
from netstudy.wire_model import Wire
from tests.testbed.golden_runs import Golden
from tests.testbed.networks import MODERN, layout


class ReplayedChannel:
    """A Channel from which stored lines come; whatever is written to it is lost."""

    killed = False
    stopped_by = None

    def __init__(self, lines: Sequence[bytes]) -> None:
        """The program ends with the last of these lines."""
        self._lines = iter(lines)
        self._left = len(lines)
        self._ended = asyncio.Event()

    async def write(self, line: bytes) -> None: ...

    async def readline(self) -> bytes:
        self._left -= 1
        if self._left <= 0:
            self._ended.set()
        return next(self._lines, b"")

    async def wait(self) -> None:
        await self._ended.wait()

    async def how_ended(self) -> str:
        return "has no more lines"

    async def close(self) -> None: ...


@dataclass
class Replay(NamespacePlace):
    """The namespaces of a stored run, as far as they are known without making them."""

    golden: Golden | None = None

    @classmethod
    def of(cls, golden: Golden) -> Self:
        run = golden.run
        plan = layout(run.network, switching="user-space", polled=polled_switches(run))
        return cls(Resources(run, plan, Path(), CpuPinning(None, None)), MODERN, golden=golden)

    @property
    def stored(self) -> Golden:
        assert self.golden is not None, "made by `of`"
        return self.golden

    @property
    def cpus(self) -> Mapping[str, float]:
        return self.stored.cpus

    @property
    def tick_ns(self) -> int:
        return self.stored.tick_ns

    @property
    def burst_bytes(self) -> int:
        return self.stored.burst_bytes

    @asynccontextmanager
    async def launch(self) -> AsyncIterator[None]:
        yield

    async def start(
        self,
        processes: RunProcesses,
        name: str,
        node: str,
        program: Program,
        plan: Wire,
        adapter: TypeAdapter[RecordT],
    ) -> NodeProcess[RecordT]:
        channel = ReplayedChannel(self.stored.transcript[name])
        return await processes.start(name, channel, plan, adapter)

    async def switch(self, processes: RunProcesses, time_limit_ms: int) -> RunSwitch:
        record: TypeAdapter[switch_wire.SwitchRecord] = TypeAdapter(switch_wire.SwitchRecord)
        process = await self.start(processes, SWITCH, "", "agent", GoCommand(), record)
        await ready(process, switch_wire.SwitchReady)
        return EngineSwitch(process)
