"""The appendix: the configuration of every node, the sources of its values, software versions, and
the commands that repeat the study."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netstudy.analysis.metrics import Metric
from netstudy.analysis.settings import (
    Settings,
    flat,
    group_settings,
    link_settings,
    switch_settings,
    workload_settings,
)
from netstudy.analysis.testbed import NodesAlike
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.hardware import Kind as ProfileKind
from netstudy.plan.graph import WIRE_SPEED
from netstudy.plan.network import BYSTANDER
from netstudy.report.node_tables import NodeTables, node_tables
from netstudy.report.numbers import duration_text, level_text, with_unit
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table, Value
from netstudy.study.references import concrete, resolve
from netstudy.units import format_rate, format_size
from netstudy.wire import DEPARTURES, Plan, Run

if TYPE_CHECKING:
    from netstudy.store import Folder, Invocation
    from netstudy.study import Study

MadeOn = Mapping[str, Sequence[str]]
"""Property of the runs' environment -> the values that occur."""
MANY = 4
"""Up to this many numbers are printed one by one; more are printed as a range."""
UNSET = "—"
BY_RFC = "by the standard’s rule"
"""Text for an initial window that neither the study nor a profile sets: RFC 3390 decides."""
FOLDER_FILES = ("study.yaml", "plan.jsonl")
_UNIT = re.compile(r"_(ns|bps|bytes|frames|segments|pct)$")
"""The suffixes of setting names that are units; they are printed after the value instead of in the
name."""
_COUNTED = {"_frames": "frames", "_segments": "segments", "_pct": "%"}


@dataclass(frozen=True)
class Appendix:
    """Everything that a reader needs to check and to repeat the study."""

    configuration: tuple[Table, ...]
    profiles: tuple[Table, ...]
    missing_profiles: tuple[str, ...]
    environment: Table
    nodes: tuple[NodeTables, ...]
    """Environments of the nodes of real testbeds; nodes with equal environments are listed
    together."""
    missing_nodes: tuple[str, ...]
    commands: tuple[str, ...]
    hashes: Table
    metrics: Table


def appendix(
    folder: Folder,
    plan: Plan,
    runs: Sequence[Run],
    made_on: MadeOn,
    metrics: Sequence[Metric],
    nodes: Sequence[NodesAlike] = (),
) -> Appendix:
    """Makes the appendix from the folder's invocation and environment. `runs` has one run for each
    cell of the plan, in the order of levels.

    `made_on` is the environment of the runs, `nodes` the environment of each node; both come from
    the records.
    """
    profiles, missing = _profiles(folder, runs)
    captured, missing_nodes = node_tables(folder.path, nodes)
    return Appendix(
        configuration=tuple(_configuration(runs)),
        profiles=tuple(profiles),
        missing_profiles=tuple(missing),
        environment=_environment(folder, made_on),
        nodes=tuple(captured),
        missing_nodes=tuple(missing_nodes),
        commands=_commands(folder),
        hashes=_hashes(folder, plan),
        metrics=metrics_table(metrics),
    )


def _configuration(runs: Sequence[Run]) -> Iterator[Table]:
    """Tables of all settings in the plan: of switches, hosts, links, workload, phases and
    instruments. Empty for published runs, whose plan has no settings."""
    if not any(run.network.nodes for run in runs):
        return
    switches: dict[str, list[Settings]] = {}
    for run in runs:
        several = len(run.network.switches) > 1
        for switch, settings in zip(
            run.network.switches, switch_settings(run.network).values(), strict=True
        ):
            name = f"{switch.name}: {switch.profile}" if several else switch.profile
            switches.setdefault(name, []).append(settings)
    if switches:
        yield _settings("switch", "Switch", switches)
    work = [workload_settings(run) for run in runs]
    for title, settings in (
        ("Hosts", _gathered([group_settings(run.network) for run in runs])),
        ("Links", _gathered([link_settings(run.network) for run in runs])),
        ("Workload", {str(runs[0].workload.kind): work}),
        ("Phases", _phases(runs)),
        ("Instruments", _instruments(runs)),
    ):
        if settings:
            yield _settings(title.lower(), title, settings)


def _phases(runs: Sequence[Run]) -> dict[str, list[Settings]]:
    """The phases of the runs; empty if there are only warm-up and measuring."""
    if not any({phase.kind for phase in run.phases} - {"warm-up", "measure"} for run in runs):
        return {}
    kinds = dict.fromkeys(phase.kind for run in runs for phase in run.phases)
    return {
        kind: [
            flat(phase.until.model_dump(exclude={"kind"}))
            if phase.until is not None
            else {"until": "it is done"}
            for run in runs
            for phase in run.phases
            if phase.kind == kind
        ]
        for kind in kinds
    }


def _instruments(runs: Sequence[Run]) -> dict[str, list[Settings]]:
    """The settings of the samplers, by instrument and place."""
    found: dict[str, list[Settings]] = {}
    for run in runs:
        for one in run.instruments:
            place = f"{one.node}.{one.port}" if one.port else one.node
            settings = {"every_ns": one.every_ns, **({"from": one.from_} if one.from_ else {})}
            found.setdefault(f"{one.kind}, {place}", []).append(settings)
    return found


def _gathered(nodes: Sequence[Mapping[str, Settings]]) -> dict[str, list[Settings]]:
    """Node -> the node's settings in each run."""
    found: dict[str, list[Settings]] = {}
    for one in nodes:
        for name, settings in one.items():
            found.setdefault(name, []).append(settings)
    return found


def _settings(key: str, title: str, nodes: Mapping[str, Sequence[Settings]]) -> Table:
    """One row for each setting, one column for each node; a cell is empty if the node lacks the
    setting."""
    names = _grouped(name for runs in nodes.values() for one in runs for name in one)
    rows = tuple(
        (
            Name(_UNIT.sub("", name)),
            *(_all_values(name, [o[name] for o in runs if name in o]) for runs in nodes.values()),
        )
        for name in names
    )
    groups = (Group("setting"), *(Group(node) for node in nodes))
    return Table(f"config-{key}", say("{title}", title=Name(title)), groups, rows, sortable=False)


def _grouped(names: Iterable[str]) -> list[str]:
    """Each name once. Names with the same part before the first dot are together, in the order in
    which these parts first appear."""
    found = list(dict.fromkeys(names))
    heads = list(dict.fromkeys(name.partition(".")[0] for name in found))
    return sorted(found, key=lambda name: heads.index(name.partition(".")[0]))


def _all_values(name: str, values: Sequence[Any]) -> Name | None:
    """The values of a setting in the plan; if there are many numbers, their range."""
    found = list(dict.fromkeys(_hashable(value) for value in values))
    if not found:
        return None
    every = [one for value in found for one in (value if isinstance(value, tuple) else (value,))]
    numbers = [one for one in every if isinstance(one, int) and len(every) > MANY]
    if numbers and len(numbers) == len(every):
        return Name(f"{setting_text(name, min(numbers))} to {setting_text(name, max(numbers))}")
    return Name(" or ".join(setting_text(name, value) for value in found))


def _hashable(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    return tuple(str(one) if isinstance(one, dict) else one for one in value)


def setting_text(name: str, value: Any) -> str:
    """The value of a setting, with the unit from the setting's name; "—" if it is not set."""
    if isinstance(value, tuple):
        return " – ".join(setting_text(name, one) for one in value) or UNSET
    if value is None:
        return BY_RFC if name.endswith("initial_window_segments") else UNSET
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_ns"):
        return duration_text(value)
    if name.endswith("_bps"):
        return format_rate(value)
    if name.endswith("mtu_bytes"):
        return f"{value} B"
    if name.endswith("_bytes"):
        return format_size(value)
    unit = next((unit for end, unit in _COUNTED.items() if name.endswith(end)), "")
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return with_unit(text, unit.removesuffix("s") if text == "1" else unit)


def _profiles(folder: Folder, runs: Sequence[Run]) -> tuple[list[Table], list[str]]:
    """Every figure of the profiles that the runs use, with its source."""
    study = folder.study()
    library = HardwareLibrary.default(study.folder)
    tables: list[Table] = []
    missing: list[str] = []
    for kind, name in dict.fromkeys((*_profile_names(runs), *_nic_names(study, runs))):
        try:
            tables.append(_profile(library, kind, name))
        except StudyError as error:
            missing.append(str(error))
    return tables, missing


def _profile_names(runs: Sequence[Run]) -> Iterator[tuple[ProfileKind, str]]:
    """Kinds and names of the profiles that the plan mentions. Switches that the plan adds, and
    hosts without a profile, have no profile name."""
    for run in runs:
        for switch in run.network.switches:
            if switch.profile != WIRE_SPEED:
                yield "switch", switch.profile
        for group in run.network.groups:
            if group.profile != BYSTANDER:
                yield "host", group.profile
            if group.tcp.profile != group.profile:
                yield "tcp", group.tcp.profile


def _nic_names(study: Study, runs: Sequence[Run]) -> Iterator[tuple[ProfileKind, str]]:
    """NIC profiles of hosts and links. Their names are taken from the study, since the plan
    contains only the figures of these profiles."""
    known = [run for run in runs if run.network.nodes]
    for treatment in {str(run.treatment): run.treatment for run in known}.values():
        topology = resolve(study.topology, study.levels_of(treatment))
        hosts, links = topology.groups.values(), topology.all_links
        for nic in (*(host.nic for host in hosts), *(link.nic for link in links)):
            if nic is not None and nic.profile is not None:
                yield "nic", concrete(nic.profile)


def _profile(library: HardwareLibrary, kind: ProfileKind, name: str) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            Name(row.name),
            Name(row.value),
            Name(row.source),
            Name(row.interval) if row.interval else None,
            Name(row.origin),
            Name("; ".join(row.others)) if row.others else None,
        )
        for row in library.rows(kind, name)
    ]
    profile = library.profile(kind, name)
    caption = say(
        "{title} ({name}). {notes}",
        title=Name(profile.title),
        name=Name(name),
        notes=Name(profile.notes or ""),
    )
    heads = ("figure", "value", "source", "fits as well", "from", "other sources")
    groups = tuple(Group(head) for head in heads)
    return Table(f"profile-{name}", caption, groups, tuple(rows), sortable=False)


def fitted_figures(tables: Iterable[Table]) -> dict[str, list[str]]:
    """Profile -> names of the profile's figures whose values were fitted to data."""
    found: dict[str, list[str]] = {}
    for profile, figure, *_ in fitted_table(tables).rows:
        found.setdefault(str(profile), []).append(str(figure))
    return found


def fitted_table(tables: Iterable[Table]) -> Table:
    """All figures in the tables of profiles whose values were fitted to data."""
    heads = ("profile", "figure", "value", "fits as well", "fitted on")
    rows = tuple(
        (Name(table.id.removeprefix("profile-")), figure, value, as_good, origin)
        for table in tables
        for figure, value, source, as_good, origin, _ in table.rows
        if str(source) == "fitted"
    )
    return Table("fitted", say("Fitted figures"), tuple(map(Group, heads)), rows, stub=2)


def _environment(folder: Folder, made_on: MadeOn) -> Table:
    """A table of versions, seed and properties of the machine."""
    invocation, engine = folder.invocation(), folder.engine()
    facts: dict[str, Any] = {
        "testbed": invocation.testbed,
        "seed": invocation.seed,
        "short form": "yes" if invocation.quick else "no",
        "variant": invocation.variant or "",
        "scale of link rates": invocation.scale or "",
        "engine": engine.version if engine else "",
        "overrides": _pairs(invocation.overrides),
        "subset": _pairs({k: ", ".join(map(level_text, v)) for k, v in invocation.only.items()}),
        "results": folder.path.name,
        **_machine(folder),
        **{name: " or ".join(told) for name, told in made_on.items() if name != DEPARTURES},
    }
    rows = tuple((Name(key), Name(str(value))) for key, value in facts.items() if value != "")
    caption = say("Versions, seed and host environment")
    return Table("environment", caption, (Group("what"), Group("value")), rows, sortable=False)


def _machine(folder: Folder) -> dict[str, Any]:
    """The machine on which the run began, and how often the run was resumed."""
    try:
        found = folder.environment()
    except StudyError:
        return {}
    resumed = found.pop("resumed", [])
    memory = found.pop("memory_bytes", None)
    facts = {key: value for key, value in found.items() if value is not None and key != "engine"}
    if memory is not None:
        facts["memory"] = with_unit(f"{memory / 1e9:.1f}", "GB")
    return {**facts, **({"resumed": f"{len(resumed)} times"} if resumed else {})}


def _pairs(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{key}={value}" for key, value in values.items())


def _commands(folder: Folder) -> tuple[str, ...]:
    """The commands that repeat the study, for the folder in which it was run."""
    invocation = folder.invocation()
    again = shlex.join(["netstudy", "run", invocation.study, *_options(invocation)])
    return again, "netstudy report", "netstudy export --csv"


def _options(invocation: Invocation) -> list[str]:
    """The options with which the same runs are made again."""
    only = [f"{k}={','.join(map(level_text, v))}" for k, v in invocation.only.items()]
    return [
        f"--testbed={invocation.testbed_option}",
        f"--seed={invocation.seed}",
        *(["--quick"] if invocation.quick else []),
        *([f"--variant={invocation.variant}"] if invocation.variant else []),
        *([f"--scale={invocation.scale}"] if invocation.scale else []),
        *(f"--only={one}" for one in only),
        *(f"--set={path}={value}" for path, value in invocation.overrides.items()),
        *(f"--without={part}" for part in invocation.without),
    ]


def _hashes(folder: Folder, plan: Plan) -> Table:
    """SHA-256 of the study, of the plan, and of all records together, in the order of the plan."""
    digests = {name: (folder.path / name).read_bytes() for name in FOLDER_FILES}
    rows = [(Name(name), _digest(content)) for name, content in digests.items()]
    records = hashlib.sha256()
    for text in folder.record_texts(plan.runs):
        records.update(text)
    rows.append((Name("run records, in plan order"), Name(records.hexdigest(), code=True)))
    groups = (Group("what"), Group("SHA-256"))
    return Table("hashes", say("Hashes"), groups, tuple(rows), sortable=False)


def _digest(content: bytes) -> Name:
    return Name(hashlib.sha256(content).hexdigest(), code=True)


def metrics_table(metrics: Sequence[Metric]) -> Table:
    """The table of metrics: name, formula, direction, and origin of the raw numbers."""
    rows = tuple(
        (
            Name(metric.name, code=True),
            Name(metric.unit),
            Name(metric.formula),
            Name(metric.better),
            Name(", ".join(metric.instruments)),
        )
        for metric in metrics
    )
    heads = ("metric", "unit", "formula", "direction", "instruments")
    groups = tuple(Group(head) for head in heads)
    return Table("metrics", say("Metrics"), groups, rows, sortable=False)
