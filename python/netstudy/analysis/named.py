"""Finding a metric by the name that a study gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.statistics import share_above
from netstudy.study.vocabulary import split_limit


def metric_named(name: str, among: Sequence[Metric]) -> Metric | None:
    """The metric of that name: of a node, one of `among`, or a share of samples above a limit for
    one of them. A name without a statistic means the mean. None for an unknown name."""
    by_name = {metric.name: metric for metric in among}
    plain = name.removesuffix("_mean")
    found = by_name.get(name) or by_name.get(f"{name}_mean") or by_name.get(plain)
    found = found or _share_named(name, by_name)
    if found is not None or "." not in name:
        return found
    try:
        return node_metric(name)
    except ValueError:
        return None


def _share_named(name: str, by_name: Mapping[str, Metric]) -> Metric | None:
    """The share of samples above a limit, if the samples of the quantity are known."""
    base, limit = split_limit(name)
    like = by_name.get(f"{base}_mean")
    return share_above(like, limit) if limit and like and like.sampled else None


def figure_named(name: str, among: Sequence[Metric]) -> Metric | None:
    """The metric whose figure has that name."""
    return next((metric for metric in among if metric.figure == name), None)
