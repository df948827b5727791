"""What the report says of runs that were carried out elsewhere: whose values they are."""

from __future__ import annotations

from collections.abc import Sequence

from netstudy.report.prose.words import number_range, things
from netstudy.report.refs import Name, Sentence, join, say
from netstudy.report.workloads.base import WorkloadPage
from netstudy.wire import Published, Run


def _work(run: Run) -> Published:
    assert isinstance(run.workload, Published), "this is the page of published values"
    return run.workload


def _description(runs: Sequence[Run]) -> list[Sentence]:
    works = [_work(run) for run in runs]
    sources = dict.fromkeys(source for work in works for source in work.source)
    given = number_range([len(work.given) for work in works], "published values of a run")
    return [
        say(
            "The values are published ones, {given} a run: {sources}.",
            given=things(given, "value"),
            sources=join([Name(source) for source in sources]),
        ),
        say(
            "Nothing was carried out here: how the runs were made is told by the source alone. "
            "What is known of the error of a value is its rounding."
        ),
    ]


PUBLISHED = WorkloadPage(description=_description, senders="the senders")
