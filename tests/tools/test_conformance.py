"""The results of the conformance studies: how far apart single seeds lie, beside the bands."""

from __future__ import annotations

import re

import pytest

from netstudy.analysis.comparison import FolderComparison, comparison
from netstudy.analysis.study_result import analyse
from netstudy.cli import invoke
from netstudy.store import Results
from netstudy.study.agreement import Bands
from netstudy.testbed.engine import find_engine
from tests.skips import or_skip
from tools.conformance import PAGE, ROOT, STUDIES, seeds_table, studies

UNBOUND = "retransmissions"
"""Its band is left out."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> FolderComparison:
    """Flows that share a port, simulated with two seeds: one run a cell each."""
    with or_skip():
        find_engine()
    results = tmp_path_factory.mktemp("results")
    study = next(study for study in studies() if study.study == "conformance-shared")
    for seed in (1, 2):
        path = str(STUDIES / "shared.yaml")
        invoke(["run", path, "--quick", f"--seed={seed}", f"--results={results / str(seed)}"])
    one, other = (analyse(Results(results / str(seed)).folders()[0]).cells for seed in (1, 2))
    agreed = {name: band for name, band in study.agreement.items() if name != UNBOUND}
    return comparison(one, other, Bands(agreed))


@pytest.mark.engine
def test_the_largest_difference_of_a_seed_is_that_of_any_cell(found: FolderComparison) -> None:
    rows = {str(row[0]): [str(value) for value in row[1:]] for row in seeds_table(found).rows}

    for figure in ("drops", "completion", "goodput"):
        among = [one for pair in found.pairs for one in pair.differences]
        cells = [one for one in among if one.metric.figure == figure]
        assert len(cells) == 2
        farthest = max(abs(one.value) for one in cells if one.value is not None)
        share = max(abs(one.pct) for one in cells if one.pct is not None)
        assert farthest > 0
        assert rows[figure] == [f"{farthest:.3g}", f"{share:.3g}", str(cells[0].band)]


@pytest.mark.engine
def test_a_metric_without_a_band_says_none(found: FolderComparison) -> None:
    bands = {str(row[0]): row[3] for row in seeds_table(found).rows}

    declared = {
        one.metric.figure: one.band for pair in found.pairs for one in pair.differences if one.band
    }
    assert UNBOUND not in declared
    assert bands[UNBOUND] is None
    assert str(bands["timeouts"]) == str(declared["timeouts"])


def test_every_study_of_the_folder_is_on_the_page() -> None:
    assert {study.path for study in studies()} == set(STUDIES.glob("*.yaml"))


def test_the_summary_for_readers_has_the_sum_of_all_studies() -> None:
    found = re.findall(
        r"^- (\d+) of (\d+) values with a band lie inside it", PAGE.read_text(), re.M
    )
    inside, every = (sum(map(int, counts)) for counts in zip(*found, strict=True))
    summary = " ".join((ROOT / "docs/concepts/conformance.md").read_text().split())
    assert len(found) == len(studies())
    assert f"{inside} of {every} values with a band lie inside it" in summary
