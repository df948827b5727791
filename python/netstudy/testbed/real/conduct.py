"""One run on real hosts: start its processes, run the phases, collect evidence."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.agent_plan import agent_plan
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.real.application import RunApplication
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.real.phases import Carried, Happened, Paused, phase_times
from netstudy.testbed.real.place import Lost, Place, RunSwitch, Watched
from netstudy.testbed.real.polling import Poller, pollings
from netstudy.testbed.real.processes import (
    LostHostError,
    NodeError,
    NodeProcess,
    Process,
    RunProcesses,
    Transcript,
    answered,
    ready,
)
from netstudy.testbed.real.progress import UnderWay
from netstudy.testbed.real.setting import Setting

Agent = NodeProcess[agent_wire.AgentRecord]
OnProgress = Callable[[wire.RunUnderWay], None]
"""Called when a client writes a progress record, about once a second."""
ResultT = TypeVar("ResultT")

_COMPLAINT_S = 0.5
"""How long to wait for a failed process to exit, after another process has reported that
failure."""
_QUIET_S = 0.1
"""How long to wait after the last byte of a phase until nothing is in flight: a delayed
acknowledgment takes 40 ms (TCP_DELACK_MIN), and a sender with a shorter timeout retransmits
meanwhile."""
_BEFORE_LOAD: Final = ("load", "configure", "gather-statistics")
"""Phases in which the application is prepared, before any load."""


@dataclass
class _Course:
    """The readings, phases and records of a run so far."""

    edges: list[str] = field(default_factory=list)
    phases: list[Happened] = field(default_factory=list)
    snapshots: dict[AgentSpec, dict[str, agent_wire.SnapshotRecord]] = field(default_factory=dict)
    ended: dict[AgentSpec, list[agent_wire.AgentRecord]] = field(default_factory=dict)
    """Phase records of clients that the runner waited for."""
    watched: Watched = field(default_factory=Watched)


@dataclass
class _Crew:
    """The processes of a run."""

    setting: Setting
    started: RunProcesses
    switch: RunSwitch
    agents: Mapping[AgentSpec, Agent]
    pollers: Sequence[Poller]
    application: RunApplication | None
    under_way: UnderWay
    course: _Course

    @property
    def processes(self) -> list[Process]:
        switch = [self.switch.process] if self.switch.process else []
        served = self.application.processes if self.application else ()
        pollers = (one.process for one in self.pollers)
        return [*self.agents.values(), *served, *switch, *pollers]

    @property
    def clients(self) -> dict[AgentSpec, Agent]:
        return {spec: agent for spec, agent in self.agents.items() if spec.role == "client"}


async def carry_out(
    setting: Setting, transcript: Transcript, on_progress: OnProgress | None = None
) -> Evidence:
    """Execute the run in its place. Raises NodeError when a process fails, LostHostError when a
    host is lost, and TestbedError when the place cannot be made ready.

    All processes have ended when this returns or raises. The output of the processes is added to
    the transcript as it arrives.
    """
    place, limit_ms = setting.place, setting.time_limits.run_ms
    token = secrets.token_hex(16)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(place.launch())
        processes = RunProcesses(stack, transcript)
        switch = await place.switch(processes, limit_ms)
        pollers = [await Poller.start(one, setting, processes) for one in pollings(setting.run)]
        try:
            course = _Course()
            application = await place.application(processes, limit_ms)
            if application is not None:
                before = _prepared(application, setting.run, course)
                await _unless_one_ends(before, list(application.processes))
            port = application.port if application else None
            await place.compare_clocks()  # clients begin to send as soon as they are started
            agents = await _start_agents(setting, token, processes, port)
            under_way = UnderWay(setting.run)
            crew = _Crew(
                setting, processes, switch, agents, pollers, application, under_way, course
            )
            for spec, agent in crew.clients.items():
                agent.on_record = crew.under_way.listener(spec.endpoint, on_progress)
            return await _in_time(crew)
        except NodeError as error:
            reasons = "; ".join([error.message, *processes.stopped_by_signals()])
            failure = NodeError(error.node, _with_names(reasons, place))
            lost = await place.lost()
            await processes.collect_last_records()
            raise caused_by(lost, failure) from error


async def _in_time(crew: _Crew) -> Evidence:
    """Run the phases within the run's time limit."""
    limit_s = crew.setting.time_limits.run_s
    try:
        async with asyncio.timeout(limit_s + crew.setting.time_limits.start_s):
            await _unless_one_ends(_led(crew), crew.processes)
            return await _gathered(crew)
    except TimeoutError:
        first = next(iter(crew.clients.values()))
        raise NodeError(first.node, f"the run did not end within {limit_s:.0f} s") from None


def caused_by(lost: Sequence[Lost], failure: NodeError) -> NodeError:
    """The error of a run in which hosts were lost: they are its cause. The failure that was seen
    first follows, unless it is that of a lost host."""
    if not lost:
        return failure
    first, *others = lost
    seen = [] if failure.node in {one.node for one in lost} else [f"seen first as: {failure}"]
    said = [first.why, *(f"{one.node}: {one.why}" for one in others), *seen]
    return LostHostError(first.node, "; ".join(said))


def _with_names(message: str, place: Place) -> str:
    """Adds the host names of the addresses in a message: agents know only addresses."""
    found = [
        f"{ip} is {node}"
        for ip, node in place.names.items()
        if re.search(rf"(?<![\d.]){re.escape(ip)}(?![\d.])", message)
    ]
    return f"{message} ({', '.join(found)})" if found else message


async def _unless_one_ends(work: Coroutine[Any, Any, ResultT], processes: list[Process]) -> ResultT:
    """Do the work, but stop if a process ends before it is done. Otherwise a client would wait
    until its time limit for the last byte of a server that has died."""
    task = asyncio.ensure_future(work)
    ended: list[Process] = []
    ends = [asyncio.ensure_future(_note_end(process, ended)) for process in processes]
    try:
        await asyncio.wait([task, *ends], return_when=asyncio.FIRST_COMPLETED)
        if not task.done() or task.exception() is not None:
            # Peers may report an error before we see that the process exited.
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
    await process.wait()
    ended.append(process)


def _tells_of(task: asyncio.Future[Any], process: Process) -> bool:
    """Whether the task failed because of an error of this process itself, not of another one."""
    error = task.exception() if task.done() else None
    return isinstance(error, NodeError) and error.node == process.node


def _culprit(ended: list[Process]) -> Process:
    """The process whose end made the others end, chosen from all processes that ended, in order.
    Since a killed process closes its connections first, its peers may end before we see its own
    end."""
    killed = (one for one in ended if one.killed)
    return next(killed, ended[0])


async def _cancelled(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, NodeError):
        await task


async def _prepared(application: RunApplication, run: wire.Run, course: _Course) -> None:
    """Run the phases before the load. The data of an application are always loaded; the other
    phases run only if the plan has them."""
    planned = [phase.kind for phase in run.phases]
    if "load" not in planned:
        await application.prepare("load")
    for kind in (one for one in planned if one in _BEFORE_LOAD):
        await _application_phase(application, kind, course)


async def _application_phase(
    application: RunApplication, kind: wire.PhaseKind, course: _Course
) -> None:
    # Applications run only where the controller and all hosts have one clock.
    start_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    await application.prepare(kind)
    end_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    course.phases.append(wire.PhaseTimes(kind=kind, start_ns=start_ns, end_ns=end_ns))


async def _led(crew: _Crew) -> None:
    """Lead the clients through their phases; between phases, wait until nothing is in flight and
    read the counters.

    A client begins its first phase without a command, and waits for a command after each phase.
    """
    planned = [phase.kind for phase in crew.setting.run.phases]
    if "idle" in planned:
        await _phase(crew, "idle")
        await _edge(crew, "warm-up-start")
        await _go(crew)
    await _phase(crew, "warm-up", is_planned="warm-up" in planned)
    await _pause(crew, "stop", edge="warm-up-end")
    if crew.application is not None and "reset" in planned:
        await _application_phase(crew.application, "reset", crew.course)
    watch = await crew.setting.place.watch(crew.started)
    await _edge(crew, wire.MEASURE_START)
    await _go(crew)
    await _phase(crew, "measure")
    await _edge(crew, wire.MEASURE_END)
    crew.course.watched = await watch.end()
    await _pause(crew, "cool-down")
    if isinstance(crew.setting.run.until("cool-down"), wire.UntilTime):
        await _edge(crew, "cool-down-end")


async def _phase(crew: _Crew, name: agent_wire.PhaseName, *, is_planned: bool = True) -> None:
    """Wait until every client has ended a phase and nothing is in flight. The phase itself has no
    time limit; only silence has one."""
    limit_s = crew.setting.time_limits.client_silence_s
    ended = [
        await agent.expect(
            agent_wire.PhaseRecord, lambda record: record.name == name, silence_limit_s=limit_s
        )
        for agent in crew.clients.values()
    ]
    for spec, record in zip(crew.clients, ended, strict=True):
        crew.course.ended.setdefault(spec, []).append(record)
    records = {spec.node: record for spec, record in zip(crew.clients, ended, strict=True)}
    crew.course.phases.append(Carried(name, records, is_planned=is_planned))
    await asyncio.sleep(_QUIET_S)


async def _pause(crew: _Crew, kind: wire.PhaseKind, *, edge: str | None = None) -> None:
    """Run a phase without traffic, if the plan has it."""
    if not any(phase.kind == kind for phase in crew.setting.run.phases):
        return
    until = crew.setting.run.until(kind)
    length_ns = until.ns if isinstance(until, wire.UntilTime) else 0
    if length_ns and edge:
        await _edge(crew, edge)
    await _poll_on(crew)
    await asyncio.sleep(length_ns / 1e9)
    crew.course.phases.append(Paused(kind, max(length_ns, round(1e9 * _QUIET_S))))


async def _go(crew: _Crew) -> None:
    crew.under_way.next_phase()
    for agent in crew.clients.values():
        await agent.send(agent_wire.GoCommand())
    await _poll_on(crew)


async def _poll_on(crew: _Crew) -> None:
    """Resume polling after the counters were read. The first poll is sent at once, so that the
    first interval begins with the phase."""
    for poller in crew.pollers:
        await poller.go_on()


async def _edge(crew: _Crew, name: str) -> None:
    """Read the counters of all processes, while nothing is in flight."""
    crew.course.edges.append(name)
    for poller in crew.pollers:
        await poller.snapshot(name)
    # Pollers are silent now. The questions for clocks take CPU time, which is not the phase's.
    ends_phase = name.endswith("-end")
    if not ends_phase:
        await crew.setting.place.compare_clocks()
    for agent in crew.agents.values():
        await agent.send(agent_wire.SnapshotCommand(name=name))
    await crew.switch.snapshot(name)
    if crew.application is not None:
        await crew.application.snapshot(name)
    for spec, agent in crew.agents.items():
        taken = agent.expect(agent_wire.SnapshotRecord, lambda record: record.name == name)
        crew.course.snapshots.setdefault(spec, {})[name] = await answered(agent, taken)
    if ends_phase:
        await crew.setting.place.compare_clocks()


async def _gathered(crew: _Crew) -> Evidence:
    """Stop all processes and join their records."""
    setting, course = crew.setting, crew.course
    place, watched = setting.place, course.watched
    addresses = {spec: place.address(spec.endpoint) for spec in crew.agents}
    await place.compare_clocks()
    clocks = place.clocks
    first = next(iter(crew.clients)).node
    written = {spec: await _stop(agent) for spec, agent in crew.agents.items()}
    polls = [await poller.stop() for poller in crew.pollers]
    # The switch is stopped after the agents, since it still has to forward their last frames.
    switched = await crew.switch.stop()
    served = await crew.application.finish() if crew.application else None

    return Evidence(
        run=setting.run,
        specs=setting.specs,
        agents={
            spec: AgentEvidence(
                spec=spec,
                host=addresses[spec].stack,
                interface=addresses[spec].port,
                device=addresses[spec].device,
                snapshots=course.snapshots[spec],
                records=(*agent.aside, *course.ended.get(spec, ()), *written[spec]),
            )
            for spec, agent in crew.agents.items()
        },
        switch=switched,
        polls=tuple(polls),
        edges=tuple(course.edges),
        phases=phase_times(course.phases, clocks, clocks.domains[first]),
        clocks=clocks,
        machines=place.machines,
        tick_ns=place.tick_ns,
        burst_bytes=place.burst_bytes,
        cpus=place.cpus,
        application=served,
        recordings=watched.recordings,
        hardware=watched.hardware,
        hardware_note=watched.hardware_note,
        allowed=place.allowed,
        application_connections=setting.served.connections if setting.served else 0,
    )


async def _stop(agent: Agent) -> list[agent_wire.AgentRecord]:
    await agent.send(agent_wire.StopCommand())
    return await answered(agent, agent.finish(agent_wire.EndRecord))


async def _start_agents(
    setting: Setting,
    token: str,
    processes: RunProcesses,
    port: int | None,
) -> dict[AgentSpec, Agent]:
    """Start servers and observers, then the clients, which need to know the ports of the servers or
    of the application."""
    listening: dict[AgentSpec, tuple[agent_wire.Endpoint, ...]] = {}

    async def start(spec: AgentSpec) -> Agent:
        plan = agent_plan(setting, spec, token, listening, port)
        name, record = setting.process_name(spec), agent_wire.AGENT_RECORD
        agent = await setting.place.start(processes, name, spec.node, "agent", plan, record)
        said = await ready(agent, agent_wire.ReadyRecord)
        if spec.role == "server" and not said.listening:
            raise NodeError(name, "does not say where it listens")
        listening[spec] = said.listening
        return agent

    specs = setting.specs
    first = (*specs.servers, *specs.observers)
    started = dict(zip(first, await asyncio.gather(*map(start, first)), strict=True))
    clients = {spec: await start(spec) for spec in specs.clients}
    return {**clients, **started}
