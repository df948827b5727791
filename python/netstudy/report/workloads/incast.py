"""Synchronized reads in words and as a timeline of one iteration."""

from __future__ import annotations

from collections.abc import Sequence

from netstudy.report.prose.words import number_range
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.svg import FAINT, INK, Drawing
from netstudy.report.workloads.base import (
    BAR_FILLS,
    DRAWN_HOSTS,
    Illustration,
    WorkloadPage,
    members,
    role_name,
    span,
    texts,
)
from netstudy.units import format_size
from netstudy.wire import Incast, Run

BARRIER = 396
"""Position in the drawing of the time at which the last block has arrived."""


def _work(run: Run) -> Incast:
    assert isinstance(run.workload, Incast), "this is the page of incast"
    return run.workload


def _description(runs: Sequence[Run]) -> list[Sentence]:
    return [
        say(
            "A run measures {iterations} iterations after {warmup} of warm-up: one client asks "
            "{servers} at once for {asked} and asks again when it has all of it.",
            iterations=number_range([run.count("measure") for run in runs], "measure of the plan"),
            warmup=number_range([run.count("warm-up") for run in runs], "warm-up of the plan"),
            servers=members(runs, "server", "server"),
            asked=Name(texts(_asked(runs, whole="{} each", striped="their shares of {}"))),
        )
    ]


def _asked(runs: Sequence[Run], *, whole: str, striped: str) -> list[str]:
    """`whole` for runs that ask each server for a whole block, and `striped` for runs with blocks
    striped over all servers, in the order of the plan. `{}` is replaced by the sizes."""
    works = [_work(run) for run in runs]
    return [
        (striped if divided else whole).format(
            texts(format_size(work.block_bytes) for work in works if work.striped == divided)
        )
        for divided in dict.fromkeys(work.striped for work in works)
    ]


def _illustration(runs: Sequence[Run]) -> str:
    """Draws one iteration as a timeline: requests out, blocks back, the barrier, the next
    requests."""
    client, servers = (role_name(runs[0], role) for role in ("client", "server"))
    most = max(len(run.workload.roles.server) for run in runs)
    lanes, notes = min(most, DRAWN_HOSTS), _workload_lines(runs)
    drawing = Drawing(480, 98 + lanes * 40 + 16 * len(notes))
    bottom = 62 + lanes * 40
    drawing.text(10, 50, client, bold=True)
    drawing.line(90, 46, 470, 46)
    for index in range(lanes):
        _draw_lane(drawing, index, lanes, most, servers)
    drawing.line(BARRIER, 14, BARRIER, bottom, FAINT, dash="4 3")
    drawing.text(BARRIER - 6, 22, "all blocks are there", anchor="end", size=13)
    _draw_next(drawing, lanes)
    drawing.line(104, bottom + 8, BARRIER, bottom + 8)
    drawing.text(252, bottom + 24, "completion time of one iteration", anchor="middle", size=13)
    drawing.text(10, bottom + 46, notes, size=13, colour=FAINT)
    return drawing.render()


def _draw_lane(drawing: Drawing, index: int, lanes: int, most: int, name: str) -> None:
    y = 86 + index * 40
    last = index == lanes - 1
    number = most if last else index + 1
    drawing.text(10, y + 4, f"{name} {number}" if most > 1 else name, bold=True)
    if last and most > lanes:
        drawing.dots(40, y - 21)
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
    """Draws the requests of the next iteration."""
    for index in range(lanes):
        drawing.arrow(412 + index * 9, 46, 412 + index * 9, 84 + index * 40)
    drawing.text(BARRIER + 6, 22, "again", size=13)


def _workload_lines(runs: Sequence[Run]) -> list[str]:
    """The lines of text below the drawing; they are short because the drawing is narrow."""
    requests = texts(format_size(_work(run).request_bytes) for run in runs)
    blocks = _asked(
        runs,
        whole="block of {} from each server",
        striped="block of {} divided over the servers",
    )
    count = span(run.count("measure") for run in runs)
    warm = span(run.count("warm-up") for run in runs)
    return [
        f"↓ request of {requests}   ▬ {blocks[0]}",
        *(f"or {other}" for other in blocks[1:]),
        f"{count} iterations a run, after {warm} of warm-up; not to scale",
    ]


def _alt(runs: Sequence[Run]) -> str:
    """The alternative text of the drawing."""
    return (
        f"Timeline of one iteration: {role_name(runs[0], 'client')} sends a request to every "
        "server at once, their blocks come in at different times, and the next requests go out "
        f"when the last block is there. {' '.join(_workload_lines(runs))}"
    )


INCAST = WorkloadPage(
    description=_description,
    illustration=Illustration(_illustration, _alt, "One iteration."),
    senders="the servers",
    sized=say("blocks"),
    one_observation=say(
        "Goodput × completion time is the bytes of an iteration in every row: the two are one "
        "observation, and goodput is no evidence of its own."
    ),
)
