"""sysstat's own recorder (sadc, which `sar -o` starts) in a host, during the measuring phase. It
starts before the counters are read at the start of the phase. Its last record is the first one
after the counters were read at the end. Nothing is in flight at these times, so the recorder and
the counters cover the same traffic.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netstudy import wire
from netstudy.testbed.netns.namespaces import find_program, in_namespace, install
from netstudy.testbed.real.processes import NodeError, PlainProcess, RunProcesses
from netstudy.testbed.real.sysstat import SHOWN, Recording, recording

_PLACES: Final = ("/usr/lib/sysstat", "/usr/lib64/sa", "/usr/lib/sa", "/usr/libexec/sysstat")
"""Where distributions install sadc."""
_FOLDER: Final = Path("/run/sysstat")
_STEP_S = 0.02
_WRITTEN_S = 0.2
"""A record is complete when its file has not grown for this time, since all parts of a record are
written together."""
_LATE_S = 10.0
"""How late a record may be, after the interval is over."""
_NS_PER_S = 1_000_000_000


def recorder_program() -> Path | None:
    """The path of sadc; None: sysstat is not installed."""
    places = (Path(place) / "sadc" for place in _PLACES)
    found = next((one for one in places if one.exists()), None)
    return found if find_program("sadf") else None


def recorder_refusals(run: wire.Run) -> list[str]:
    """Why sysstat cannot record at hosts of a run, one sentence each."""
    asked = [one for one in run.instruments if one.sysstat]
    if not asked:
        return []
    lines = [
        f"sysstat records every so many seconds, not every {one.every_ns / _NS_PER_S:g} s at "
        f"{one.node}."
        for one in asked
        if one.every_ns % _NS_PER_S
    ]
    if recorder_program() is None:
        hosts = ", ".join(one.node for one in asked)
        lines.append(
            f"There is no sysstat here to record at {hosts}: {install('sadf')}, or leave sysstat "
            "out."
        )
    return lines


@dataclass
class Recorder:
    """The recorder in one host, in a run that is in progress."""

    host: str
    every_s: int
    process: PlainProcess
    file: Path
    began_ns: int

    @classmethod
    async def begin(cls, host: str, every_ns: int, processes: RunProcesses) -> Recorder:
        """Start the recorder, and wait for its first record. Raises NodeError."""
        _FOLDER.mkdir(exist_ok=True)
        file, every_s = _FOLDER / host, every_ns // _NS_PER_S
        file.unlink(missing_ok=True)
        program = recorder_program()
        assert program is not None, "unsupported() refuses a machine without it"
        began_ns = _now_ns()
        process = await processes.start_plain(
            f"{host} (sar)",
            [*in_namespace(host), str(program), "-S", "XALL", str(every_s), str(file)],
            folder=str(_FOLDER),
            environment={"LC_ALL": "C"},
            prepare=lambda: None,
            end_by=signal.SIGINT,
        )
        recorder = cls(host, every_s, process, file, began_ns)
        await recorder._record_after(0)
        return recorder

    async def end(self) -> Recording:
        """Wait for one more record, and return all records. Raises NodeError."""
        await self._record_after(self._size())
        ended_ns = _now_ns()
        with suppress(ProcessLookupError):
            self.process.process.send_signal(self.process.end_by)
        await self.process.process.wait()
        try:
            return recording(
                self.host, self.file.read_bytes(), await self._shown(), self.began_ns, ended_ns
            )
        except (LookupError, ValueError) as error:
            raise NodeError(self.process.node, str(error)) from None

    async def _record_after(self, size: int) -> None:
        """Wait until the file has grown and contains the whole record."""
        try:
            async with asyncio.timeout(self.every_s + _LATE_S):
                while (now := self._size()) == size or now != await self._size_later():
                    if self.process.process.returncode is not None:
                        await self.process.say_why()
                    await asyncio.sleep(_STEP_S)
        except TimeoutError:
            message = f"has written no record for {self.every_s + _LATE_S:.0f} s"
            raise NodeError(self.process.node, message) from None

    def _size(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    async def _size_later(self) -> int:
        await asyncio.sleep(_WRITTEN_S)
        return self._size()

    async def _shown(self) -> str:
        program = find_program("sadf")
        assert program is not None, "unsupported() refuses a machine without it"
        asked = await asyncio.create_subprocess_exec(
            program,
            "-r",
            str(self.file),
            "--",
            *SHOWN,
            env={"LC_ALL": "C"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        shown, errors = await asked.communicate()
        if asked.returncode != 0:
            raise LookupError(f"sadf cannot read its file: {errors.decode('utf-8', 'replace')}")
        return shown.decode("utf-8", "replace")


async def begin_recorders(run: wire.Run, processes: RunProcesses) -> list[Recorder]:
    """Start the recorders that a run asks for. Raises NodeError."""
    asked = [one for one in run.instruments if one.sysstat]
    starts = (Recorder.begin(one.node, one.every_ns, processes) for one in asked)
    return list(await asyncio.gather(*starts))


async def end_recorders(recorders: Sequence[Recorder]) -> tuple[Recording, ...]:
    """Stop the recorders and return their recordings. Raises NodeError."""
    return tuple(await asyncio.gather(*(one.end() for one in recorders)))


def _now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
