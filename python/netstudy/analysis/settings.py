"""Lists all settings of a planned run that have an effect, by path, so that two runs can be
compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netstudy.analysis.ideal import group_of
from netstudy.wire import Group, Host, Link, Network, Run, Tcp, Zone

Settings = dict[str, Any]


def flat(value: Any, path: str = "") -> Settings:
    """Nested settings as path -> value."""
    found: Settings = {}
    _collect(found, value, path)
    return found


def _collect(found: Settings, value: Any, path: str) -> None:
    if not isinstance(value, dict):
        found[path] = value
        return
    for key, inner in value.items():
        _collect(found, inner, f"{path}.{key}" if path else str(key))


def group_settings(network: Network) -> dict[str, Settings]:
    """Group -> its settings and its number of nodes."""
    counts = {group.name: 0 for group in network.groups}
    for node in network.nodes:
        if isinstance(node, Host | Zone):
            counts[node.group] += 1
    stacks = {zone.group: {"stack": zone.stack} for zone in network.zones}
    return {
        group.name: {
            "name": group.name,
            "count": counts[group.name],
            **stacks.get(group.name, {}),
            **flat(_without_name(group)),
        }
        for group in network.groups
    }


def _without_name(group: Group) -> dict[str, Any]:
    return {**group.model_dump(exclude={"name"}), "tcp": _in_effect(group.tcp)}


def _in_effect(tcp: Tcp) -> dict[str, Any]:
    """The TCP settings in effect: RACK and tail loss probes only with `prr`, ECN always with
    DCTCP."""
    found = tcp.model_dump()
    if tcp.recovery != "prr":
        found |= {"rack": None, "tail_loss_probe": None}
    if tcp.congestion_control == "dctcp":
        found |= {"ecn": True}
    return found


def switch_settings(network: Network) -> dict[str, Settings]:
    """Switch -> its settings."""
    return {
        switch.name: flat(switch.model_dump(exclude={"kind", "name"}))
        for switch in network.switches
    }


def link_settings(network: Network) -> dict[str, Settings]:
    """Names of links, by the groups or switches at their ends -> settings. Equal links between the
    same two ends have one entry; if they are not all equal, each has its own numbered entry."""
    by_ends: dict[tuple[str, str], list[Settings]] = {}
    for link in network.links:
        a, b = (_kin(network, port.node) for port in link.ports)
        by_ends.setdefault((a, b), []).append(_of_link(link))
    return dict(_named(by_ends))


def _kin(network: Network, name: str) -> str:
    node = network.node(name)
    return node.group if isinstance(node, Host | Zone) else node.name


def _of_link(link: Link) -> Settings:
    """The settings of a link, without the names of its ports, which depend only on the nodes."""
    a, b = link.ports
    rates = {"rate_bps": a.rate_bps}
    if b.rate_bps != a.rate_bps:
        rates = {"rate_there_bps": a.rate_bps, "rate_back_bps": b.rate_bps}
    own = {
        end: port.nic.model_dump()
        for end, port in (("nic_a", a), ("nic_b", b))
        if port.nic is not None
    }
    ways = {
        f"{name}_{way}": part.model_dump()
        for way, port in (("there", a), ("back", b))
        for name, part in (("path", port.path), ("queue", port.queue))
        if part is not None
    }
    common = {"delay_ns": link.delay_ns, "mtu_bytes": link.mtu_bytes}
    return flat({**rates, **common, **own, **ways})


def _named(
    by_ends: Mapping[tuple[str, str], list[Settings]],
) -> Iterator[tuple[str, Settings]]:
    for (a, b), links in by_ends.items():
        if all(link == links[0] for link in links):
            yield f"{a} – {b}", links[0]
        else:
            for number, link in enumerate(links, start=1):
                yield f"{a} – {b} {number}", link


def workload_settings(run: Run) -> Settings:
    """The settings of the workload, with its members, the lengths of the phases, and the probe."""
    work = run.workload.model_dump(exclude={"roles", "given"})  # hosts and published values
    phases = {
        phase.kind: phase.until.model_dump(exclude={"kind"})
        for phase in run.phases
        if phase.until is not None
    }
    probe = {} if run.probe is None else {"probe": run.probe.model_dump()}
    roles = {
        name: " ".join(dict.fromkeys(group_of(run.network, member).name for member in members))
        for name, members in _roles(run).items()
    }
    return flat({**roles, **work, "phases": phases, **probe})


def _roles(run: Run) -> dict[str, tuple[str, ...]]:
    found = run.workload.roles
    return {
        name: members
        for name in ("client", "server", "database")
        if (members := getattr(found, name, ()))
    }


def settings_of(run: Run) -> Settings:
    """The settings of the switches, groups, links and workload of a run; paths begin with their
    names.

    Empty for a published run.
    """
    network = run.network
    if not network.nodes:
        return {}
    links = {f"link {name}": settings for name, settings in link_settings(network).items()}
    parts = {**switch_settings(network), **group_settings(network), **links}
    found = {
        f"{name}.{path}": value
        for name, settings in parts.items()
        for path, value in settings.items()
    }
    return found | {f"workload.{path}": value for path, value in workload_settings(run).items()}
