"""The gigabit study: its findings come out of the published rates, without a number typed.

Published: 292, 440, 762 and 762 Mbit/s with 1, 2, 4 and 5 clients that discard, 812 at the peak of
four; 63 and 184 with 1 and 2 that write to their disks. With four, the server's CPUs were 36 %
busy, and virtually all frames had 1,518 bytes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.cli import invoke
from netstudy.cli._prepare import Asked, prepare
from netstudy.report.conclusions import concluded_points, conclusion_tables
from netstudy.store import Results
from netstudy.study import load
from netstudy.study.published_values import published_values

pytestmark = pytest.mark.engine

STUDY = Path(__file__).parents[2] / "studies" / "gigabit"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """The published rows, analysed as any run is; nothing is left out by hand."""
    results = tmp_path_factory.mktemp("gigabit")
    assert invoke(["run", str(STUDY), "--testbed=published", f"--results={results}"]) == 0
    latest = results / "gigabit" / "latest"
    return analyse(Results(latest).resolve(str(latest), done=True))


def said(result: StudyResult, lead: str) -> str:
    """All sentences of a conclusion."""
    points = [one for one in concluded_points(result) if one.lead == lead]
    text = " ".join(str(sentence) for one in points for sentence in one.sentences)
    return text.replace("\u00a0", " ")


def test_growth_ends_at_four_clients_with_three_quarters_of_the_link(
    published: StudyResult,
) -> None:
    assert (
        "grows up to 4 clients (sink null), 762 Mbit/s or 76.2 % of the link's 1 Gbit/s; 5 clients "
        "gain no more than the noise."
    ) in said(published, "Plateau")


def test_losses_superlinear_growth_and_missing_points_are_remarked(published: StudyResult) -> None:
    """762 of 5 × 292 are 52.2 %. 184 is 2.92 times 63."""
    text = said(published, "Loss against ideal")
    assert "at 5 clients is 47.8 % below linear scaling from 1 client (sink null)." in text
    assert "Not measured (sink null): 3 clients." in text
    assert "Superlinear: 2 clients carry 2.92 times as much as 1 client (sink disk)" in text
    assert "Not measured (sink disk): 3, 4 and 5 clients." in text


def test_the_link_is_ruled_out_and_what_was_not_published_is_not(published: StudyResult) -> None:
    """The CPU time was published with four clients only."""
    text = said(published, "Bottleneck")
    assert text.startswith(
        "The bottleneck is not decided at 1 to 5 clients (sink null) (292 to 762 Mbit/s)"
    )
    assert "link from server to switch (76.2 %) and CPUs of server (36.0 %)." in text
    assert "Not measured, and so not ruled out (sink null): CPUs of client" in text


def test_clients_per_link_come_with_their_derivation_and_range(published: StudyResult) -> None:
    """987 of 1,000 Mbit/s are frames: 10.7 clients of 92, and 15.7 of 63."""
    text = said(published, "Extrapolate clients per link (sink disk)")
    assert text.startswith("One link would serve 10 clients: 1 Gbit/s × 0.987 ")
    assert "= 987 Mbit/s, ÷ 92.0 Mbit/s a client as measured with 2 clients = 10.73," in text
    assert "Range: 10 to 15, over the numbers of clients measured;" in text
    assert "762.0 Mbit/s (sink=null, daemon=copying, clients=4), is " in text


def test_sinks_are_compared_at_each_number_of_clients_and_pooled(published: StudyResult) -> None:
    """63 ÷ 292, 184 ÷ 440, and the root of their product."""
    tables = {str(table.caption): table for table in conclusion_tables(published)}
    rows = tables["Incoming traffic of switch towards server: disk ÷ null"].rows
    assert [str(row[3]) for row in rows] == ["0.216", "0.418", "0.300"]


def test_fitted_rows_are_known(tmp_path: Path) -> None:
    fitted = {
        (one.levels["sink"], one.levels["clients"], one.metric.statistic)
        for one in published_values(load(STUDY))
        if one.fitted
    }
    assert fitted == {("null", 1, "mean"), ("disk", 1, "mean"), ("null", 5, "mean")}


@pytest.mark.parametrize("testbed", ["sim", "netns"])
def test_the_short_form_has_growth_to_see_and_both_sinks(testbed: str) -> None:
    planned = prepare(Asked(STUDY, testbed=testbed, quick=True)).planned
    levels = {(str(cell.treatment["sink"]), cell.treatment["clients"]) for cell in planned.cells}
    assert {sink for sink, _ in levels} == {"null", "disk"}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """Discarding clients of the copying daemon, for a shorter time than the study's."""
    results = tmp_path_factory.mktemp("simulated")
    only = ["sink=null", "daemon=copying", *(f"clients={n}" for n in (1, 2, 5, 6, 7))]
    changes = ["procedure.measure=12 s", "replicates=3", "workload.transfer.size=50 MB"]
    arguments = [f"--only={one}" for one in only] + [f"--set={one}" for one in changes]
    assert invoke(["run", str(STUDY), f"--results={results}", *arguments]) == 0
    latest = results / "gigabit" / "latest"
    return analyse(Results(latest).resolve(str(latest), done=True))


def test_fitted_rates_are_within_2_pct_and_two_clients_are_predicted_within_20(
    simulated: StudyResult,
) -> None:
    panels = [panel for case in simulated.cases for panel in case.panels]
    rows = {
        row.x: row
        for panel in panels
        if panel.reference is not None
        for one in panel.reference.agreements
        if one.metric.name.endswith("_mean")
        for row in one.rows
    }
    assert [n for n, row in rows.items() if row.fitted] == [1, 5]
    for n, most_pct in ((1, 2.0), (2, 20.0), (5, 2.0)):
        error = rows[n].error_pct
        assert error is not None
        assert abs(error) < most_pct


def test_the_simulated_server_still_gains_at_seven_clients(simulated: StudyResult) -> None:
    """Each further client adds 1 to 2 %: less than the noise, but they add up."""
    assert "still grows at 7 clients" in said(simulated, "Plateau")
    text = said(simulated, "Bottleneck")
    assert text.startswith("The limit at 5 to 7 clients is the CPUs of server: 95.")
