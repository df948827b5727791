"""Published values in a plan, for which nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy import wire
from netstudy.plan.workloads.base import Planned
from netstudy.study.reference_files import PublishedValue

_VALUE_BYTES = 250
"""Size of a value in a record."""


class PublishedPlan(Planned[wire.Published]):
    """Describes published values in a plan to people."""

    wired = wire.Published
    unit = "published values"

    def summary(self, run: wire.Run) -> str:
        """Name of the workload that produced the published values."""
        return _work(run).of

    def details(self, runs: Sequence[wire.Run]) -> Iterator[tuple[str, str]]:
        """Sources and values; nothing else is known of these runs."""
        works = [_work(run) for run in runs]
        for source in dict.fromkeys(source for work in works for source in work.source):
            yield "source", source
        metrics = dict.fromkeys(one.metric for work in works for one in work.given)
        yield "values", f"{sum(len(work.given) for work in works):,}: {', '.join(metrics)}"


def published_work(of: str, values: Sequence[PublishedValue]) -> wire.Published:
    """The published values of a run of that workload."""
    return wire.Published(
        of=of,
        source=tuple(dict.fromkeys(one.source for one in values)),
        given=tuple(
            wire.PublishedValue(
                metric=str(one.metric), value=one.value, rounding=one.rounding, row=one.row
            )
            for one in values
        ),
    )


def values_bytes(run: wire.Run) -> int:
    """The most bytes of published values in a record."""
    return _VALUE_BYTES * len(_work(run).given)


def _work(run: wire.Run) -> wire.Published:
    assert isinstance(run.workload, wire.Published), "this plans nothing else"
    return run.workload
