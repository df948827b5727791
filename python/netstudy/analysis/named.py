"""Finds a metric by the name that a study uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.statistics import share_above
from netstudy.study.vocabulary import MetricName


def metric_named(name: MetricName, among: Sequence[Metric]) -> Metric | None:
    """The metric with that name: one of `among`, a metric of a node, or the share of samples of one
    of `among` that are above a limit. A name without a statistic means the mean. None if `among`
    has no such metric."""
    by_name = {metric.name: metric for metric in among}
    found = next((by_name[text] for text in name.spellings if text in by_name), None)
    if found is not None:
        return found
    return _share_named(name, by_name) if name.scope is None else node_metric(name)


def _share_named(name: MetricName, by_name: Mapping[str, Metric]) -> Metric | None:
    """The share of samples above a limit, if the samples of the quantity are known."""
    like = by_name.get(f"{name.base}_mean")
    return share_above(like, name.limit) if name.limit and like and like.sampled else None


def figure_named(name: str, among: Sequence[Metric]) -> Metric | None:
    """The metric whose standard figure has that name."""
    return next((metric for metric in among if metric.figure == name), None)
