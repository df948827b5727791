"""Runs in a plan that were measured elsewhere, for which nothing is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from netstudy import wire
from netstudy.plan.workloads.base import Planned
from netstudy.study.reference_files import PublishedValue

_VALUE_BYTES = 250
"""Size of a value in a record."""


class MeasuredPlan(Planned[wire.Measured]):
    """Describes runs that were measured elsewhere to people."""

    wired = wire.Measured
    unit = "measurements"

    def summary(self, run: wire.Run) -> str:
        """Name of the workload or of the format that the values come from."""
        work = _work(run)
        return work.of or (work.files[0].format if work.files else "table")

    def details(self, runs: Sequence[wire.Run]) -> Iterator[tuple[str, str]]:
        """Sources, files and values; nothing else is known of these runs."""
        works = [_work(run) for run in runs]
        for source in dict.fromkeys(source for work in works for source in work.source if source):
            yield "source", source
        files = Counter(one.format for work in works for one in work.files)
        for form, count in files.items():
            yield "files", f"{count:,} × {form}"
        given = dict.fromkeys(one.metric for work in works for one in work.given)
        read = dict.fromkeys(one.name for work in works for one in work.metrics)
        if given:
            yield "values", f"{sum(len(work.given) for work in works):,}: {', '.join(given)}"
        if read:
            yield "metrics", ", ".join(read)


def measured_work(
    of: str | None,
    values: Sequence[PublishedValue],
    declared: Mapping[str, wire.MeasuredMetric],
) -> wire.Measured:
    """A run with values of a table; `of` is the workload that was run, if it is known. `declared`
    are metrics of the study itself, by name."""
    names = dict.fromkeys(str(one.metric) for one in values)
    return wire.Measured(
        of=of,
        source=tuple(dict.fromkeys(one.source for one in values if one.source)),
        given=tuple(
            wire.MeasuredValue(
                metric=str(one.metric), value=one.value, rounding=one.rounding, row=one.row
            )
            for one in values
        ),
        metrics=tuple(declared[name] for name in names if name in declared),
    )


def values_bytes(run: wire.Run) -> int:
    """The most bytes of values in a record."""
    work = _work(run)
    return _VALUE_BYTES * (len(work.given) + len(work.metrics))


def _work(run: wire.Run) -> wire.Measured:
    assert isinstance(run.workload, wire.Measured), "this plans nothing else"
    return run.workload
