"""What this version can carry out, and what it cannot.

A part that would have no effect is named too: a study must not be run as if it had said less.
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.study import Study
from netstudy.study.procedure import CounterSnapshot, SarSampler, SnmpPoll
from netstudy.study.topology import Host, Link

TESTBEDS = ("sim", "netns", "netns-kernel")
SWITCH = "switch"

_INSTRUMENTS = {SnmpPoll: "snmp", SarSampler: "sar", CounterSnapshot: "netstat"}


def unsupported(study: Study, testbed: str) -> list[str]:
    """What this version cannot carry out on a testbed, one sentence each; empty when it can."""
    there = testbed in TESTBEDS
    has = ", ".join(TESTBEDS)
    missing = [] if there else [f"This version has no testbed {testbed}; it has {has}."]
    return [*missing, *not_on_the_wire(study), *_not_simulated(study, testbed)]


def _not_simulated(study: Study, testbed: str) -> Iterator[str]:
    for name, host in study.topology.groups.items():
        if testbed == "sim" and host.cpu_quota is not None:
            yield f"The cpu_quota of host {name} needs a testbed of real hosts, such as netns."


def open_ended(study: Study) -> tuple[str, ...]:
    """Factors that an outer loop grows, so that their runs depend on the results."""
    growing = [factor.name for case in study.cases for factor in case.factors if factor.growth]
    return tuple(dict.fromkeys(growing))


def not_on_the_wire(study: Study) -> list[str]:
    """Parts of the study that no testbed of this version carries out, one sentence each."""
    return [
        *_workload(study),
        *_links(study),
        *_hosts(study),
        *_loop(study),
        *_procedure(study),
    ]


def _workload(study: Study) -> Iterator[str]:
    kind = study.workload.kind
    if kind != "incast":
        yield f"The workload {kind} is not carried out yet; incast is."


def _links(study: Study) -> Iterator[str]:
    topology = study.topology
    if topology.switch is None:
        yield "A topology without a switch is not simulated yet; a star around one switch is."
    direct = [link.between for link in topology.links if SWITCH not in link.between]
    if direct:
        said = _listed([f"{one} to {other}" for one, other in direct])
        yield f"Links from host to host are not simulated yet: {said}."
    odd = [_link_extras(link) for link in topology.all_links if SWITCH in link.between]
    for extra in dict.fromkeys(extra for extras in odd for extra in extras):
        yield f"The {extra} of a link to the switch is not simulated yet."
    if topology.placement:
        yield "The placement of endpoints inside a host is not simulated yet."


def _link_extras(link: Link) -> list[str]:
    kind = [] if link.kind == "ethernet" else ["kind"]
    return kind + [key for key in ("nic", "buffers") if getattr(link, key) is not None]


def _hosts(study: Study) -> Iterator[str]:
    incast = study.workload.incast
    for name, host in study.topology.groups.items():
        if said := _listed(_host_extras(host)):
            yield f"The {said} of host {name} cannot be simulated yet."
        if incast is not None and name not in (incast.client, incast.servers):
            yield f"The host {name} takes no part in the incast."


def _host_extras(host: Host) -> list[str]:
    own = [key for key in ("cpus", "memory", "data", "zones", "interfaces") if getattr(host, key)]
    has_buffers = host.nic is not None and host.nic.buffers is not None
    return own + (["nic.buffers"] if has_buffers else [])


def _loop(study: Study) -> Iterator[str]:
    for name in open_ended(study):
        yield f"The factor {name} cannot grow with the results yet; list its levels instead."


def _procedure(study: Study) -> Iterator[str]:
    phases = list(study.document.data.get("procedure", {}))
    if phases:
        plural = "phases" if len(phases) > 1 else "phase"
        yield f"The procedure's {plural} {_listed(phases)} cannot be carried out yet."
    kinds = list(dict.fromkeys(_INSTRUMENTS[type(found)] for found in study.instruments))
    if kinds:
        plural = "instruments" if len(kinds) > 1 else "instrument"
        yield f"The {plural} {_listed(kinds)} cannot be read yet."


def _listed(words: list[str]) -> str:
    *head, last = words or [""]
    return f"{', '.join(head)} and {last}" if head else last
