"""The session of a host, against a stand-in for the engine over pipes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from netstudy.errors import TestbedError
from netstudy.testbed.ssh import host_wire as hw
from netstudy.testbed.ssh import session as module
from netstudy.testbed.ssh.session import (
    HostLostError,
    HostSession,
    host_session,
    in_use,
)

STAND_IN = Path(__file__).with_name("stand_in.py")
NONCE = "5f0e"
SECOND_NS = 10**9


def opened(manner: str = "", lease_s: int = 60) -> AbstractAsyncContextManager[HostSession]:
    argv = [sys.executable, str(STAND_IN), NONCE, manner]
    return host_session(
        "alpha", argv, NONCE, lease_s * SECOND_NS, lambda said: f"alpha: not begun: {said.strip()}"
    )


def with_session(
    act: Callable[[HostSession], Awaitable[None]], manner: str = "", lease_s: int = 60
) -> None:
    async def run() -> None:
        async with opened(manner, lease_s) as session:
            await act(session)

    asyncio.run(asyncio.wait_for(run(), 30))


def test_lines_of_log_in_scripts_are_kept_apart_from_the_session() -> None:
    async def act(session: HostSession) -> None:
        assert session.printed == ("Welcome!", "netstudy 0000", "\tnot ours")
        assert session.hello.user == "ns"

    with_session(act)


def test_a_log_in_script_may_leave_its_last_line_unended() -> None:
    async def act(session: HostSession) -> None:
        assert session.printed[-1] == "$ "
        assert session.hello.user == "ns"

    with_session(act, "unended")


def test_a_session_that_ends_without_a_word_was_killed() -> None:
    async def act(session: HostSession) -> None:
        channel = await session.start("alpha", "agent")
        await channel.write(b"vanish\n")
        assert await channel.how_ended() == (
            "has ended its session; netstudy's process there was killed, or ssh lost the connection"
        )
        await session.heard_or_over()

    with_session(act)


def test_each_command_gets_its_own_answer() -> None:
    async def act(session: HostSession) -> None:
        one, other = await asyncio.gather(session.read(["/a"]), session.read(["/b"]))
        assert (one, other) == ({"/a": "text"}, {"/b": "text"})
        address = IPv4Address("192.0.2.1")
        assert (await session.listen(address, [address], 0, 1.0))[1] == 4000
        with pytest.raises(TestbedError, match="alpha: interfaces 4: no netlink"):
            await session.interfaces()

    with_session(act)


def test_the_clock_of_the_host_lies_between_sending_and_receiving() -> None:
    async def act(session: HostSession) -> None:
        pings = await session.clock(20)
        assert len(pings) == 20
        for ping in pings:
            assert ping.sent_ns <= ping.host_ns - 10**12 <= ping.received_ns

    with_session(act)


def test_a_child_is_a_channel_of_lines() -> None:
    async def act(session: HostSession) -> None:
        one, other = await session.start("server-1", "agent"), await session.start("h2", "agent")
        await other.write(b"plan of h2\n")
        await one.write(b"plan\twith tab\n")
        assert [await one.readline(), await one.readline()] == [b"ready\n", b"plan\twith tab\n"]
        assert [await other.readline(), await other.readline()] == [b"ready\n", b"plan of h2\n"]
        await one.close()
        assert await one.how_ended() == "ended with exit code 3; last words"
        assert (await one.readline(), one.killed) == (b"", False)
        await one.write(b"too late\n")

    with_session(act)


def test_a_child_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.1)

    async def act(session: HostSession) -> None:
        channel = await session.start("server-1", "agent")
        await channel.close()
        assert channel.killed
        assert await channel.how_ended() == "was killed by signal 9"

    with_session(act, "stubborn")


def test_a_name_in_use_is_refused_and_the_session_goes_on() -> None:
    async def act(session: HostSession) -> None:
        with pytest.raises(TestbedError, match="alpha: the name 'refused' is in use"):
            await session.start("refused", "agent")
        assert (await session.start("server-1", "agent")).name == "server-1"

    with_session(act)


def test_a_paused_child_says_so_until_it_goes_on() -> None:
    async def act(session: HostSession) -> None:
        channel = await session.start("server-1", "agent")
        assert await channel.readline() == b"ready\n"
        await channel.write(b"pause\n")
        await session.read([])
        assert channel.stopped_by == "SIGSTOP"
        await channel.write(b"on\n")
        assert await channel.readline() == b"on\n"
        assert not channel.is_paused

    with_session(act)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"lease\n", "alpha has ended its traffic: it heard nothing from here for 60 s"),
        (b"junk\n", "alpha wrote a line that is not a message: 'no tab'"),
        (b"die\n", "alpha has ended its session; out of memory"),
    ],
)
def test_the_end_of_a_session_ends_its_children_and_commands(line: bytes, told: str) -> None:
    async def act(session: HostSession) -> None:
        channel = await session.start("server-1", "agent")
        assert await channel.readline() == b"ready\n"
        await channel.write(line)
        assert await channel.readline() == b""
        assert await channel.how_ended() == told
        with pytest.raises(HostLostError, match=told):
            await session.read(["/a"])
        await channel.close()

    with_session(act)


def test_a_host_that_says_nothing_for_the_lease_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BEAT_S", 0.1)

    async def act(session: HostSession) -> None:
        with pytest.raises(
            HostLostError, match=r"alpha has not been heard of since \d\d:\d\d:\d\d"
        ):
            await session.read(["/a"])

    with_session(act, "silent", lease_s=1)


def refused(manner: str) -> str:
    async def act(session: HostSession) -> None:
        raise AssertionError("the session began")

    with pytest.raises(TestbedError) as refusal:
        with_session(act, manner)
    return str(refusal.value)


def test_a_host_that_works_for_another_controller_is_refused() -> None:
    assert refused("locked") == (
        "alpha is in use by pid 4212 (uid 1002) since 2026-11-29T07:41:09Z; wait until it has ended"
    )


def test_an_owner_who_is_not_visible_has_no_number() -> None:
    said = in_use("alpha", hw.LockedRecord(pid=None, uid=None, since=None))
    assert said == "alpha is in use by another process; wait until it has ended"


def test_an_engine_that_does_not_start_is_explained_by_what_the_host_said() -> None:
    assert refused("dead") == "alpha: not begun: sh: 1: exec: /x/engine-1: Permission denied"
