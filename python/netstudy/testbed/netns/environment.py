"""Records the environment of each node of a run, as soon as the node's namespace is set up.

Hosts that are set up by the same commands, apart from addresses, are alike: only the first of them
is recorded. Each change is recorded when it is made, with the values before and after.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from netstudy.store.environment import cpu_name, memory_bytes
from netstudy.store.nodes import Interface, Machine, NodeEnvironment, Tuning
from netstudy.testbed.netns import kernel_path
from netstudy.testbed.netns.layout import BRIDGE, SWITCHES, Host, Layout, interface_settings
from netstudy.testbed.netns.namespaces import run_batch, run_program, within
from netstudy.testbed.netns.resources import Resources
from netstudy.testbed.netns.tuning import driver, offloads
from netstudy.testbed.real.sysctls import FOLDER, PATTERNS, is_secret, setting

Tuned = Mapping[str, list[Tuning]]
"""Namespace -> changes made in it. Only the namespaces that are keys here are recorded."""

_SYSCTLS: Final = Path(FOLDER)
_TUNES = re.compile(r"link set dev |link add name |qdisc add |class add |route add ")
"""Commands that change settings; all others only set addresses."""
_OF_BRIDGES = (
    "forward_delay",
    "stp_state",
    "mcast_snooping",
    "learning",
    "flood",
    "mcast_flood",
)
"""Settings of a bridge and of its ports, by their names in `ip -d -j link`."""
_SOURCE = re.compile(r"\bsrc \S+")
_DEVICE = re.compile(r"\b(?:eth|p)\d+\b")


def sysctls() -> dict[str, str]:
    """All settings of TCP and of the network core in this thread's namespace, by name, except
    secret keys and settings that may not be read."""
    found = {}
    for path in sorted(one for pattern in PATTERNS for one in _SYSCTLS.glob(pattern)):
        if not is_secret(path) and path.is_file():
            try:
                text = path.read_text()
            except OSError:
                continue
            name, value = setting(path, text)
            found[name] = value
    return found


def machine(shared: Mapping[str, str]) -> Machine:
    """The machine that all namespaces share; `shared` has the settings of the machine's own
    namespace."""
    system = os.uname()
    return Machine(
        cpu=cpu_name(),
        cpus=os.cpu_count() or 1,
        memory_bytes=memory_bytes(),
        kernel=f"{system.sysname} {system.release} {system.version}",
        sysctls=dict(shared),
    )


def noted_batch(name: str, commands: Iterable[str], tunings: list[Tuning] | None) -> None:
    """`run_batch`, recording each command that tunes something; if `tunings` is None, nothing is
    recorded."""
    lines = list(commands)
    if tunings is None or not lines:
        run_batch(name, lines)
        return
    before = _State.now()
    run_batch(name, lines)
    after = _State.now(_device(line) for line in lines if line.startswith("class add "))
    tunings += [
        Tuning(command=f"{name} {line}", before=before.of(line), after=after.of(line))
        for line in lines
        if _TUNES.match(line)
    ]


@dataclass(frozen=True)
class _State:
    """Interfaces, queues and routes of this thread's namespace at one moment."""

    links: Mapping[str, str]
    qdiscs: Mapping[str, str]
    """Device -> its queue disciplines, as `tc` prints them."""
    classes: Mapping[str, str]
    routes: str

    @classmethod
    def now(cls, with_classes: Iterable[str] = ()) -> _State:
        """Read the current state. Traffic classes are read only for the given devices, since a new
        queue has no classes."""
        links: list[dict[str, Any]] = json.loads(run_program("ip", "-d", "-j", "link", "show"))
        qdiscs: dict[str, list[str]] = {}
        for line in run_program("tc", "qdisc", "show").splitlines():
            qdiscs.setdefault(_device(line), []).append(line.strip())
        classes = {one: run_program("tc", "class", "show", "dev", one) for one in with_classes}
        return cls(
            links={one["ifname"]: _link_text(one) for one in links},
            qdiscs={device: "; ".join(lines) for device, lines in qdiscs.items()},
            classes={device: text.strip() for device, text in classes.items()},
            routes=run_program("ip", "-4", "route", "show", "table", "all", "scope", "link"),
        )

    def of(self, command: str) -> str | None:
        """The state of the object that the command changes (a link, class, queue or route); None if
        it does not exist."""
        about = command.split()[0]
        if about == "route":
            source = _behind(command, "src")
            lines = (line.strip() for line in self.routes.splitlines())
            return next((line for line in lines if _behind(line, "src") == source), None)
        states = {"link": self.links, "class": self.classes}.get(about, self.qdiscs)
        return states.get(_device(command)) or None


def _device(line: str) -> str:
    """The interface named in a line of `ip` or `tc`."""
    return _behind(line, "dev") or _behind(line, "name") or ""


def _behind(line: str, word: str) -> str | None:
    """The word after a given word of a line; None if the line lacks the given word."""
    words = line.split()
    return words[words.index(word) + 1] if word in words[:-1] else None


def _link_text(link: Mapping[str, Any]) -> str:
    names = ("mtu", "txqlen", "gso_max_size", "gso_max_segs", "master")
    values = [f"{name} {link[name]}" for name in names if name in link]
    info = link.get("linkinfo", {})
    settings = {**info.get("info_data", {}), **info.get("info_slave_data", {})}
    values += [f"{name} {_value(settings[name])}" for name in _OF_BRIDGES if name in settings]
    flags = link["flags"]
    arp, up = ("off" if "NOARP" in flags else "on"), ("up" if "UP" in flags else "down")
    return " ".join([*values, f"arp {arp}", up])


def _value(told: Any) -> str:
    return {True: "on", False: "off"}[told] if isinstance(told, bool) else str(told)


@dataclass(frozen=True)
class Alike:
    """Hosts of a layout that are set up by the same commands, apart from addresses."""

    first: Host
    nodes: tuple[str, ...]
    """All alike hosts, with their zones."""


def alike(resources: Resources) -> list[Alike]:
    """All groups of like hosts, in the order of their first hosts."""
    found: dict[Any, list[Host]] = {}
    for host in resources.layout.hosts:
        found.setdefault(_kind(host, resources), []).append(host)
    return [
        Alike(
            hosts[0],
            tuple(dict.fromkeys(name for host in hosts for name in _nodes(host))),
        )
        for hosts in found.values()
    ]


def _nodes(host: Host) -> list[str]:
    """The host and its zones."""
    return [host.node, *(one.node for one in host.addresses)]


def _kind(host: Host, resources: Resources) -> Any:
    layout = resources.layout
    return (
        host.group.name,
        resources.cpus[host.node],
        tuple(host.tcp.sysctls.items()),
        tuple(
            (
                interface_settings(one, layout),
                one.nic.checksum_offload,
                *(kernel_path.host_queue(one) if layout.is_shaped(one) else ()),
            )
            for one in host.interfaces
        ),
        tuple((one.device, one.tcp.route) for one in host.addresses),
        tuple(_virtual(host, layout)),
    )


def _virtual(host: Host, layout: Layout) -> Iterator[tuple[str, str]]:
    """For each zone with a stack of its own: the host's interface below the zone's, with its
    settings."""
    for one in host.addresses:
        if one.is_apart:
            yield one.interface.device, interface_settings(one.interface, layout)


def watched(resources: Resources) -> dict[str, list[Tuning]]:
    """The namespaces in which `network.network` records changes."""
    switches = [SWITCHES] if resources.layout.switched else []
    return {name: [] for name in (*switches, *(one.first.node for one in alike(resources)))}


def capture(
    resources: Resources, machine: Machine, of_all: Sequence[Tuning], tuned: Tuned
) -> Iterator[Captured]:
    """The environments of all nodes. The namespaces must exist, and no measurement may be in
    progress. `of_all` lists changes that concern the processes of every node."""
    for one in alike(resources):
        devices = [interface.device for interface in one.first.interfaces]
        devices += [address.device for address in one.first.addresses if address.is_apart]
        cpus = resources.cpus[one.first.node]
        tunings = [*of_all, *tuned[one.first.node], *_of_processes(resources, one.first.machine)]
        tunings = [_of_any_host(tuning) for tuning in tunings]
        yield (one.nodes, _environment(one.first.node, devices, machine, cpus, tunings))
    names = tuple(switch.name for switch in resources.layout.network.switches)
    if resources.layout.switched and names:
        bridge = [BRIDGE] if resources.layout.switching == "kernel" else []
        ports = [*bridge, *(one.peer[1] for one in resources.layout.switched)]
        tunings = [*of_all, *tuned[SWITCHES], *_of_switch(resources)]
        of_program = 1 if resources.pinning.switch is not None else None
        yield (names, _environment(SWITCHES, ports, machine, of_program, tunings))


Captured = tuple[tuple[str, ...], NodeEnvironment]
"""Some nodes, and the environment that is the same for all of them."""


def _environment(
    name: str,
    devices: Collection[str],
    machine: Machine,
    cpus: float | None,
    tunings: Iterable[Tuning],
) -> NodeEnvironment:
    with within(name):
        return NodeEnvironment(
            machine=machine,
            cpus=cpus,
            interfaces=tuple(_interfaces(devices)),
            qdiscs=run_program("tc", "-s", "-j", "qdisc", "show").strip(),
            sysctls=sysctls(),
            tunings=tuple(merged(tunings)),
        )


def _interfaces(devices: Collection[str]) -> Iterator[Interface]:
    """The interfaces; interfaces with equal properties share one entry."""
    links: list[dict[str, Any]] = json.loads(run_program("ip", "-d", "-j", "link", "show"))
    found: dict[tuple[str, str, int, str], list[str]] = {}
    for link in links:
        if (name := link["ifname"]) in devices:
            kind = link.get("linkinfo", {}).get("info_kind", link["link_type"])
            seen = (kind, _reported(driver, name), link["mtu"], _reported(offloads, name))
            found.setdefault(seen, []).append(name)
    order = list(devices)
    for (kind, driven, mtu_bytes, features), names in found.items():
        yield Interface(
            names=tuple(sorted(names, key=order.index)),
            kind=kind,
            driver=driven,
            mtu_bytes=mtu_bytes,
            offloads=features,
        )


def _reported(read: Callable[[str], str], interface: str) -> str:
    """A property of an interface as the kernel reports it. If reading fails, returns the error
    message instead, since such an error must not end a run."""
    try:
        return read(interface)
    except OSError as error:
        return f"not told: {error.strerror}"


def merged(tunings: Iterable[Tuning]) -> list[Tuning]:
    """Merges equal changes of several interfaces into one, with the names of the other
    interfaces."""
    found: dict[tuple[str, str | None, str | None], list[Tuning]] = {}
    for one in tunings:
        before, after = (_without_device(text) for text in (one.before, one.after))
        found.setdefault((_DEVICE.sub("*", one.command), before, after), []).append(one)
    return [_as_one(alike) for alike in found.values()]


def _of_any_host(tuning: Tuning) -> Tuning:
    """The change with the host's own address removed, so that the text is the same for all alike
    hosts."""
    changed = {
        name: _SOURCE.sub("src ADDRESS", text)
        for name in ("command", "before", "after")
        if (text := getattr(tuning, name)) is not None
    }
    return tuning.model_copy(update=changed)


def _as_one(tunings: list[Tuning]) -> Tuning:
    devices = [match[0] for one in tunings if (match := _DEVICE.search(one.command))]
    return tunings[0].model_copy(update={"alike": tuple(devices[1:])})


def _without_device(text: str | None) -> str | None:
    return None if text is None else _DEVICE.sub("*", text)


def _of_processes(resources: Resources, host: str) -> Iterator[Tuning]:
    """Changes that concern the processes of a host."""
    if (cpu := resources.pinning.hosts) is not None:
        yield _kept_on([cpu])
    if resources.served is not None and host in resources.served.hosts:
        yield _kept_on(sorted(resources.cpus_of(host)), "of the application and its database: ")
    limits = resources.limits[host]
    if limits.cpu_pct is not None:
        yield _limited("cpu quota", f"{limits.cpu_pct:g} % of a CPU")
    if limits.memory_bytes is not None:
        yield _limited("memory", f"{limits.memory_bytes} B")
    if (disk := limits.disk) is not None:
        rate = f"{disk.rate_bps} bit/s each way"
        more = f", {disk.operations_per_s} requests a second" if disk.operations_per_s else ""
        yield _limited(f"disk {disk.device}", rate + more)


def _limited(what: str, to: str) -> Tuning:
    return Tuning(command=f"control group of the host: {what}", before="none", after=to)


def _of_switch(resources: Resources) -> Iterator[Tuning]:
    """Changes that concern the switch program; if the kernel is the switch, there is no program."""
    if resources.layout.switching == "user-space":
        if (cpu := resources.pinning.switch) is not None:
            yield _kept_on([cpu])
        yield Tuning(
            command="chrt --rr 1 for the switch, 0.9 s of each second, where that is allowed",
            before="SCHED_OTHER",
            after=None,
        )


def _kept_on(cpus: Sequence[int], whose: str = "") -> Tuning:
    allowed = " ".join(map(str, sorted(os.sched_getaffinity(0))))
    command = f"{whose}taskset --cpu-list {','.join(map(str, cpus))}"
    after = f"CPU{'s' if len(cpus) > 1 else ''} {' '.join(map(str, cpus))}"
    return Tuning(command=command, before=f"CPUs {allowed}", after=after)
