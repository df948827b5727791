"""Instruments of the measuring phase that only hosts in namespaces have: sysstat's recorders, and
the hardware counters of hosts that run an application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netstudy.testbed.netns.namespaces import processes_within
from netstudy.testbed.netns.resources import Resources
from netstudy.testbed.netns.sysstat import Recorder, begin_recorders, end_recorders
from netstudy.testbed.real.hardware_counters import Counting, NotCountedError
from netstudy.testbed.real.place import Watched
from netstudy.testbed.real.processes import RunProcesses


@dataclass(frozen=True)
class NamespaceWatch:
    """The instruments of a run that is in progress, a Watch."""

    recorders: Sequence[Recorder]
    counted: Mapping[str, Counting]
    hardware_note: str | None

    @classmethod
    async def begin(cls, resources: Resources, processes: RunProcesses) -> NamespaceWatch:
        """Start the recorders, then the hardware counters. Raises NodeError."""
        recorders = await begin_recorders(resources.run, processes)
        return cls(recorders, *_hardware_counters(resources, processes))

    async def end(self) -> Watched:
        """See Watch.end."""
        hardware = {host: one.read() for host, one in self.counted.items()}
        return Watched(await end_recorders(self.recorders), hardware, self.hardware_note)


def _hardware_counters(
    resources: Resources, processes: RunProcesses
) -> tuple[dict[str, Counting], str | None]:
    """Start the hardware counters for all processes, agents included, of each host that runs an
    application. Returns them with Evidence.hardware_note."""
    served = resources.served
    found: dict[str, Counting] = {}
    try:
        for host in served.hosts if served else ():
            found[host] = Counting.of(processes_within(host))
            processes.at_end(found[host].close)
    except NotCountedError as error:
        return {}, str(error)
    if not all(one.is_whole for one in found.values()):
        return found, "of processes without the kernel's work for them"
    return found, None
