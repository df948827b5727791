"""Metrics that a study may name: taken apart, and the same ones that the analysis computes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes.formulas import FORMULAS
from netstudy.analysis.nodes.places import Kind
from netstudy.analysis.workloads import METRICS, VOCABULARY, WORKLOADS
from netstudy.analysis.workloads.probe import FURTHER
from netstudy.study import load
from netstudy.study.checks.metrics import metric_problems
from netstudy.study.outcome import Condition
from netstudy.study.vocabulary import (
    HOST_METRICS,
    LINK_METRICS,
    MACHINE_METRICS,
    STANDARD_FIGURES,
    SWITCH_METRICS,
    Limit,
    Scope,
    split_metric,
)
from netstudy.study.workloads import WORDS
from netstudy.study.workloads.base import MetricWords

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "scope", "base", "statistic"),
    [
        ("completion_ms_p99", None, "completion_ms", "p99"),
        ("goodput_mbps", None, "goodput_mbps", None),
        ("app.cpu_pct", Scope("app"), "cpu_pct", None),
        ("client-3.cpu_pct_max", Scope("client-3"), "cpu_pct", "max"),
        ("a.zone1.goodput_mbps", Scope("a.zone1"), "goodput_mbps", None),
        ("app@client.send_mbps", Scope("app", "client"), "send_mbps", None),
        ("app.packet_bytes_mean", Scope("app"), "packet_bytes_mean", None),
        ("switch.port_mbps_mean", Scope("switch"), "port_mbps", "mean"),
        ("switch@server.port_in_mbps", Scope("switch", "server"), "port_in_mbps", None),
        ("left@right.port_drops", Scope("left", "right"), "port_drops", None),
        ("link.utilisation_pct", Scope("link"), "utilisation_pct", None),
        ("machine.softirq_pct_p99", Scope("machine"), "softirq_pct", "p99"),
        ("client.goodput_mbps", Scope("client"), "goodput_mbps", None),
    ],
)
def test_a_metric_has_a_place_a_base_and_a_statistic(
    text: str, scope: Scope | None, base: str, statistic: str | None
) -> None:
    found = split_metric(text)
    assert str(found) == text
    assert (found.scope, found.base, found.statistic) == (scope, base, statistic)
    assert found.phase == "measure"


def test_a_metric_of_a_node_may_be_of_another_phase() -> None:
    assert split_metric("app.cpu_pct in warm-up").phase == "warm-up"
    for text in ("goodput_mbps in warm-up", "app.cpu_pct in warmup", "app.cpu_pct in"):
        with pytest.raises(ValueError, match=r"phase|is not the name"):
            split_metric(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not the name of a metric"),
        ("completion", "is an unknown metric"),
        ("app.", "is not the name of a metric"),
        (".cpu_pct", "is not the name of a metric"),
        ("app.response_ms", "is an unknown metric"),
        ("a.b.c.cpu_pct", "is not the name of a metric"),
        ("cpu_pct", "is measured at a host; name the host, as in server.cpu_pct"),
        ("port_drops", "is measured at a switch; name its port"),
        ("app@client.cpu_pct", "is not counted by interface; write app.cpu_pct"),
        ("app.segments_retransmitted_p99", "is a single number per phase and has no p99"),
        ("machine.send_mbps", "is an unknown metric"),
    ],
)
def test_what_is_no_metric_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        split_metric(text)


def test_a_share_above_a_limit_has_a_quantity_and_a_time() -> None:
    found = split_metric("completion_ms_above_150ms_pct")
    assert (found.base, found.statistic, found.limit) == ("completion_ms", None, Limit(150, "ms"))
    limit = Limit(1500, "us")
    assert [limit.in_unit(unit) for unit in ("µs", "ms", "s")] == [1500, 1.5, 0.0015]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("completion_ms_above_1.5ms_pct", "with a whole number of ns, us, ms or s"),
        ("completion_ms_above_150ms", "is not a share of samples above a limit, such as"),
        ("completion_ms_above_150kB_pct", "is not a share of samples above a limit, such as"),
        ("completion_ms_below_150ms_pct", "is not a share of samples above a limit, such as"),
        ("app.cpu_pct_above_90pct_pct", "is not a share of samples above a limit, such as"),
        ("completon_ms_above_3ms_pct", 'did you mean "completion_ms"'),
    ],
)
def test_what_is_no_share_above_a_limit_is_refused_with_the_form(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        split_metric(text)


def test_a_share_of_what_has_no_samples_is_refused_with_its_place() -> None:
    study = load(ROOT / "studies/incast/study.yaml")
    place = ("require", 0, "that")
    (problem,) = metric_problems(study, place, split_metric("goodput_mbps_above_3ms_pct"))
    told = "goodput_mbps has no samples to count above a limit; completion_ms has"
    assert problem.message == f'"goodput_mbps_above_3ms_pct": {told}'
    assert not list(metric_problems(study, place, split_metric("completion_ms_above_3ms_pct")))
    (other,) = metric_problems(study, place, split_metric("transfer_s_above_1s_pct"))
    assert "is not measured by the workload incast of this study, but by transfer" in other.message


def test_a_condition_on_a_share_is_in_percent() -> None:
    bound = Condition().parse("completion_ms_above_150ms_pct < 5 %")
    assert (str(bound.metric), bound.sign, bound.value) == ("completion_ms_above_150ms_pct", "<", 5)
    with pytest.raises(ValueError, match="is in %"):
        Condition().parse("completion_ms_above_150ms_pct < 5 ms")


def test_a_study_may_name_every_metric_and_figure_that_the_analysis_has() -> None:
    for metric in METRICS:
        assert split_metric(metric.name).scope is None
    assert {metric.figure for metric in METRICS} == set(STANDARD_FIGURES)


@pytest.mark.parametrize("kind", WORKLOADS)
def test_the_study_knows_which_metrics_and_statistics_each_workload_measures(kind: str) -> None:
    words, analysis = WORDS[kind], WORKLOADS[kind]
    assert measured((*analysis.metrics, *analysis.further)) == promised(words)
    assert [metric.figure for metric in analysis.metrics] == list(words.figures)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("requests_per_s", "but by request; this study measures goodput_mbps, goodput_get_mbps,"),
        ("timeout_iterations_pct", "but by incast; this study measures"),
        ("completion_ms_p99", "but by incast; this study measures"),
        ("latency_us", "but by request; this study measures"),
        ("probe_idle_us_p99", "but by a probe next to it (workload.probe); this study measures"),
        (
            "srtt_us",
            "but by a sampler of its connections (tcp in instruments); this study measures",
        ),
        ("drops_per_iteration", "but by incast"),
    ],
)
def test_a_metric_of_another_workload_is_told_with_what_measures_it(asked: str, told: str) -> None:
    study = load(ROOT / "studies/conformance/transfer-direct.yaml")
    (problem,) = metric_problems(study, ("compare", "on"), split_metric(asked))
    start = f'"{asked}" is not measured by the workload transfer of this study, '
    assert problem.message.startswith(start + told)


def test_the_study_knows_what_probes_and_samplers_measure() -> None:
    found = (*VOCABULARY["probe"], *VOCABULARY["tcp"], *FURTHER)
    assert measured(found) == promised(WORDS["probe"]) | promised(WORDS["tcp"])


@pytest.mark.parametrize("kind", FORMULAS)
def test_every_quantity_of_a_node_has_a_formula(kind: Kind) -> None:
    known = {
        "host": set(HOST_METRICS) - {"goodput_mbps"},  # from tables of the workload
        "switch": set(SWITCH_METRICS),
        "link": set(LINK_METRICS),
        "machine": set(MACHINE_METRICS),
    }
    assert set(FORMULAS[kind]) == known[kind]


def measured(metrics: Iterable[Metric]) -> set[tuple[str, str | None]]:
    names = [split_metric(metric.name) for metric in metrics]
    return {(name.base, name.statistic) for name in names}


def promised(words: MetricWords) -> set[tuple[str, str | None]]:
    return {
        (base, one) for base, known in words.metrics.items() for one in known.statistics or (None,)
    }
