"""Tables of the environments of nodes in real testbeds, and of the settings changed there. Nodes
with equal environments share a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netstudy.analysis.testbed import NodesAlike
from netstudy.errors import StudyError
from netstudy.report.numbers import with_unit
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table, Value
from netstudy.store.folder import CAPTURES
from netstudy.store.nodes import (
    HARDWARE,
    NODES,
    Interface,
    Machine,
    NodeEnvironment,
    read_node,
)

_MANY = 6
"""Up to this many names are listed; of more, only the first and the last."""


@dataclass(frozen=True)
class NodeTables:
    """Nodes with equal environments: an overview, and details that can be unfolded."""

    overview: Table
    tunings: Table
    """Each command that changed a setting, with the value before and after it."""
    details: tuple[Table, ...]
    """All settings and features during the runs."""


@dataclass(frozen=True)
class _Alike:
    """Nodes whose environments differ only in the number of interfaces."""

    groups: tuple[str, ...]
    nodes: tuple[str, ...]
    runs: int
    names: tuple[str, ...]
    """Names of their environments."""
    environment: NodeEnvironment

    @property
    def title(self) -> str:
        """The groups of the nodes."""
        return ", ".join(self.groups)


def node_tables(folder: Path, nodes: Sequence[NodesAlike]) -> tuple[list[NodeTables], list[str]]:
    """The tables of all groups of nodes with equal environments, and errors about unreadable
    ones."""
    found: dict[str, list[tuple[NodesAlike, NodeEnvironment]]] = {}
    missing: list[str] = []
    for one in nodes:
        try:
            environment = read_node(folder / CAPTURES, one.environment)
        except StudyError as error:
            missing.append(str(error))
            continue
        found.setdefault(_essence(environment), []).append((one, environment))
    tables: list[NodeTables] = []
    machines: list[Machine] = []
    for number, members in enumerate(found.values(), start=1):
        alike = _together(members)
        machine = alike.environment.machine
        tables.append(_tables(number, alike, with_machine=machine not in machines))
        machines.append(machine)
    return tables, missing


def _essence(environment: NodeEnvironment) -> str:
    """The whole environment, except the number of interfaces and the kernel's output for each."""
    interfaces = [one.model_dump(exclude={"names"}) for one in environment.interfaces]
    tunings = [one.model_dump(exclude={"alike"}) for one in environment.tunings]
    rest = environment.model_dump(exclude={"interfaces", "tunings", "qdiscs"})
    return json.dumps([rest, interfaces, tunings])


def _together(members: Sequence[tuple[NodesAlike, NodeEnvironment]]) -> _Alike:
    told = [one for one, _ in members]
    # The environment with the most interfaces represents all, since the others have a subset of
    # these.
    _, environment = max(members, key=lambda one: len(one[1].qdiscs))
    return _Alike(
        groups=tuple(dict.fromkeys(one.group for one in told)),
        nodes=tuple(dict.fromkeys(node for one in told for node in one.nodes)),
        runs=len({run for one in told for run in one.runs}),
        names=tuple(dict.fromkeys(one.environment for one in told)),
        environment=environment,
    )


def _tables(number: int, alike: _Alike, *, with_machine: bool) -> NodeTables:
    environment, title = alike.environment, alike.title
    features = {
        f"{one.names[0]}: {name}": state
        for one in environment.interfaces
        for line in (one.offloads or "").splitlines()
        for name, _, state in (line.partition(": "),)
    }
    details = [
        _pairs(
            f"node-{number}-sysctls", title, "settings of TCP and of buffers", environment.sysctls
        ),
        _pairs(f"node-{number}-offloads", title, "features of interfaces", features),
    ]
    if with_machine and environment.machine.sysctls:
        what, settings = "settings of the network, for all nodes on it", environment.machine.sysctls
        details.append(_pairs(f"node-{number}-machine", "machine", what, settings))
    return NodeTables(_overview(number, alike), _tunings(number, alike), tuple(details))


def _overview(number: int, alike: _Alike) -> Table:
    caption = say(
        "{title}: {nodes}, in {runs} runs",
        title=Name(alike.title),
        nodes=Name(_listed(alike.nodes)),
        runs=Name(str(alike.runs)),
    )
    rows = tuple((Name(what), Name(value)) for what, value in _facts(alike))
    return Table(f"node-{number}", caption, (Group("what"), Group("value")), rows, sortable=False)


def _listed(nodes: Sequence[str]) -> str:
    if len(nodes) > _MANY:
        return f"{nodes[0]} to {nodes[-1]} ({len(nodes)})"
    return ", ".join(nodes)


def _facts(alike: _Alike) -> Iterator[tuple[str, str]]:
    environment = alike.environment
    machine = environment.machine
    yield "CPU", machine.cpu or "unknown"
    yield "CPUs of the machine", "unknown" if machine.cpus is None else str(machine.cpus)
    if environment.cpus is not None:
        yield "CPUs that it may use", f"{environment.cpus:g}"
    memory = machine.memory_bytes
    yield "memory", "unknown" if memory is None else with_unit(f"{memory / 1e9:.1f}", "GB")
    yield "kernel", machine.kernel
    for one in environment.interfaces:
        names = _listed(one.names)
        yield f"interface {names}", f"{one.kind}{_driver(one)}, MTU {one.mtu_bytes} B"
        on = None if one.offloads is None else ", ".join(_on(one.offloads)) or "none"
        yield f"offloads of {names}", on or "unknown"
    yield "queue disciplines", "; ".join(_queues(environment.qdiscs)) or "none"
    changed = sum(1 + len(one.alike) for one in environment.tunings if one.before != one.after)
    yield "commands that changed something", str(changed)
    yield "captured in", ", ".join(f"{CAPTURES}/{NODES}/{name}.json" for name in alike.names)


def _driver(interface: Interface) -> str:
    """The driver, after a comma. The kind of a virtual interface tells as much."""
    if interface.driver is not None:
        return f", driver {interface.driver}"
    return ", driver unknown" if interface.kind == HARDWARE else ""


def _on(offloads: str) -> list[str]:
    """The features that are switched on."""
    lines = (line.partition(": ") for line in offloads.splitlines())
    return [name for name, _, state in lines if state.startswith("on")]


def _queues(qdiscs: str) -> Iterator[str]:
    """The queue disciplines of the interfaces; interfaces with equal disciplines are listed
    together."""
    found: dict[tuple[str, ...], list[str]] = {}
    kinds: dict[str, list[str]] = {}
    for one in json.loads(qdiscs or "[]"):
        kinds.setdefault(one["dev"], []).append(one["kind"])
    for device, names in kinds.items():
        found.setdefault(tuple(names), []).append(device)
    for alike, devices in found.items():
        yield f"{_listed(devices)}: {', '.join(alike)}"


def _tunings(number: int, alike: _Alike) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            Name(one.command, code=True),
            Name(_listed(one.alike)) if one.alike else None,
            Name(one.before) if one.before is not None else None,
            Name(one.after) if one.after is not None else None,
        )
        for one in alike.environment.tunings
    ]
    caption = say("{title}: settings made before the runs", title=Name(alike.title))
    heads = ("command", "also for", "before", "after")
    groups = tuple(Group(head) for head in heads)
    return Table(f"node-{number}-tunings", caption, groups, tuple(rows), sortable=False)


def _pairs(name: str, title: str, what: str, values: Mapping[str, str]) -> Table:
    rows = tuple((Name(key, code=True), Name(value)) for key, value in values.items())
    caption = say("{title}: {what}", title=Name(title), what=Name(what))
    return Table(name, caption, (Group("name"), Group("value")), rows, sortable=False)
