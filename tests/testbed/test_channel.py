"""A local program behind a channel: its lines, and every way in which it ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from netstudy.testbed.real.channel import LocalChannel

ResultT = TypeVar("ResultT")


def with_program(script: str, act: Callable[[LocalChannel], Awaitable[ResultT]]) -> ResultT:
    async def tried() -> ResultT:
        channel = await LocalChannel.start(["sh", "-c", script])
        try:
            return await act(channel)
        finally:
            await channel.close()

    return asyncio.run(tried())


def test_lines_go_in_and_come_out_with_their_ends() -> None:
    async def act(channel: LocalChannel) -> list[bytes]:
        await channel.write(b"one\n")
        await channel.write(b"two\n")
        return [await channel.readline(), await channel.readline()]

    assert with_program("exec cat", act) == [b"one\n", b"two\n"]


def test_a_cut_line_is_the_last_one_and_the_end_says_why() -> None:
    async def act(channel: LocalChannel) -> tuple[bytes, bytes, str, bool]:
        cut, nothing = await channel.readline(), await channel.readline()
        return cut, nothing, await channel.how_ended(), channel.killed

    found = with_program("printf half; echo no disk >&2; exit 3", act)
    assert found == (b"half", b"", "ended with exit code 3; no disk", False)


def test_a_killed_program_is_told_from_one_that_ended() -> None:
    async def act(channel: LocalChannel) -> tuple[str, bool]:
        os.kill(channel.process.pid, signal.SIGKILL)
        await channel.wait()
        return await channel.how_ended(), channel.killed

    assert with_program("exec cat", act) == ("was killed by signal 9", True)


def test_writing_to_a_program_that_has_ended_is_no_error() -> None:
    async def act(channel: LocalChannel) -> bytes:
        await channel.wait()
        await channel.write(b"too late\n")
        return await channel.readline()

    assert with_program("exit 0", act) == b""


def test_a_stopped_program_says_by_which_signal() -> None:
    async def act(channel: LocalChannel) -> tuple[str | None, str | None, str | None]:
        running = channel.stopped_by
        os.kill(channel.process.pid, signal.SIGSTOP)
        while (stopped := channel.stopped_by) is None:
            await asyncio.sleep(0)
        os.kill(channel.process.pid, signal.SIGKILL)
        await channel.wait()
        return running, stopped, channel.stopped_by

    assert with_program("exec cat", act) == (None, "SIGSTOP", None)


def test_a_program_that_goes_on_after_the_end_of_its_input_is_killed() -> None:
    async def act(channel: LocalChannel) -> LocalChannel:
        assert await channel.readline() == b"here\n"
        return channel

    channel = with_program("echo here; exec sleep 1000", act)
    assert channel.killed


def test_a_program_that_is_not_there_does_not_start() -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(LocalChannel.start(["/no/such/program"]))
