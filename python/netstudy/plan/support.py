"""The parts of studies that this version does not support.

Parts that would have no effect are reported, too: a run would otherwise silently ignore them.
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.nearest import suggestion
from netstudy.documents.problems import listed
from netstudy.hardware import HardwareLibrary
from netstudy.plan.workloads import LOWERINGS, lowering_of_spec
from netstudy.study import Study, level_text
from netstudy.study.procedure import SarSampler
from netstudy.study.topology import Host
from netstudy.study.undrawn import undrawn
from netstudy.study.vocabulary import NOTHING_RUNS, TESTBEDS

_OF_PRR = ("rack", "tail_loss_probe")
"""Settings of TCP that have an effect only with the loss recovery `prr`."""


def unsupported(study: Study, testbed: str) -> list[str]:
    """Parts that this version does not support on a testbed, one sentence each; empty if there are
    none."""
    there = testbed in TESTBEDS
    hint = suggestion(testbed, TESTBEDS) or f"; it has {', '.join(TESTBEDS)}."
    missing = [] if there else [f"This version has no testbed {testbed}{hint}"]
    if testbed in NOTHING_RUNS:
        return [*missing, *_not_drawn(study)]  # nothing is run
    return [
        *missing,
        *not_on_the_wire(study),
        *_not_carried_out(study),
        *_not_simulated(study, testbed),
        *_not_drawn(study),
    ]


def _not_carried_out(study: Study) -> Iterator[str]:
    workload = study.workload
    if lowering := lowering_of_spec(workload.spec):
        yield from lowering.not_run(workload.spec, study, ("workload", workload.kind))


def _not_simulated(study: Study, testbed: str) -> Iterator[str]:
    for name, host in study.topology.groups.items():
        if testbed == "sim" and host.cpu_quota is not None:
            yield f"The cpu_quota of host {name} needs a testbed of real hosts, such as netns."
        if testbed != "sim" and (said := listed(_simulated_only(study, host))):
            yield f"The {said} of host {name} can only be simulated: leave it out, or use sim."
    if testbed == "sim":
        yield from _of_another_recovery(study)
    for instrument in study.instruments:
        if testbed == "sim" and isinstance(instrument, SarSampler) and instrument.sysstat:
            yield (
                f"sysstat's sar at {instrument.sar} records a real kernel's counters: leave "
                "sysstat out, or write it in the study's variant for netns."
            )
    workload = study.workload
    if testbed == "sim" and (lowering := lowering_of_spec(workload.spec)):
        yield from lowering.not_simulated(workload.spec, study, ("workload", workload.kind))


def _of_another_recovery(study: Study) -> Iterator[str]:
    """Settings of the loss recovery `prr` at hosts that never use it. Not checked on real hosts,
    whose kernel has no other recovery."""
    for name, host in study.topology.groups.items():
        said = [key for key in _OF_PRR if getattr(host.tcp, key) is not None]
        if said and "prr" not in _recoveries(study, name):
            yield (
                f"The {listed(said)} of host {name} has no effect in the simulator without "
                "recovery: prr; leave it out, or set recovery: prr too."
            )


def _recoveries(study: Study, group: str) -> set[str]:
    """The loss recoveries that a host may have at any level: from the study, else from the
    profiles."""
    path, tcp = (*study.topology.host_path(group), "tcp"), study.topology.groups[group].tcp
    if tcp.recovery is not None:
        return {level_text(one) for _, one in study.levels_at((*path, "recovery"), tcp.recovery)}
    library = HardwareLibrary.default(study.folder)
    profile = study.topology.groups[group].profile
    hosts = [library.host(level_text(one)).tcp for _, one in study.levels_at(path, profile)]
    own = {one.recovery.value for one in hosts if one.recovery is not None}
    tcps = [level_text(one) for _, one in study.levels_at(path, tcp.profile)]
    tcps = tcps or [one.profile for one in hosts if one.profile is not None]
    found = [library.tcp(name).figures.recovery for name in tcps]
    return own | {one.value for one in found if one is not None}


def _not_drawn(study: Study) -> Iterator[str]:
    for part in undrawn(study):
        yield f"The report does not support {part} yet; leave it out with --without {part}."


def is_lowered(study: Study) -> bool:
    """Whether the study's workload has a form on the wire, whatever else is unsupported."""
    return lowering_of_spec(study.workload.spec) is not None


def not_on_the_wire(study: Study) -> list[str]:
    """Parts of the study that no testbed of this version supports, one sentence each."""
    return [
        *_workload(study),
        *_hosts(study),
    ]


def _workload(study: Study) -> Iterator[str]:
    workload = study.workload
    lowering = lowering_of_spec(workload.spec)
    if lowering is None:
        known = [one.name for one in LOWERINGS]
        yield f"The workload {workload.kind} is not supported yet; {listed(known)} are."
    else:
        yield from lowering.left_out(workload.spec, study, ("workload", workload.kind))


def _hosts(study: Study) -> Iterator[str]:
    if study.workload.spec.has_application:
        return
    for name, host in study.topology.groups.items():
        if host.data is not None:
            yield f"The key data of host {name} is for an application, and the study has none."


def _simulated_only(study: Study, host: Host) -> list[str]:
    cpus = () if study.workload.spec.has_application else ("cpus",)
    return [key for key in (*cpus, "cpu", "bus", "disk") if getattr(host, key) is not None]


def stated(study: Study) -> list[str]:
    """Parts of the study that the simulator does not model, one sentence each."""
    return [
        f"The {part} is not modelled by the simulator and changes no result there."
        for part in dict.fromkeys(_stated(study))
    ]


def _stated(study: Study) -> Iterator[str]:
    for name, host in study.topology.groups.items():
        if host.memory is not None:
            yield f"memory of host {name}"
        if host.local_path is not None and not host.zones and len(host.interfaces or ()) < 2:
            yield f"local_path of host {name}, which has no zones,"
        if host.nic is not None and host.nic.checksum_offload is not None:
            yield f"checksum_offload of host {name}"
    for link in study.topology.all_links:
        if link.nic is not None and link.nic.checksum_offload is not None:
            yield f"checksum_offload of the link of {' and '.join(map(str, link.between))}"
    if lowering := lowering_of_spec(study.workload.spec):
        yield from lowering.stated(study.workload.spec, study)
