"""Metrics that a study may name: taken apart, and the same ones that the analysis computes."""

from __future__ import annotations

import pytest

from netstudy.analysis.workloads import METRICS
from netstudy.study.vocabulary import STANDARD_FIGURES, split_metric


@pytest.mark.parametrize(
    ("text", "scope", "base"),
    [
        ("completion_ms_p99", None, "completion_ms"),
        ("goodput_mbps", None, "goodput_mbps"),
        ("app.cpu_pct", "app", "cpu_pct"),
        ("switch.port_mbps_mean", "switch", "port_mbps"),
        ("client.goodput_mbps", "client", "goodput_mbps"),
    ],
)
def test_a_metric_has_a_place_a_base_and_a_statistic(
    text: str, scope: str | None, base: str
) -> None:
    found = split_metric(text)
    assert (found.scope, found.base) == (scope, base)


@pytest.mark.parametrize("text", ["", "completion", "app.", ".cpu_pct", "app.response_ms", "a.b.c"])
def test_what_is_no_metric_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"metric|measured"):
        split_metric(text)


def test_a_study_may_name_every_metric_and_figure_that_the_analysis_has() -> None:
    for metric in METRICS:
        assert split_metric(metric.name).scope is None
    assert {metric.figure for metric in METRICS} == set(STANDARD_FIGURES)
