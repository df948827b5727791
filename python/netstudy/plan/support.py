"""The parts of studies that this version can carry out, and those that it cannot.

Parts that would have no effect are reported too: a study must not be run as if it lacked them.
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.problems import listed
from netstudy.plan.workloads import LOWERINGS, lowering_of_spec
from netstudy.study import Study
from netstudy.study.not_reported import not_reported
from netstudy.study.topology import Host, Link
from netstudy.study.vocabulary import PUBLISHED, TESTBEDS


def unsupported(study: Study, testbed: str) -> list[str]:
    """Parts that this version cannot carry out on a testbed, one sentence each; empty if there are
    none."""
    there = testbed in TESTBEDS
    has = ", ".join(TESTBEDS)
    missing = [] if there else [f"This version has no testbed {testbed}; it has {has}."]
    if testbed == PUBLISHED:
        return [*missing, *_not_reported(study)]  # no run is carried out
    return [
        *missing,
        *not_on_the_wire(study),
        *_not_carried_out(study),
        *_not_simulated(study, testbed),
        *_not_reported(study),
    ]


def _not_carried_out(study: Study) -> Iterator[str]:
    workload = study.workload
    if lowering := lowering_of_spec(workload.spec):
        yield from lowering.not_run(workload.spec, study, ("workload", workload.kind))


def _not_simulated(study: Study, testbed: str) -> Iterator[str]:
    for name, host in study.topology.groups.items():
        if testbed == "sim" and host.cpu_quota is not None:
            yield f"The cpu_quota of host {name} needs a testbed of real hosts, such as netns."
        if testbed != "sim" and (said := listed(_simulated_only(host))):
            yield f"The {said} of host {name} can only be simulated: leave it out, or use sim."
    workload = study.workload
    if testbed == "sim" and (lowering := lowering_of_spec(workload.spec)):
        yield from lowering.not_simulated(workload.spec, study, ("workload", workload.kind))


def _not_reported(study: Study) -> Iterator[str]:
    for part in not_reported(study):
        yield f"The report does not carry out {part} yet; leave it out with --without {part}."


def is_lowered(study: Study) -> bool:
    """Whether the study's workload has a form on the wire, whatever else is unsupported."""
    return lowering_of_spec(study.workload.spec) is not None


def not_on_the_wire(study: Study) -> list[str]:
    """Parts of the study that no testbed of this version carries out, one sentence each."""
    return [
        *_workload(study),
        *_links(study),
        *_hosts(study),
    ]


def _workload(study: Study) -> Iterator[str]:
    workload = study.workload
    lowering = lowering_of_spec(workload.spec)
    if lowering is None:
        known = [one.name for one in LOWERINGS]
        yield f"The workload {workload.kind} is not carried out yet; {listed(known)} are."
    else:
        yield from lowering.left_out(workload.spec, study, ("workload", workload.kind))


def _links(study: Study) -> Iterator[str]:
    extras = [extra for link in study.topology.all_links for extra in _link_extras(link)]
    for extra in dict.fromkeys(extras):
        yield f"The {extra} of a link is not simulated yet."


def _link_extras(link: Link) -> list[str]:
    kind = [] if link.kind == "ethernet" else ["kind"]
    nic = ["nic.buffers"] if link.nic is not None and link.nic.buffers is not None else []
    return kind + nic + ([] if link.buffers is None else ["buffers"])


def _hosts(study: Study) -> Iterator[str]:
    for name, host in study.topology.groups.items():
        if said := listed(_host_extras(host)):
            yield f"The {said} of host {name} cannot be simulated yet."


def _simulated_only(host: Host) -> list[str]:
    return [key for key in ("cpus", "cpu", "bus", "disk") if getattr(host, key) is not None]


def _host_extras(host: Host) -> list[str]:
    own = [key for key in ("memory", "data") if getattr(host, key)]
    has_buffers = host.nic is not None and host.nic.buffers is not None
    return own + (["nic.buffers"] if has_buffers else [])
