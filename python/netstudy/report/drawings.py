"""The test bed, drawn from the plan.

One client and its servers around one switch are drawn as a star. Any other network is laid out in
columns: the hosts of clients, then switches by their distance from these hosts, then the other
hosts. Hosts of a group with the same neighbours share one box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from netstudy.analysis.ideal import access_links, host_of
from netstudy.plan.path_words import link_words
from netstudy.report.numbers import duration_text, level_text
from netstudy.report.svg import FAINT, Drawing, text_width
from netstudy.report.workloads.base import DRAWN_HOSTS, role_name, span, texts
from netstudy.study.levels import is_numeric
from netstudy.units import format_rate
from netstudy.wire import Host, Level, Link, Network, Run, Switch

CLIENT_FILL = "#cfe3f2"
SWITCH_FILL = "#f2f2f2"
SERVER_FILL = "#fbe3d3"
OTHER_FILL = "#e8e8f4"


STAR_WIDTH, STAR_HEIGHT, LINE = 480, 330, 16
"""Width and height of the drawing of a star, and height of a line of text below it."""
LEVELS_LISTED = 4
"""Up to this many levels of a factor are listed one by one."""


def test_bed(runs: Sequence[Run]) -> str:
    """A drawing of the hosts, switches and links of all runs, with the ranges of their counts and
    rates."""
    return _star(runs) if all(map(is_one_client_star, runs)) else _graph(runs)


def test_bed_alt(runs: Sequence[Run]) -> str:
    """The test bed in words, for screen readers."""
    return _star_alt(runs) if all(map(is_one_client_star, runs)) else _graph_alt(runs)


def is_one_client_star(run: Run) -> bool:
    """Whether one client and servers of one kind, and no other hosts, are connected to one
    switch."""
    network, roles = run.network, run.workload.roles
    if len(network.switches) != 1 or network.zones or len(roles.client) != 1:
        return False
    switch = network.switches[0].name
    meet = all(switch in (link.a.node, link.b.node) for link in network.links)
    taking_part = {host_of(network, member)[0] for member in (*roles.client, *roles.server)}
    groups = {network.node(host_of(network, member)[0]) for member in roles.server}
    kinds = {node.group for node in groups if isinstance(node, Host)}
    hosts = {host.name for host in network.hosts}
    return meet and len(kinds) == 1 and hosts == taking_part and len(network.links) == len(hosts)


def _star(runs: Sequence[Run]) -> str:
    varied = _varied(runs)
    drawing = Drawing(STAR_WIDTH, STAR_HEIGHT + LINE * len(varied))
    _draw_switch(drawing, runs)
    _draw_client(drawing, runs)
    _draw_servers(drawing, runs)
    drawing.text(12, STAR_HEIGHT + 8, varied, size=13, width=STAR_WIDTH - 24)
    return drawing.render()


def _varied(runs: Sequence[Run]) -> list[str]:
    """One line for each factor that differs between the runs, with its levels."""
    found: dict[str, dict[Level, None]] = {}
    for run in runs:
        for factor, level in run.treatment.items():
            found.setdefault(factor, {})[level] = None
    return [
        f"varied: {factor} ({_levels(list(levels))})"
        for factor, levels in found.items()
        if len(levels) > 1
    ]


def _levels(levels: Sequence[Level]) -> str:
    ordered = sorted(levels, key=float) if is_numeric(levels) else list(levels)
    names = [level_text(level) for level in ordered]
    if len(names) <= LEVELS_LISTED:
        return texts(names)
    if is_numeric(levels):
        return f"{names[0]} to {names[-1]}"
    return texts([*names[:LEVELS_LISTED], f"{len(names) - LEVELS_LISTED} more"])


def _draw_switch(drawing: Drawing, runs: Sequence[Run]) -> None:
    switches = [run.network.switches[0] for run in runs]
    drawing.box(185, 110, 110, 110, SWITCH_FILL)
    drawing.text(240, 130, switches[0].name, anchor="middle", bold=True, width=102)
    profiles = list(dict.fromkeys(switch.profile for switch in switches))
    drawing.text(240, 150, _or(profiles), anchor="middle", size=13, width=102)
    ports = span(switch.ports for switch in switches)
    drawing.text(240, 212, f"{ports} ports", anchor="middle", size=13, colour=FAINT)


def _or(names: Sequence[str]) -> list[str]:
    """One line for each name, with "or" before all but the first; a long list is cut."""
    shown = list(names[:3])
    lines = [name if index == 0 else f"or {name}" for index, name in enumerate(shown)]
    return [*lines, f"or {len(names) - 3} more"] if len(names) > 3 else lines


def _draw_client(drawing: Drawing, runs: Sequence[Run]) -> None:
    drawing.box(10, 135, 105, 60, CLIENT_FILL)
    drawing.text(62, 160, role_name(runs[0], "client"), anchor="middle", bold=True, width=97)
    drawing.text(62, 180, _hosts("1"), anchor="middle", size=13)
    drawing.line(115, 165, 185, 165)
    below_switch, left_of_links = 240, 330
    lines = _access_lines(runs, "client")
    drawing.text(12, below_switch, lines, size=13, colour=FAINT, width=left_of_links)


def _draw_servers(drawing: Drawing, runs: Sequence[Run]) -> None:
    name = role_name(runs[0], "server")
    most = max(len(run.workload.roles.server) for run in runs)
    drawn = min(most, DRAWN_HOSTS)
    step, more = 56, most > drawn
    start = 165 - (drawn * step - 16 + (18 if more else 0)) / 2
    for index in range(drawn):
        y = start + index * step
        last = index == drawn - 1
        gap = 18 if last and more else 0
        drawing.line(295, 165, 375, y + gap + 20)
        drawing.box(375, y + gap, 95, 40, SERVER_FILL)
        number = most if last else index + 1
        label = f"{name} {number}" if most > 1 else name
        drawing.text(422, y + gap + 25, label, anchor="middle", bold=True, width=87)
        if last and more:
            drawing.dots(422, y + 1)
    drawing.text(470, 300, _hosts(_servers(runs)), anchor="end", size=13)
    room, access = STAR_WIDTH - 20, _access_lines(runs, "server")
    line = ", ".join(access)
    if text_width(line, 13) > room and access == _access_lines(runs, "client"):
        line = "links as the client’s"
    drawing.text(470, 318, line, anchor="end", size=13, colour=FAINT, width=room)


def _servers(runs: Sequence[Run]) -> str:
    return span(len(run.workload.roles.server) for run in runs)


def _hosts(counts: str) -> str:
    return f"{counts} host{'' if counts == '1' else 's'}"


def _access_lines(runs: Sequence[Run], role: str) -> list[str]:
    """Rate, MTU and delay of the access link of a role's first member, in all runs."""
    links = [
        link
        for run in runs
        for member in getattr(run.workload.roles, role)[:1]
        for link in access_links(run.network, member)
    ]
    return [
        texts(_rate(link) for link in links),
        f"MTU {texts(f'{link.mtu_bytes} B' for link in links)}",
        f"delay {texts(link_words(link, duration_text) for link in links)}",
    ]


def _rate(link: Link) -> str:
    """The rates of both ends of a link; only one number if they are equal."""
    a, b = format_rate(link.a.rate_bps), format_rate(link.b.rate_bps)
    return a if a == b else f"{a} / {b}"


def _star_alt(runs: Sequence[Run]) -> str:
    profiles = texts(run.network.switches[0].profile for run in runs)
    client, servers = role_name(runs[0], "client"), role_name(runs[0], "server")
    varied = "".join(f" {line[0].upper()}{line[1:]}." for line in _varied(runs))
    return (
        f"One switch ({profiles}) joins {client} ({', '.join(_access_lines(runs, 'client'))}) and "
        f"{_hosts(_servers(runs))} called {servers} ({', '.join(_access_lines(runs, 'server'))})."
        f"{varied}"
    )


BOX_WIDTH, BOX_HEIGHT, MARGIN = 128, 56, 10
COLUMN, ROW = 228, 84
"""Distance between boxes, horizontally and vertically."""
LETTERS_BETWEEN, LINE_BETWEEN = 14, 15
"""Text between two columns: letters per line, and height of a line."""


@dataclass(frozen=True)
class _Box:
    """Nodes that are drawn as one box."""

    label: str
    lines: tuple[str, ...]
    fill: str
    nodes: tuple[str, ...]


def _graph(runs: Sequence[Run]) -> str:
    """Draws the largest network of the runs; its labels give the values of all runs."""
    largest = max(runs, key=lambda run: len(run.network.nodes))
    boxes = _boxes(largest, runs)
    columns = _columns(largest, boxes)
    rows = max(len(column) for column in columns)
    notes = [*_link_notes(runs, boxes), *_varied(runs)]
    width = 2 * MARGIN + (len(columns) - 1) * COLUMN + BOX_WIDTH
    height = 2 * MARGIN + rows * ROW + 18 * len(notes)
    drawing = Drawing(max(480, width), height)
    places = _places(columns, rows)
    for a, b, text in _lines_between(runs, boxes):
        _draw_link(drawing, places[a], places[b], text)
    for box, (x, y) in places.items():
        _draw_box(drawing, boxes[box], x, y)
    room = drawing.width - 2 * MARGIN
    drawing.text(MARGIN, MARGIN + rows * ROW + 18, notes, size=13, colour=FAINT, width=room)
    return drawing.render()


def _boxes(run: Run, runs: Sequence[Run]) -> list[_Box]:
    """A box for each switch, and a box for all hosts of a group that have the same neighbours."""
    network, roles = run.network, run.workload.roles
    asking, answering = (
        {host_of(network, member)[0] for member in role} for role in (roles.client, roles.server)
    )
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for host in network.hosts:
        together.setdefault((host.group, _neighbours(network, host.name)), []).append(host.name)
    found = []
    for (group, _), names in together.items():
        # If a group has several boxes, its name cannot be the label of each.
        alone = sum(key[0] == group for key in together) == 1
        fill = OTHER_FILL
        if names[0] in answering:
            fill = SERVER_FILL
        if names[0] in asking:
            fill = CLIENT_FILL
        label = group if alone else _first_to_last(names)
        counts = span(_count(one.network, group) for one in runs) if alone else str(len(names))
        lines = _zone_lines(network, names) or (_hosts(counts),)
        found.append(_Box(label, lines, fill, tuple(names)))
    for switch in network.switches:
        profiles = texts(
            one.profile
            for other in runs
            for one in other.network.switches
            if one.name == switch.name
        )
        found.append(_Box(switch.name, (profiles,), SWITCH_FILL, (switch.name,)))
    return found


def _count(network: Network, group: str) -> int:
    return sum(host.group == group for host in network.hosts)


def _zone_lines(network: Network, hosts: Sequence[str]) -> tuple[str, ...]:
    """The names of the zones on some hosts. The host's name is left out, because it is drawn
    above."""
    zones = [zone.name.rpartition(".")[2] for zone in network.zones if zone.host in hosts]
    return (f"zones {_first_to_last(zones)}" if len(zones) > 1 else zones[0],) if zones else ()


def _first_to_last(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def _neighbours(network: Network, name: str) -> tuple[str, ...]:
    """The neighbours of a host: names of switches, and groups of hosts, so that hosts with equal
    links compare equal."""
    found = []
    for link in network.links:
        for here, there in ((link.a, link.b), (link.b, link.a)):
            if here.node == name:
                node = network.node(there.node)
                found.append(node.name if isinstance(node, Switch) else node.group)
    return tuple(sorted(found))


def _columns(run: Run, boxes: Sequence[_Box]) -> list[list[int]]:
    """The indices of the boxes in each column: clients, then switches by their distance from the
    clients, then all others."""
    network = run.network
    of = {node: index for index, box in enumerate(boxes) for node in box.nodes}
    clients = {of[host_of(network, member)[0]] for member in run.workload.roles.client}
    switches = {index for index, box in enumerate(boxes) if box.fill == SWITCH_FILL}
    at, reached = dict.fromkeys(clients, 0), list(clients)
    for index in reached:
        for other in _joined(network, of, index):
            if other in switches and other not in at:
                at[other] = at[index] + 1
                reached.append(other)
    last = max(at.values()) + 1
    for index in range(len(boxes)):
        at.setdefault(index, last)
    columns: list[list[int]] = [[] for _ in range(max(at.values()) + 1)]
    for index, column in sorted(at.items()):
        columns[column].append(index)
    return columns


def _joined(network: Network, of: dict[str, int], index: int) -> list[int]:
    found = []
    for link in network.links:
        ends = of[link.a.node], of[link.b.node]
        if index in ends:
            found.append(ends[1] if ends[0] == index else ends[0])
    return found


def _places(columns: Sequence[Sequence[int]], rows: int) -> dict[int, tuple[float, float]]:
    """The upper left corner of each box; columns are centred vertically."""
    return {
        index: (
            MARGIN + number * COLUMN,
            MARGIN + (rows - len(column)) * ROW / 2 + place * ROW + (ROW - BOX_HEIGHT) / 2,
        )
        for number, column in enumerate(columns)
        for place, index in enumerate(column)
    }


def _box_of(network: Network, boxes: Sequence[_Box]) -> dict[str, int]:
    """Node of a run -> the index of its box, found by the node's name or else by its group."""
    named = {node: index for index, box in enumerate(boxes) for node in box.nodes}
    labelled = {box.label: index for index, box in enumerate(boxes)}
    found = {node.name: named.get(node.name) for node in network.nodes}
    for host in network.hosts:
        if found[host.name] is None:
            found[host.name] = labelled.get(host.group)
    return {name: index for name, index in found.items() if index is not None}


def _links_between(runs: Sequence[Run], boxes: Sequence[_Box]) -> dict[tuple[int, int], list[Link]]:
    """Pairs of connected boxes, with the links between them in all runs."""
    found: dict[tuple[int, int], list[Link]] = {}
    for run in runs:
        of = _box_of(run.network, boxes)
        for link in run.network.links:
            if link.a.node in of and link.b.node in of:
                a, b = sorted((of[link.a.node], of[link.b.node]))
                found.setdefault((a, b), []).append(link)
    return found


def _lines_between(runs: Sequence[Run], boxes: Sequence[_Box]) -> list[tuple[int, int, str]]:
    """Pairs of connected boxes, with the rates of the links between them."""
    joined = _links_between(runs, boxes)
    return [(a, b, texts(map(_rate, links))) for (a, b), links in joined.items()]


def _draw_link(drawing: Drawing, a: tuple[float, float], b: tuple[float, float], text: str) -> None:
    """A line between two boxes, with its rate next to the middle."""
    (ax, ay), (bx, by) = sorted((a, b))
    if ax == bx:
        drawing.line(ax + BOX_WIDTH / 2, min(ay, by), ax + BOX_WIDTH / 2, max(ay, by) + BOX_HEIGHT)
        return
    y = (ay + by + BOX_HEIGHT) / 2
    drawing.line(ax + BOX_WIDTH, ay + BOX_HEIGHT / 2, bx, by + BOX_HEIGHT / 2)
    middle = (ax + BOX_WIDTH + bx) / 2
    between = COLUMN - BOX_WIDTH - 4
    lines = wrap(text, LETTERS_BETWEEN)
    top = y - 6 - LINE_BETWEEN * (len(lines) - 1)
    drawing.text(middle, top, lines, anchor="middle", size=12, colour=FAINT, width=between)


def _draw_box(drawing: Drawing, box: _Box, x: float, y: float) -> None:
    drawing.box(x, y, BOX_WIDTH, BOX_HEIGHT, box.fill)
    middle = x + BOX_WIDTH / 2
    inside = BOX_WIDTH - 8
    drawing.text(middle, y + 23, box.label, anchor="middle", bold=True, width=inside)
    drawing.text(middle, y + 42, list(box.lines), anchor="middle", size=12, width=inside)


def _link_notes(runs: Sequence[Run], boxes: Sequence[_Box]) -> list[str]:
    """Notes on rate, delay and MTU: one for each combination, with the links that have it."""
    found: dict[str, dict[str, None]] = {}
    for (a, b), links in _links_between(runs, boxes).items():
        delays = texts(link_words(link, duration_text) for link in links)
        mtus = texts(f"{link.mtu_bytes} B" for link in links)
        what = f"{texts(map(_rate, links))}, delay {delays}, MTU {mtus}"
        found.setdefault(what, {})[f"{boxes[a].label} – {boxes[b].label}"] = None
    if len(found) == 1:
        return [f"all links: {what}" for what in found]
    return [f"{', '.join(ends)}: {what}" for what, ends in found.items()]


def _graph_alt(runs: Sequence[Run]) -> str:
    largest = max(runs, key=lambda run: len(run.network.nodes))
    boxes = _boxes(largest, runs)
    names = [f"{box.label} ({', '.join(box.lines)})" for box in boxes]
    joined = [
        f"{boxes[a].label} with {boxes[b].label} at {rate}"
        for a, b, rate in _lines_between(runs, boxes)
    ]
    varied = "".join(f" {line[0].upper()}{line[1:]}." for line in _varied(runs))
    return f"The network has {', '.join(names)}; links join {', '.join(joined)}.{varied}"
