"""Reads how much of each resource is in use in a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from netstudy import wire
from netstudy.analysis.bounds.candidates import Candidate, Resource, State
from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import Interval
from netstudy.analysis.line_rates import line_bps
from netstudy.analysis.machines import cpus_part, files_part
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.nodes.capacities import CPU_BUSY
from netstudy.study.levels import level_text
from netstudy.study.vocabulary import MetricName

if TYPE_CHECKING:
    from netstudy.study import Study


@dataclass(frozen=True, eq=False)
class Measure:
    """Measures resources in one cell."""

    study: Study
    rows: Sequence[CellRow]
    """All cells of the conclusion: a resource without a known limit is compared with them."""
    row: CellRow
    vocabulary: Sequence[Metric]
    near_pct: float

    def of(self, resource: Resource) -> Candidate:
        """The resource at the host or link with the highest share of the limit; not measured if
        some host or link has no value."""
        if resource.is_unknown:
            return self._without_limit(resource)
        found = [self._first(resource, who, metrics) for who, metrics in resource.reads]
        known = [one for one in found if one is not None]
        if not known or len(known) < len(found):
            return Candidate(resource)
        return max(known, key=lambda one: one.share_pct or 0.0)

    def _first(
        self, resource: Resource, who: str | None, metrics: Sequence[MetricName]
    ) -> Candidate | None:
        found = (self._one(resource, who, metric) for metric in metrics)
        return next((one for one in found if one is not None), None)

    def _one(self, resource: Resource, who: str | None, read: MetricName) -> Candidate | None:
        metric = metric_named(read, self.vocabulary)
        estimate = None if metric is None else self.row.estimate(metric)
        most = self._limit(read) if resource.limit is None else resource.limit
        if metric is None or estimate is None or not most:
            return None
        interval = estimate.interval
        shares = None if interval is None else _scaled(interval, 100 / most)
        share = 100 * estimate.value / most
        found = Candidate(
            resource,
            state=self._state(share, shares),
            metric=metric,
            where=who,
            value=estimate.value,
            limit=most,
            share_pct=share,
            interval=shares,
            servers=resource.servers,
        )
        return self._of_cpus(found, read) if resource.is_cpus else found

    def _of_cpus(self, found: Candidate, read: MetricName) -> Candidate:
        """Adds the number of CPUs and the mean over them. Where only the total of several CPUs was
        counted, it bounds the share of the busiest: that CPU carries at most the time of all."""
        assert read.scope is not None, "CPUs belong to a host"
        cpus = self._cpu_count(read.scope.node)
        mean = self.row.value(node_metric(replace(read, base="cpu_pct")))
        found = self._with_others(replace(found, servers=cpus or 1.0, mean_pct=mean), read)
        if read.base != "cpu_pct" or found.share_pct is None or not cpus or cpus <= 1:
            return found
        most = min(100.0, found.share_pct * cpus)
        if found.state == "reached" or most < self.near_pct:
            return found
        note = "CPUs were not counted one by one; the busiest carries at most the time of all"
        return replace(found, state="may be reached", at_most_pct=most, note=note)

    def _with_others(self, found: Candidate, read: MetricName) -> Candidate:
        """A CPU that is busy with programs that are not the run's shows no limit of the run."""
        assert read.scope is not None, "CPUs belong to a host"
        if found.share_pct is None or found.state != "reached":
            return found
        if any(self.row.runs.gathered("files", files_part)):
            note = "its file counts all programs of the host, not only the run's"
            return replace(found, state="may be reached", others_pct=found.share_pct, note=note)
        others = self._others_pct(read.scope.node) if read.base == "busiest_cpu_pct" else 0.0
        if found.share_pct - others >= self.near_pct:
            return found
        note = f"programs that are not the run's took {others:.3g} % of the time of one CPU there"
        return replace(found, state="may be reached", others_pct=others, note=note)

    def _others_pct(self, name: str) -> float:
        """CPU time of programs that are not the run's, in percent of the time of one CPU: the mean
        over runs, at a host or at the host of a group with the most."""
        found: dict[str, list[float]] = {}
        for run in self.row.runs:
            record = run.record
            shares = {one.name: one.value for one in record.limits if one.value is not None}
            for host, node in record.nodes.items():
                if name in (host, node.group):
                    counted = record.counters.get(host, {})
                    cpus = sum(counter.startswith(CPU_BUSY) for counter in counted)
                    share = shares.get(f"{wire.OTHERS_CPU} ({host})", 0.0)
                    found.setdefault(host, []).append(share * cpus)
        return max((fmean(shares) for shares in found.values()), default=0.0)

    def _cpu_count(self, name: str) -> float | None:
        """The CPUs of a host, or of the first host of a group."""
        parts = self.row.runs.gathered("cpus", cpus_part)
        return next((cpus[name] for cpus in parts if name in cpus), None)

    def _limit(self, name: MetricName) -> float | None:
        """100 for a percentage, else the line rate in Mbit/s."""
        if name.base.endswith("_pct"):
            return 100.0
        rate = line_bps(self.study, self.row, name)
        return None if rate is None else rate / 1e6

    def _state(self, share_pct: float, interval: Interval | None) -> State:
        if share_pct >= self.near_pct:
            return "reached"
        if interval is not None and interval.high >= self.near_pct:
            return "may be reached"
        return "not reached"

    # ---- resources without a known limit

    def _without_limit(self, resource: Resource) -> Candidate:
        """Checks a resource without a known limit: it is ruled out if its value was larger in
        another cell with the same links."""
        read = [
            (who, metric_named(one, self.vocabulary))
            for who, metrics in resource.reads
            for one in metrics[:1]
        ]
        known = [
            (value, who, metric)
            for who, metric in read
            if metric is not None and (value := self.row.value(metric)) is not None
        ]
        if not known or len(known) < len(read):
            return Candidate(resource)
        value, who, metric = max(known, key=lambda one: one[0])
        elsewhere = self._most_elsewhere(metric)
        noise = 1 + (self.study.margin_pct or 0.0) / 100
        is_more = elsewhere is not None and elsewhere[0] > value * noise
        note = f"the most over these links was at {elsewhere[1]}" if is_more and elsewhere else ""
        return Candidate(
            resource,
            state="not reached" if is_more else "limit not known",
            metric=metric,
            where=who,
            value=value,
            note=note,
        )

    def _most_elsewhere(self, metric: Metric) -> tuple[float, str] | None:
        """The largest value of the metric in other cells that use the same links, and the levels of
        that cell."""
        links = self.row.planned[0].network.links
        found = [
            (value, row)
            for row in self.rows
            if row is not self.row
            and links
            and row.planned[0].network.links == links
            and (value := row.value(metric)) is not None
        ]
        if not found:
            return None
        value, row = max(found, key=lambda one: one[0])
        return value, ", ".join(f"{name} {level_text(v)}" for name, v in row.treatment.items())


def _scaled(interval: Interval, factor: float) -> Interval:
    return Interval(interval.low * factor, interval.high * factor)
