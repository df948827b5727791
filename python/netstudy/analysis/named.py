"""Finding a metric by the name that a study gives it."""

from __future__ import annotations

from collections.abc import Sequence

from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes import node_metric


def metric_named(name: str, among: Sequence[Metric]) -> Metric | None:
    """The metric of that name: of a node, or one of `among`. A name without a statistic means the
    mean. None for an unknown name."""
    by_name = {metric.name: metric for metric in among}
    plain = name.removesuffix("_mean")
    found = by_name.get(name) or by_name.get(f"{name}_mean") or by_name.get(plain)
    if found is not None or "." not in name:
        return found
    try:
        return node_metric(name)
    except ValueError:
        return None


def figure_named(name: str, among: Sequence[Metric]) -> Metric | None:
    """The metric whose figure has that name."""
    return next((metric for metric in among if metric.figure == name), None)
