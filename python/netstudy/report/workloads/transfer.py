"""Bulk transfer in words and as a timeline of its flows."""

from __future__ import annotations

from collections.abc import Sequence

from netstudy.report.numbers import duration_text
from netstudy.report.prose.words import number_range, things
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.svg import FAINT, INK, Drawing
from netstudy.report.workloads.base import (
    BAR_FILLS,
    Illustration,
    WorkloadPage,
    agreeing,
    measured,
    members,
    phase_line,
    role_name,
    texts,
)
from netstudy.units import format_size
from netstudy.wire import Run, Transfer

WAYS = {
    "get": "from",
    "put": "to",
    "both": "from and at the same time to",
}


def _work(run: Run) -> Transfer:
    assert isinstance(run.workload, Transfer), "this is the page of transfers"
    return run.workload


def _description(runs: Sequence[Run]) -> list[Sentence]:
    works = [_work(run) for run in runs]
    clients = members(runs, "client", "client")
    flows = number_range([work.flows for work in works], "flows of the plan")
    sizes = list(dict.fromkeys(work.size_bytes for work in works))
    # A transfer without a size lasts for the whole phase, so no other follows it.
    what = (
        say("one transfer that goes on until the phase ends")
        if sizes == [None]
        else say(
            "transfers of {sizes}, one after the other",
            sizes=Name(texts(_size(size) for size in sizes)),
        )
    )
    return [
        say(
            "{measured}: {clients} {move} bytes {ways} {servers}{protocol}, over {flows} for each "
            "pair; a flow carries {what}{pause}.",
            protocol=_protocol(works),
            measured=measured(runs, "transfer"),
            clients=clients,
            move=agreeing("move", clients),
            ways=Name(texts(WAYS[work.direction] for work in works)),
            servers=members(runs, "server", "server"),
            flows=things(flows, "flow"),
            what=what,
            pause=_pause(works),
        ),
        *_files(works),
    ]


def _protocol(works: Sequence[Transfer]) -> Sentence:
    by_ftp = {work.ftp is not None for work in works}
    if by_ftp == {True}:
        return say(" by FTP")
    return say(" by FTP or plain TCP") if by_ftp == {True, False} else say("")


_SOURCES = {
    "memory": "makes its bytes in memory",
    "ram": "has it on a RAM disk",
    "cache": "has it in the page cache",
    "disk": "reads it from a disk",
}
_SINKS = {
    "null": "discards it",
    "ram": "keeps it on a RAM disk",
    "disk": "writes it to a disk",
    "synced disk": "has it on a disk before the transfer ends",
}
_DATA_PATHS = {"copying": "by reads and writes", "sendfile": "by sendfile(2), without a copy"}


def _files(works: Sequence[Transfer]) -> list[Sentence]:
    """A sentence on where FTP files come from and go to, and on how the server sends them."""
    ftp = [work.ftp for work in works if work.ftp is not None]
    if not ftp:
        return []
    gets = {work.direction for work in works if work.ftp is not None} == {"get"}
    paths = texts(_DATA_PATHS[one.data_path] for one in ftp)
    return [
        say(
            "The sender of a file {source}{path}; the receiver {sink}. A session logs in before "
            "the warm-up, and each file has a passive data connection of its own. A transfer lasts "
            "from its first command to its last byte stored.",
            source=Name(texts(_SOURCES[one.source] for one in ftp)),
            path=say(", and sends it {how}", how=Name(paths)) if gets else say(""),
            sink=Name(texts(_SINKS[one.sink] for one in ftp)),
        )
    ]


def _size(size: int | None) -> str:
    return "no fixed size" if size is None else format_size(size)


def _pause(works: Sequence[Transfer]) -> Sentence:
    pauses = sorted({work.pause_ns for work in works} - {0})
    if not pauses:
        return say("")
    return say(", {pause} apart", pause=Name(texts(duration_text(pause) for pause in pauses)))


def _illustration(runs: Sequence[Run]) -> str:
    """Draws flows as bars between a line for the client and a line for its server."""
    work = _work(runs[0])
    flows = min(max(_work(run).flows for run in runs), len(BAR_FILLS))
    drawing = Drawing(480, 150 + flows * 22)
    bottom = 70 + flows * 22
    client, server = _ends(runs[0])
    drawing.text(10, 40, client, bold=True)
    drawing.text(10, bottom + 4, server, bold=True)
    for y in (36, bottom):
        drawing.line(90, y, 470, y, "#cccccc")
    for index in range(flows):
        _draw_flow(drawing, 54 + index * 22, index, endless=work.size_bytes is None)
    _draw_ways(drawing, work.direction, bottom)
    drawing.text(10, bottom + 34, _lines(runs), size=13, colour=FAINT)
    return drawing.render()


def _ends(run: Run) -> tuple[str, str]:
    """The names of client and server; "client" and "server" if both are in the same group of
    hosts."""
    client, server = role_name(run, "client"), role_name(run, "server")
    return ("client", "server") if client == server else (client, server)


def _draw_flow(drawing: Drawing, y: int, index: int, *, endless: bool) -> None:
    """Draws one long bar for a flow without an end, else three bars of equal size."""
    bars = (
        [(124, 470)] if endless else [(124 + n * 116 + index * 7, 226 + n * 116) for n in (0, 1, 2)]
    )
    for first, end in bars:
        drawing.parts.append(
            f'<rect x="{first}" y="{y}" width="{end - first}" height="14" '
            f'fill="{BAR_FILLS[index]}" stroke="{INK}"/>'
        )


def _draw_ways(drawing: Drawing, direction: str, bottom: int) -> None:
    if direction in ("put", "both"):
        drawing.arrow(100, 38, 100, bottom - 2)
    if direction in ("get", "both"):
        drawing.arrow(112, bottom - 2, 112, 38)


def _lines(runs: Sequence[Run]) -> list[str]:
    works = [_work(run) for run in runs]
    sizes = texts(
        "until the phase ends" if w.size_bytes is None else format_size(w.size_bytes) for w in works
    )
    each = texts(f"{w.flows} flow{'' if w.flows == 1 else 's'}" for w in works)
    return [f"▬ transfer: {sizes}; {each} for each pair", phase_line(runs, "transfer")]


def _alt(runs: Sequence[Run]) -> str:
    work = _work(runs[0])
    client, server = _ends(runs[0])
    ways = {"get": f"{server} to {client}", "put": f"{client} to {server}"}
    way = ways.get(work.direction, f"{client} to {server} and back at once")
    return f"Timeline of the flows of one pair, from {way}. {' '.join(_lines(runs))}"


TRANSFERS = WorkloadPage(
    description=_description,
    illustration=Illustration(_illustration, _alt, "The flows of one pair."),
    senders="the senders",
    sized=say("sizes of transfers"),
)
