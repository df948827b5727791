"""Request and response in words and as a timeline of one connection."""

from __future__ import annotations

from collections.abc import Sequence

from netstudy.report.numbers import duration_text
from netstudy.report.prose.words import number_range, things
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.svg import FAINT, Drawing
from netstudy.report.workloads.base import (
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
from netstudy.wire import Request, Run


def _work(run: Run) -> Request:
    assert isinstance(run.workload, Request), "this is the page of requests"
    return run.workload


def _description(runs: Sequence[Run]) -> list[Sentence]:
    works = [_work(run) for run in runs]
    clients = members(runs, "client", "client")
    connections = number_range([work.connections for work in works], "connections of the plan")
    return [
        say(
            "{measured}: {clients} {send} requests of {request} to {servers}, over {connections} "
            "for each pair, and {get} answers of {response}; {when}.",
            measured=measured(runs, "request"),
            clients=clients,
            send=agreeing("send", clients),
            get=agreeing("get", clients),
            servers=members(runs, "server", "server"),
            request=Name(texts(format_size(work.request_bytes) for work in works)),
            response=Name(texts(format_size(work.response_bytes) for work in works)),
            connections=things(connections, "connection"),
            when=_when(works),
        )
    ]


def _when(works: Sequence[Request]) -> Sentence:
    """Whether the loop is closed or open. Readers must know, because a closed loop hides
    waiting."""
    spaced = [work.every_ns for work in works if work.every_ns is not None]
    if spaced:
        return say(
            "a request is due each {every}, answered or not, and its latency counts from then "
            "(open loop)",
            every=Name(texts(duration_text(every) for every in spaced)),
        )
    waiting = things(
        number_range([work.outstanding for work in works], "outstanding of the plan"), "request"
    )
    pauses = sorted({work.think_ns for work in works} - {0})
    return say(
        "a connection has at most {n} outstanding, and the next one follows an answer{think} "
        "(closed loop)",
        n=waiting,
        think=say(" after {pause}", pause=Name(texts(map(duration_text, pauses))))
        if pauses
        else say(" at once"),
    )


def _illustration(runs: Sequence[Run]) -> str:
    """Draws requests as arrows down and answers as arrows up, on one connection."""
    work = _work(runs[0])
    drawing = Drawing(480, 190)
    drawing.text(10, 50, role_name(runs[0], "client"), bold=True)
    drawing.text(10, 114, role_name(runs[0], "server"), bold=True)
    for y in (46, 110):
        drawing.line(90, y, 470, y, "#cccccc")
    step, answer = (120, 64) if work.every_ns is None else (90, 130)
    starts = range(110, 470 - answer, step)
    for start in starts:
        drawing.arrow(start, 46, start, 108)
        drawing.arrow(start + answer, 110, start + answer, 48, FAINT)
    first = starts[0]
    drawing.line(first, 30, first + answer, 30)
    drawing.text(first + answer / 2, 22, "latency", anchor="middle", size=13)
    drawing.text(10, 142, _lines(runs), size=13, colour=FAINT)
    return drawing.render()


def _lines(runs: Sequence[Run]) -> list[str]:
    works = [_work(run) for run in runs]
    asked = texts(format_size(work.request_bytes) for work in works)
    answered = texts(format_size(work.response_bytes) for work in works)
    return [
        f"↓ request of {asked}, ↑ answer of {answered}",
        phase_line(runs, "request"),
    ]


def _alt(runs: Sequence[Run]) -> str:
    client, server = role_name(runs[0], "client"), role_name(runs[0], "server")
    return (
        f"Timeline of one connection: {client} sends requests to {server}, whose answers come "
        f"back after the latency. {' '.join(_lines(runs))}"
    )


REQUESTS = WorkloadPage(
    description=_description,
    illustration=Illustration(_illustration, _alt, "One connection."),
    senders="the ends that send data",
)
