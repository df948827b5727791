"""The example of a web application: its network is the limit, and is not where it is ten times
faster. The study says so by itself, on both testbeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.conclusions.bottleneck import Bottlenecks, Limits
from netstudy.analysis.named import metric_named
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.cli import invoke
from netstudy.store import Results
from netstudy.study.vocabulary import split_metric
from tests.skips import in_namespaces

pytestmark = pytest.mark.quiet

STUDY = Path(__file__).parents[2] / "studies/examples/web-application"
SLOW, FAST = "10 Mbit/s", "100 Mbit/s"
LINK = "link from app to client"
USERS = 16


@pytest.mark.parametrize(
    "testbed", ["sim", pytest.param("netns", marks=[in_namespaces, pytest.mark.slow])]
)
def test_the_network_is_the_limit_where_it_is_slow_and_not_where_it_is_fast(
    testbed: str, tmp_path: Path
) -> None:
    asked = ["run", str(STUDY), "--quick", f"--testbed={testbed}", f"--results={tmp_path}"]
    assert invoke(asked) == 0
    latest = tmp_path / "web-application/latest"
    result = analyse(Results(latest).resolve(str(latest), done=True))
    if testbed == "netns" and is_busy(result):
        pytest.skip("the machine is too busy: its own CPUs are near their limit")
    found = {str(one.held["link"]): one for one in limits(result)}
    slow, fast = found[SLOW], found[FAST]
    assert [one.name for one in slow.levels[-1].limits] == [LINK]
    assert not any(one.resource.kind == "link" for one in fast.levels[-1].limits)

    assert value(result, SLOW, "etr_per_s") < 0.5 * value(result, FAST, "etr_per_s")
    for lost in ("app@client.txdrop_per_s", "app.segments_retransmitted"):
        if testbed == "sim":
            # A host with small queues holds packets back while its queue is full.
            assert value(result, SLOW, lost) == 0
        else:
            assert value(result, SLOW, lost) > 4 * max(value(result, FAST, lost), 1)
    assert value(result, SLOW, "app.cpu_pct") < 50
    assert value(result, FAST, "app@client.send_utilisation_pct") < 90


def is_busy(result: StudyResult) -> bool:
    return any(value(result, link, "machine.cpu_pct") >= 90 for link in (SLOW, FAST))


def limits(result: StudyResult) -> list[Limits]:
    drawn = (each.drawn for each in result.concluded)
    return [one for each in drawn if isinstance(each, Bottlenecks) for one in each.limits]


def value(result: StudyResult, link: str, name: str) -> float:
    """Of a metric with all users."""
    (row,) = (
        row
        for row in result.cells.rows
        if row.treatment["users"] == USERS and str(row.treatment["link"]) == link
    )
    metric = metric_named(split_metric(name), result.cells.vocabulary)
    assert metric is not None
    found = row.value(metric)
    assert found is not None, name
    return found
