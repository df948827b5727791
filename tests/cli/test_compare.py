"""`netstudy compare`: two folders as a user holds them against each other."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from netstudy.cli import invoke
from netstudy.store import Folder, Results
from tests.cli.conftest import INCAST, SMALL_STUDY, Netstudy
from tests.stored import rewrite

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture
def both(study: Path, netstudy: Netstudy) -> tuple[Path, Path]:
    """The whole study, and a part of it with other random numbers and a longer wire."""
    assert netstudy("run", study).code == 0
    slower = ("--set", "topology.link.delay=50 us", "--only", "servers=1,3")
    assert netstudy("run", study, "--seed", "7", *slower).code == 0
    newest, oldest = sorted(
        (folder.path for folder in Results(Path("results")).folders()), reverse=True
    )
    return oldest, newest


def test_a_folder_beside_itself_has_no_difference(
    both: tuple[Path, Path], netstudy: Netstudy
) -> None:
    outcome = netstudy("compare", both[0], both[0], "--band", "0")
    assert outcome.code == 0
    assert (
        outcome.err == f"BASE and NEW are the same folder, {both[0]}, so there is no difference\n"
    )
    assert "6 pairs of cells matched by switch and servers." in outcome.out
    assert "36 of 36 values with a band lie inside it." in outcome.out
    assert "set differently" not in outcome.out


def test_what_differs_and_what_one_has_alone_is_told(
    both: tuple[Path, Path], netstudy: Netstudy
) -> None:
    outcome = netstudy("compare", *both)
    assert outcome.code == 0
    assert "link server – switch.delay_ns" in outcome.out
    apart = "; ".join(f"switch={one}, servers=6" for one in ("arista-7124s", "nexus-5010"))
    assert f"2 cells only in BASE: {apart}." in " ".join(outcome.out.split())
    assert "band" not in outcome.out


def test_a_broken_band_ends_with_1_and_is_named(
    both: tuple[Path, Path], netstudy: Netstudy
) -> None:
    outcome = netstudy("compare", *both, "--band", "completion_ms_p50=5 %", "--band", "1000 %")
    assert outcome.code == 1
    assert "completion_ms_p50 at switch=arista-7124s, servers=1:" in outcome.out
    assert "goodput_mbps at" not in outcome.out


def test_the_bands_of_the_study_count(study: Path, netstudy: Netstudy) -> None:
    study.write_text(f"{SMALL_STUDY}agreement: {{completion: 0.0001, drops: 20 % or 0.5}}\n")
    netstudy("run", study, "--quick")
    first = Results(Path("results")).folders()[0].path
    netstudy("run", study, "--quick", "--seed", "2")
    second = next(f.path for f in Results(Path("results")).folders() if f.path != first)
    assert netstudy("compare", first, second).code == 1
    eased = netstudy("compare", first, second, "--band", "completion=100 %", "--json")
    assert eased.code == 0
    found = json.loads(eased.out)
    assert (found["judged"], found["broken"]) == (8, 0)
    by_its_own_name = netstudy("compare", first, second, "--band", "completion_ms_mean=100 %")
    assert by_its_own_name.code == 0
    assert found["cells"][0]["metrics"]["drops_per_iteration"]["band"] == "20 % or 0.5"


def test_json_has_values_intervals_and_what_was_matched(
    both: tuple[Path, Path], netstudy: Netstudy
) -> None:
    found = json.loads(netstudy("compare", *both, "--json").out)
    assert found["matched_by"] == ["switch", "servers"]
    assert [cell["treatment"]["servers"] for cell in found["cells"]] == [1, 3, 1, 3]
    completion = found["cells"][0]["metrics"]["completion_ms_mean"]
    assert completion["difference"] == completion["b"]["value"] - completion["a"]["value"]
    assert completion["interval"][0] < completion["difference"] < completion["interval"][1]
    assert found["only_a"] == [
        {"switch": "arista-7124s", "servers": 6},
        {"switch": "nexus-5010", "servers": 6},
    ]


@pytest.fixture(scope="module")
def three(
    renderer: None, real_engine: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Folders of one cell: BASE, the same with other random numbers, one with a longer wire, and
    one with a single run. Tests only read them."""
    top = tmp_path_factory.mktemp("three")
    (top / "study.yaml").write_text(SMALL_STUDY)
    cell = ("--only", "switch=nexus-5010", "--only", "servers=6", "--quiet")
    runs = {
        "base": ("--replicates", "5"),
        "again": ("--replicates", "5"),
        "slower": ("--replicates", "5", "--set", "topology.link.delay=8 us"),
        "single": ("--replicates", "1"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETSTUDY_ENGINE", str(real_engine))
        for seed, (name, options) in enumerate(runs.items(), start=1):
            results = ("--seed", str(seed), "--results", str(top / name))
            assert invoke(["run", str(top / "study.yaml"), *cell, *options, *results]) == 0
    return {name: top / name / "small" / "latest" for name in runs}


@pytest.mark.usefixtures("here")
class TestInCi:
    """Did my change make it slower? The answer for people, for a CI service and for a comment."""

    def test_a_slower_cell_fails_and_is_named(
        self, three: dict[str, Path], netstudy: Netstudy
    ) -> None:
        both = (three["base"], three["slower"])
        outcome = netstudy("compare", *both, "--fail-on", "different", "--on", "completion")
        assert outcome.code == 1
        first = outcome.out.splitlines()[0]
        assert first.startswith("NEW is slower than BASE in 1 of 1 cell: completion time ")
        at = "switch=nexus-5010, servers=6"
        assert outcome.err == f"--fail-on different: completion_ms_mean is slower at {at}\n"
        assert netstudy("compare", *both).code == 0
        assert netstudy("compare", *both, "--fail-on", "worse").code == 1
        assert netstudy("compare", *reversed(both), "--fail-on", "worse").code == 0
        assert netstudy("compare", *both, "--fail-on", "different", "--noise", "20").code == 0

    def test_another_seed_passes(self, three: dict[str, Path], netstudy: Netstudy) -> None:
        outcome = netstudy("compare", three["base"], three["again"], "--fail-on", "different")
        assert outcome.code == 0
        assert outcome.err == ""
        assert "Differences within the noise of 2.0 % (from the study of BASE)" in outcome.out

    def test_the_files_for_a_ci_service_are_written(
        self, three: dict[str, Path], netstudy: Netstudy
    ) -> None:
        both = (three["base"], three["slower"])
        written = ("--junit", "junit.xml", "--markdown", "change.md")
        outcome = netstudy("compare", *both, "--on", "completion", *written)
        assert outcome.code == 0
        suite = ElementTree.fromstring(Path("junit.xml").read_text()).find("testsuite")
        assert suite is not None
        assert (suite.attrib["name"], suite.attrib["failures"]) == ("small", "1")
        page = Path("change.md").read_text().splitlines()
        assert page[0].startswith("**NEW is slower than BASE in 1 of 1 cell")
        assert netstudy(
            "compare", *both, "--on", "completion", "--markdown", "-"
        ).out.splitlines() == (page)

    def test_a_single_run_is_skipped_with_the_reason(
        self, three: dict[str, Path], netstudy: Netstudy
    ) -> None:
        options = ("--fail-on", "different", "--junit", "junit.xml", "--on", "completion")
        assert netstudy("compare", three["base"], three["single"], *options).code == 0
        (skipped,) = ElementTree.fromstring(Path("junit.xml").read_text()).iter("skipped")
        why = "NEW has a single run, so run-to-run variation is unknown."
        assert skipped.attrib["message"].startswith(why)

    def test_json_has_the_verdicts(self, three: dict[str, Path], netstudy: Netstudy) -> None:
        both = (three["base"], three["slower"])
        found = json.loads(netstudy("compare", *both, "--on", "completion", "--json").out)
        verdicts = found["verdicts"]
        assert (verdicts["noise_pct"], verdicts["noise_from"]) == (2.0, "BASE")
        (cell,) = verdicts["cells"]
        assert (cell["verdict"], cell["better"]) == ("different", "BASE")
        assert cell["ratio_interval"][0] > 1.02

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--junit", "-"], "--junit: JUnit XML is not printed; give the path of a file"),
            (["--junit", "no/j.xml"], "cannot write no/j.xml: "),
            (["--markdown", "."], "--markdown: . exists and is not a regular file"),
            (["--markdown", "-", "--json"], "--json and --markdown - both print the comparison"),
            (["--junit", "a", "--markdown", "./a"], "cannot hold both"),
            (["--noise", "much"], '--noise: "much'),
            (["--noise", "300"], "--noise: must be at most 100 %"),
            (["--on", "godput"], '--on: "godput" is an unknown metric'),
            (
                ["--fail-on", "worse", "--on", "client.network_mbps"],
                "no value of client.network_mbps is better or worse than another",
            ),
        ],
    )
    def test_what_has_no_effect_is_refused(
        self, three: dict[str, Path], netstudy: Netstudy, options: list[str], said: str
    ) -> None:
        outcome = netstudy("compare", three["base"], three["slower"], *options)
        assert outcome.code == 2
        assert said in outcome.err
        assert outcome.out == ""

    def test_a_gate_without_any_value_is_refused(
        self, both: tuple[Path, Path], netstudy: Netstudy
    ) -> None:
        """Folders that share cells, but no cell has runs in both."""
        rewrite(both[1], lambda one: None if one["treatment"]["servers"] == 3 else one)
        rewrite(both[0], lambda one: one if one["treatment"]["servers"] == 3 else None)
        outcome = netstudy("compare", *both, "--fail-on", "different")
        assert outcome.code == 2
        assert "--fail-on: no cell has a value of completion_ms_mean" in outcome.err

    def test_simulated_and_published_values_are_compared(
        self, netstudy: Netstudy, here: Path
    ) -> None:
        part = ("--only", "configuration=4 MB", "--only", "servers=2,4")
        assert netstudy("run", INCAST, "--testbed", "published", *part, "--results", "p").code == 0
        assert netstudy("run", INCAST, "--quick", *part, "--results", "s").code == 0
        folders = (Path("p/incast/latest"), Path("s/incast/latest"))
        outcome = netstudy("compare", *folders, "--json", "--on", "completion", "--on", "fairness")
        assert outcome.code == 0, outcome.err
        cells = json.loads(outcome.out)["verdicts"]["cells"]
        assert {cell["verdict"] for cell in cells if cell["metric"] == "fairness_index"} == {
            "missing"
        }
        measured = [cell for cell in cells if cell["metric"] == "completion_ms_mean"]
        assert all(cell["base"] and cell["new"] for cell in measured)


def test_markdown_is_for_pages(both: tuple[Path, Path], netstudy: Netstudy) -> None:
    outcome = netstudy("compare", *both, "--markdown", "-")
    assert "| switch | servers | Value (ms), BASE | Value (ms), NEW |" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--band", "far"], '--band: "far" is not a band'),
        (["--band", "godput=1 %"], '--band: "godput" is an unknown metric'),
        (["--band", "drops=1 %", "--band", "drops=2 %"], "--band: drops is given twice"),
        (["--band", "1 %", "--band", "2 %"], "--band: a band of all metrics is given twice"),
        (
            ["--band", "goodput=1 %", "--band", "goodput_mbps=2 %"],
            "goodput and goodput_mbps are one metric: give it one band",
        ),
    ],
)
def test_a_bad_band_is_refused(
    both: tuple[Path, Path], netstudy: Netstudy, arguments: list[str], said: str
) -> None:
    outcome = netstudy("compare", *both, *arguments)
    assert outcome.code == 2
    assert said in outcome.err


def test_folders_without_a_cell_in_common_are_refused(study: Path, netstudy: Netstudy) -> None:
    for servers in ("1,3", "6"):
        assert netstudy("run", study, "--only", f"servers={servers}").code == 0
    first, second = (folder.path for folder in Results(Path("results")).folders())
    outcome = netstudy("compare", first, second)
    assert outcome.code == 2
    assert "no cell in common" in outcome.err


def test_two_different_studies_are_refused(study: Path, netstudy: Netstudy) -> None:
    other = study.with_name("other.yaml")
    text = SMALL_STUDY.replace("study: small", "study: other").replace('"${switch}"', "nexus-5010")
    text = text.replace("switch: [arista-7124s, nexus-5010]", "mtu: [1500, 9000]")
    text = text.replace("mtu: 9000 B", 'mtu: "${mtu}"').replace(
        "factor: switch, base: nexus-5010", "factor: mtu, base: 1500"
    )
    other.write_text(text)
    for one in (study, other):
        assert netstudy("run", one, "--quick").code == 0
    outcome = netstudy("compare", "small", "other")
    assert outcome.code == 2
    assert "only BASE varies switch, only NEW varies mtu" in outcome.err
    assert outcome.out == ""


class TestFoldersThatAreNotWhole:
    """Cells that both folders have runs of are compared; what is missing is said."""

    def test_one_in_which_a_run_failed(self, both: tuple[Path, Path], netstudy: Netstudy) -> None:
        """On a real machine such a folder stays unsealed, since its failed run can be repeated."""
        folder = Folder(both[0])
        run = next(one for one in folder.plan().runs if one.treatment["servers"] == 3)
        broken = {"status": "failed", "error": "a cable broke"}
        rewrite(both[0], lambda one: {**one, **broken} if one["run"] == run.id else one)
        outcome = netstudy("compare", *both)
        assert outcome.code == 0, outcome.err
        assert f"{both[0]} is not finished: 1 of 12 runs failed; repeat them with" in outcome.err
        said = " ".join(outcome.out.split())
        assert "4 pairs of cells matched by switch and servers." in said
        assert "1 run of BASE failed or is invalid, and left out." in said
        for verb in ("export", "report"):
            assert netstudy(verb, both[0]).code == 0
        assert not folder.is_done()  # a new report does not end what can be repeated

    def test_one_that_lacks_runs(self, both: tuple[Path, Path], netstudy: Netstudy) -> None:
        rewrite(both[0], lambda one: None if one["treatment"]["servers"] == 3 else one)
        outcome = netstudy("compare", *both)
        assert outcome.code == 0, outcome.err
        assert f"{both[0]} is not finished: 4 of 12 runs are missing; finish it" in outcome.err
        said = " ".join(outcome.out.split())
        assert "4 runs of BASE are missing." in said
        empty = "switch=arista-7124s, servers=3; switch=nexus-5010, servers=3"
        assert f"2 cells without a valid run in BASE: {empty}." in said
        assert netstudy("compare", *both, "--band", "goodput=1000 %").code == 1  # not measured

    def test_one_without_any_run_is_refused(
        self, both: tuple[Path, Path], netstudy: Netstudy
    ) -> None:
        rewrite(both[0], lambda _: None)
        outcome = netstudy("compare", *both)
        assert outcome.code == 2
        assert f"{both[0]} has no valid run" in outcome.err
