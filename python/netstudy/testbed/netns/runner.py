"""One run in namespaces: its processes, led through its phases, and what they say."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, TypeVar

from netstudy import wire
from netstudy.testbed.netns.layout import INTERFACE, Host, Layout, node_names
from netstudy.testbed.netns.network import in_namespace
from netstudy.testbed.netns.quota import quotas
from netstudy.testbed.netns.switches import EngineSwitch, KernelQueues, RunSwitch
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.evidence import Evidence, HostEvidence
from netstudy.testbed.real.incast import response_bytes
from netstudy.testbed.real.process import START_S, NodeError, NodeProcess, answered, ready
from netstudy.testbed.real.running import Running, Transcript

Agent = NodeProcess[agent_wire.AgentRecord]
Process = NodeProcess[Any]
Snapshots = tuple[list[agent_wire.SnapshotRecord], list[agent_wire.SnapshotRecord]]
"""Of the agents, the client first, before and after the measuring phase."""
OnIterations = Callable[[int], None]
"""Called each second with the iterations of the run that have ended, warm-up included."""
ResultT = TypeVar("ResultT")

_BEFORE, _AFTER = "measure-start", "measure-end"
_ITERATION_S = 2.0
"""Added to the time of an iteration: room for a series of timeouts."""
_SLOWDOWN = 50
"""How much slower than the client's link an iteration may be: goodput collapses by that much."""
SILENCE_S = 20.0
"""The kernel repeats what is lost after 0.2 s, 0.4 s, …: seven losses in a row do not happen."""
_PROGRESS_MS = 1_000
"""Between two signs of life of the client, which cost it some microseconds each."""
_UNHEARD_S = 3.0
"""How much longer than servers a client may be silent: it notices their silence, gives a sign of
life before that, and knows more of it than who only hears nothing of the client."""
_LONGEST_WAIT_MEANS = 50
"""An exponential wait longer than this many means has a probability of 2e-22."""
_SAMPLE_MS = 250
"""Between two samples of the client's counters and the machine's; one takes about 0.2 ms."""
_COMPLAINT_S = 0.5
"""Between a process's complaint of another one and the news of that one's end."""
_QUIET_S = 0.1
"""After the last byte of a phase: a delayed acknowledgment takes 40 ms (TCP_DELACK_MIN), and a
sender with a shorter timeout sends again meanwhile. Then nothing is under way."""


@dataclass(frozen=True)
class Processors:
    """Where processes stay: all hosts on one, so that no frame overtakes another, and the switch on
    another one, so that its clock does not wait for them."""

    hosts: int | None
    switch: int | None


def processors(allowed: Iterable[int]) -> Processors:
    """The first two of those that may be used; with one only, nothing is pinned."""
    first, *rest = sorted(allowed)
    return Processors(first, rest[0]) if rest else Processors(None, None)


@dataclass(frozen=True)
class Setting:
    """What a run's processes are made with."""

    run: wire.Run
    layout: Layout
    engine: Path
    processors: Processors
    silence_s: float = SILENCE_S
    """How long nothing may come of any server, beside the delays that the study asks for."""

    @property
    def client(self) -> Host:
        """The host that asks."""
        return next(host for host in self.layout.hosts if host.node == self.run.workload.client)

    @property
    def servers(self) -> list[Host]:
        """The hosts that answer, in order."""
        return [host for host in self.layout.hosts if host.node != self.run.workload.client]

    @property
    def quotas(self) -> dict[str, int]:
        """Node -> percent of one processor, where the study says so."""
        return {
            node: group.cpu_quota_pct
            for group in self.run.network.hosts
            for node in node_names(group)
            if group.cpu_quota_pct is not None
        }

    @property
    def iteration_bytes(self) -> int:
        """What the client receives in an iteration."""
        return sum(response_bytes(self.run.workload, len(self.servers)))

    @property
    def time_limit_s(self) -> float:
        """How long the run may take before it is given up."""
        work, rate_bps = self.run.workload, self.client.link.rate_bps
        each = _SLOWDOWN * 8 * self.iteration_bytes / rate_bps + _ITERATION_S
        return float(START_S + (work.warmup_iterations + work.iterations) * each)

    @property
    def silence_limit_s(self) -> float:
        """How long all servers may be silent before that is a failure."""
        jitter = self.run.workload.start_jitter
        match jitter:
            case wire.UniformJitter():
                wait_ns = jitter.max_ns
            case wire.ExponentialJitter():
                wait_ns = _LONGEST_WAIT_MEANS * jitter.mean_ns
            case wire.NoJitter():
                wait_ns = 0
        return self.silence_s + wait_ns / 1e9


async def carry_out(
    setting: Setting, transcript: Transcript, on_iterations: OnIterations | None = None
) -> Evidence:
    """Carry the run out in the network that is there. Raises NodeError when a process fails.

    All processes have ended when this returns, whatever happens. What they write is added to the
    transcript as it comes.
    """
    token = secrets.token_hex(16)
    async with AsyncExitStack() as stack:
        groups = stack.enter_context(quotas(setting.quotas))
        running = Running(stack, transcript)
        switch = await _start_switch(setting, running)
        servers = await asyncio.gather(
            *(_start_server(setting, at, token, running) for at in range(len(setting.servers)))
        )
        client = await _start_client(setting, servers, token, running)
        if on_iterations is not None:
            client.heard = partial(_count, setting.iteration_bytes, on_iterations)
        agents = [client, *(server for server, _ in servers)]
        for agent in agents:
            if agent.node in groups:
                groups[agent.node].write_text(str(agent.process.pid))
        try:
            return await _in_time(setting, agents, switch)
        except NodeError as error:
            reasons = "; ".join([error.message, *running.standing_still()])
            await running.hear_out()
            raise NodeError(error.node, _with_names(reasons, setting.layout)) from error


def _count(
    iteration_bytes: int, on_iterations: OnIterations, record: agent_wire.AgentRecord
) -> None:
    """A sign of life counts iterations by phase, and bytes by run."""
    if isinstance(record, agent_wire.ProgressRecord):
        on_iterations(record.bytes // iteration_bytes)


async def _in_time(setting: Setting, agents: list[Agent], switch: RunSwitch) -> Evidence:
    """Lead the processes through the run, within the run's time limit."""
    client = agents[0]
    processes: list[Process] = [*agents, *([switch.process] if switch.process else [])]
    try:
        async with asyncio.timeout(setting.time_limit_s + START_S):
            work = _measured(client, agents, switch, setting.silence_limit_s + _UNHEARD_S)
            snapshots = await _unless_one_ends(work, processes)
            return await _gathered(agents, switch, snapshots)
    except TimeoutError:
        message = f"the run did not end within {setting.time_limit_s:.0f} s"
        raise NodeError(client.node, message) from None


def _with_names(message: str, layout: Layout) -> str:
    """Agents know each other by address; people know hosts by name."""
    found = [
        f"{host.address} is {host.node}"
        for host in layout.hosts
        if re.search(rf"(?<![\d.]){re.escape(host.address)}(?![\d.])", message)
    ]
    return f"{message} ({', '.join(found)})" if found else message


async def _unless_one_ends(work: Coroutine[Any, Any, ResultT], processes: list[Process]) -> ResultT:
    """Do the work, unless one of the processes ends before.

    Without that, a client would wait for a server's last byte until its time is over.
    """
    task = asyncio.ensure_future(work)
    ended: list[Process] = []
    ends = [asyncio.ensure_future(_note_end(process, ended)) for process in processes]
    try:
        await asyncio.wait([task, *ends], return_when=asyncio.FIRST_COMPLETED)
        if not task.done() or task.exception() is not None:
            # Who talks to a process that died may complain of it, or end, before its end is known.
            await asyncio.wait(ends, timeout=_COMPLAINT_S)
            if ended and not _tells_of(task, _culprit(ended)):
                await _cancelled(task)
                await _culprit(ended).say_why()
        return await task
    finally:
        for end in ends:
            end.cancel()
        await _cancelled(task)


async def _note_end(process: Process, ended: list[Process]) -> None:
    await process.process.wait()
    ended.append(process)


def _tells_of(task: asyncio.Future[Any], process: Process) -> bool:
    """Whether the task has failed with what the process itself said."""
    error = task.exception() if task.done() else None
    return isinstance(error, NodeError) and error.node == process.node


def _culprit(ended: list[Process]) -> Process:
    """Of processes in the order in which they ended, the one because of which the others did.

    One that is killed closes its connections first: the other ends of these may be known to have
    ended before it.
    """
    killed = (one for one in ended if (one.process.returncode or 0) < 0)
    return next(killed, ended[0])


async def _cancelled(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, NodeError):
        await task


async def _measured(
    client: Agent, agents: list[Agent], switch: RunSwitch, silence_limit_s: float
) -> Snapshots:
    """Lead the client through its phases; the counters around the one that is measured."""
    await _phase(client, "warmed-up", silence_limit_s)
    await asyncio.sleep(_QUIET_S)
    before = await _snapshots(agents, switch, _BEFORE)
    await client.send(agent_wire.GoCommand())
    await _phase(client, "measured", silence_limit_s)
    await asyncio.sleep(_QUIET_S)
    return before, await _snapshots(agents, switch, _AFTER)


async def _phase(client: Agent, name: str, silence_limit_s: float) -> None:
    """Wait for the end of a phase, as long as the client gives signs of life."""
    await client.expect(agent_wire.PhaseRecord, _named(name), silence_limit_s=silence_limit_s)


async def _gathered(agents: list[Agent], switch: RunSwitch, snapshots: Snapshots) -> Evidence:
    """End all processes, and put together what they wrote."""
    records = [await _stop(agent) for agent in agents]
    switched = await switch.stop()
    hosts = [
        HostEvidence(agent.node, before, after, (*agent.aside, *written))
        for agent, before, after, written in zip(agents, *snapshots, records, strict=True)
    ]
    return Evidence(client=hosts[0], servers=tuple(hosts[1:]), switch=switched)


async def _snapshots(
    agents: list[Agent], switch: RunSwitch, name: str
) -> list[agent_wire.SnapshotRecord]:
    """The counters of all, while nothing is under way: the hosts', the client's first."""
    for agent in agents:
        await agent.send(agent_wire.SnapshotCommand(name=name))
    await switch.snapshot(name)
    return [
        await answered(agent, agent.expect(agent_wire.SnapshotRecord, _named(name)))
        for agent in agents
    ]


def _named(name: str) -> Any:
    return lambda record: record.name == name


async def _stop(agent: Agent) -> list[agent_wire.AgentRecord]:
    await agent.send(agent_wire.StopCommand())
    return await answered(agent, agent.finish(agent_wire.EndRecord))


async def _start_switch(setting: Setting, running: Running) -> RunSwitch:
    if setting.layout.switching == "kernel":
        return KernelQueues(setting.layout)
    return await EngineSwitch.start(
        setting.run,
        setting.layout,
        setting.engine,
        cpu=setting.processors.switch,
        time_limit_ms=_limit_ms(setting),
        running=running,
    )


async def _start_server(
    setting: Setting, index: int, token: str, running: Running
) -> tuple[Agent, int]:
    """A server and the port that it listens on."""
    host, work = setting.servers[index], setting.run.workload
    role = agent_wire.IncastServerRole(
        address=IPv4Address(host.address),
        client=IPv4Address(setting.client.address),
        request_bytes=work.request_bytes,
        response_bytes=response_bytes(work, len(setting.servers))[index],
        start_jitter=work.start_jitter,
        number=index + 1,
        seed=setting.run.seed,
    )
    agent, ready = await _start_agent(setting, host, role, token, running)
    if ready.port is None:
        raise NodeError(host.node, "does not say where it listens")
    return agent, ready.port


async def _start_client(
    setting: Setting, servers: list[tuple[Agent, int]], token: str, running: Running
) -> Agent:
    host, work = setting.client, setting.run.workload
    role = agent_wire.IncastClientRole(
        address=IPv4Address(host.address),
        servers=tuple(
            agent_wire.Endpoint(address=IPv4Address(server.address), port=port)
            for server, (_, port) in zip(setting.servers, servers, strict=True)
        ),
        request_bytes=work.request_bytes,
        response_bytes=tuple(response_bytes(work, len(servers))),
        iterations=work.iterations,
        warmup_iterations=work.warmup_iterations,
        request_spacing_ns=work.request_spacing_ns,
        silence_limit_ms=int(1_000 * setting.silence_limit_s),
        progress_interval_ms=_PROGRESS_MS,
    )
    agent, _ = await _start_agent(setting, host, role, token, running)
    return agent


async def _start_agent(
    setting: Setting,
    host: Host,
    role: agent_wire.AgentRole,
    token: str,
    running: Running,
) -> tuple[Agent, agent_wire.ReadyRecord]:
    plan = agent_wire.AgentPlan(
        run=setting.run.id,
        node=host.node,
        token=token,
        time_limit_ms=_limit_ms(setting),
        cpu=setting.processors.hosts,
        socket=agent_wire.SocketOptions(congestion_control=host.tcp.congestion_control),
        probe=agent_wire.ProbePlan(
            interval_ms=_SAMPLE_MS if host is setting.client else None, interfaces=(INTERFACE,)
        ),
        role=role,
    )
    command = [*in_namespace(host.node), str(setting.engine), "agent"]
    agent = await running.start(host.node, command, plan, agent_wire.AGENT_RECORD)
    return agent, await ready(agent, agent_wire.ReadyRecord)


def _limit_ms(setting: Setting) -> int:
    return int(1_000 * setting.time_limit_s)
