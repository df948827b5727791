"""The test bed and the workload, drawn from the plan: nothing in them is typed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netstudy.analysis.ideal import group, link_of
from netstudy.report.numbers import duration_text, listed
from netstudy.report.svg import FAINT, INK, Drawing
from netstudy.units import format_rate, format_size
from netstudy.wire import Run

CLIENT_FILL = "#cfe3f2"
SWITCH_FILL = "#f2f2f2"
SERVER_FILL = "#fbe3d3"
BAR_FILLS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
BARRIER = 396
"""Where the last block is there, in the drawing of the workload."""
DRAWN_SERVERS = 4
"""Servers drawn one by one; more are hinted at."""


def test_bed(runs: Sequence[Run]) -> str:
    """Hosts, switch and links of all runs, with the ranges that their counts and rates have."""
    first = runs[0].workload
    names = (first.client, first.servers)
    drawing = Drawing(480, 330)
    _draw_switch(drawing, runs)
    _draw_client(drawing, runs, names[0])
    _draw_servers(drawing, runs, names[1])
    return drawing.render()


def _draw_switch(drawing: Drawing, runs: Sequence[Run]) -> None:
    switches = [run.network.switch for run in runs]
    drawing.box(185, 110, 110, 110, SWITCH_FILL)
    drawing.text(240, 130, "switch", anchor="middle", bold=True)
    profiles = list(dict.fromkeys(switch.profile for switch in switches))
    drawing.text(240, 150, _or(profiles), anchor="middle", size=13)
    ports = _values(switch.ports for switch in switches)
    drawing.text(240, 212, f"{ports} ports", anchor="middle", size=13, colour=FAINT)


def _or(names: Sequence[str]) -> list[str]:
    """Names one below the other, "or" between them; a long list is cut."""
    shown = list(names[:3])
    lines = [name if index == 0 else f"or {name}" for index, name in enumerate(shown)]
    return [*lines, f"or {len(names) - 3} more"] if len(names) > 3 else lines


def _draw_client(drawing: Drawing, runs: Sequence[Run], name: str) -> None:
    drawing.box(10, 135, 105, 60, CLIENT_FILL)
    drawing.text(62, 160, name, anchor="middle", bold=True)
    counts = _values(group(run.network, name).count for run in runs)
    drawing.text(62, 180, _hosts(counts), anchor="middle", size=13)
    drawing.line(115, 165, 185, 165)
    drawing.text(12, 222, _link_lines(runs, name), size=13, colour=FAINT)


def _draw_servers(drawing: Drawing, runs: Sequence[Run], name: str) -> None:
    most = max(group(run.network, name).count for run in runs)
    drawn = min(most, DRAWN_SERVERS)
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
        drawing.text(422, y + gap + 25, label, anchor="middle", bold=True)
        if last and more:
            drawing.text(422, y + 9, "⋮", anchor="middle", size=16)
    counts = _values(group(run.network, name).count for run in runs)
    drawing.text(470, 300, _hosts(counts), anchor="end", size=13)
    drawing.text(470, 318, ", ".join(_link_lines(runs, name)), anchor="end", size=13, colour=FAINT)


def _hosts(counts: str) -> str:
    return f"{counts} host{'' if counts == '1' else 's'}"


def _link_lines(runs: Sequence[Run], name: str) -> list[str]:
    links = [link_of(run.network, name) for run in runs]
    return [
        _texts(format_rate(link.rate_bps) for link in links),
        f"MTU {_texts(f'{link.mtu_bytes} B' for link in links)}",
        f"delay {_texts(duration_text(link.delay_ns) for link in links)}",
    ]


def _values(values: Iterable[int]) -> str:
    """One number, or the lowest and the highest."""
    found = sorted(set(values))
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _texts(texts: Iterable[str]) -> str:
    return listed(list(dict.fromkeys(texts)), last="or")


def test_bed_alt(runs: Sequence[Run]) -> str:
    """The test bed in words, for those who do not see it."""
    work = runs[0].workload
    counts = _values(group(run.network, work.servers).count for run in runs)
    profiles = listed(list(dict.fromkeys(run.network.switch.profile for run in runs)), last="or")
    client = ", ".join(_link_lines(runs, work.client))
    servers = ", ".join(_link_lines(runs, work.servers))
    return (
        f"One switch ({profiles}) joins {work.client} ({client}) and {counts} hosts called "
        f"{work.servers} ({servers})."
    )


def workload(runs: Sequence[Run]) -> str:
    """One iteration as a timeline: requests out, blocks back, the barrier, the next request."""
    works = [run.workload for run in runs]
    most = max(_server_count(run) for run in runs)
    lanes = min(most, DRAWN_SERVERS)
    drawing = Drawing(480, 130 + lanes * 40)
    bottom = 62 + lanes * 40
    drawing.text(10, 50, works[0].client, bold=True)
    drawing.line(90, 46, 470, 46)
    for index in range(lanes):
        _draw_lane(drawing, index, lanes, most, works[0].servers)
    drawing.line(BARRIER, 14, BARRIER, bottom, FAINT, dash="4 3")
    drawing.text(BARRIER - 6, 22, "all blocks are there", anchor="end", size=13)
    _draw_next(drawing, lanes)
    drawing.line(104, bottom + 8, BARRIER, bottom + 8)
    drawing.text(252, bottom + 24, "completion time of one iteration", anchor="middle", size=13)
    drawing.text(10, bottom + 46, _workload_lines(runs), size=13, colour=FAINT)
    return drawing.render()


def _draw_lane(drawing: Drawing, index: int, lanes: int, most: int, name: str) -> None:
    y = 86 + index * 40
    last = index == lanes - 1
    number = most if last else index + 1
    drawing.text(10, y + 4, f"{name} {number}" if most > 1 else name, bold=True)
    if last and most > lanes:
        drawing.text(40, y - 14, "⋮", size=14, anchor="middle")
    drawing.line(90, y, 470, y, "#cccccc")
    start = 104 + index * 9
    drawing.arrow(start, 46, start, y - 2)
    first, end = start + 16 + (index * 37) % 29, BARRIER if last else (330, 365, 345)[index]
    drawing.parts.append(
        f'<rect x="{first}" y="{y - 8}" width="{end - first}" height="16" '
        f'fill="{BAR_FILLS[index]}" stroke="{INK}"/>'
    )
    drawing.arrow(end, y - 8, end, 48, FAINT)


def _draw_next(drawing: Drawing, lanes: int) -> None:
    """The requests of the next iteration."""
    for index in range(lanes):
        drawing.arrow(412 + index * 9, 46, 412 + index * 9, 84 + index * 40)
    drawing.text(BARRIER + 6, 22, "again", size=13)


def _workload_lines(runs: Sequence[Run]) -> list[str]:
    works = [run.workload for run in runs]
    requests = _texts(format_size(work.request_bytes) for work in works)
    blocks = _texts(format_size(work.block_bytes) for work in works)
    whose = "divided over the servers" if works[0].striped else "from each server"
    count = _values(work.iterations for work in works)
    warm = _values(work.warmup_iterations for work in works)
    return [
        f"↓ request of {requests}   ▬ block of {blocks} {whose}",
        f"{count} iterations a run, after {warm} of warm-up; not to scale",
    ]


def workload_alt(runs: Sequence[Run]) -> str:
    """The workload in words, for those who do not see it."""
    return (
        f"Timeline of one iteration: {runs[0].workload.client} sends a request to every server at "
        "once, their blocks come in at different times, and the next requests go out when the "
        f"last block is there. {' '.join(_workload_lines(runs))}"
    )


def _server_count(run: Run) -> int:
    return group(run.network, run.workload.servers).count
