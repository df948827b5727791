"""`netstudy compare`: two folders as a user holds them against each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netstudy.store import Folder, Results
from tests.cli.conftest import SMALL_STUDY, Netstudy

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
    assert outcome.err == f"A and B are the same folder, {both[0]}, so there is no difference\n"
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
    assert f"2 cells only in A: {apart}." in " ".join(outcome.out.split())
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


def test_markdown_is_for_pages(both: tuple[Path, Path], netstudy: Netstudy) -> None:
    outcome = netstudy("compare", *both, "--markdown")
    assert "| switch | servers | Value (ms), A | Value (ms), B |" in outcome.out


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
    assert "only A varies switch, only B varies mtu" in outcome.err
    assert outcome.out == ""


class TestFoldersThatAreNotWhole:
    """Cells that both folders have runs of are compared; what is missing is said."""

    def test_one_in_which_a_run_failed(self, both: tuple[Path, Path], netstudy: Netstudy) -> None:
        """On a real machine such a folder stays unsealed, since its failed run can be repeated."""
        folder = Folder(both[0])
        run = next(one for one in folder.plan().runs if one.treatment["servers"] == 3)
        path = folder.path / "runs" / f"{run.id}.json"
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "status": "failed", "error": "a cable broke"}) + "\n")
        (folder.path / "DONE").unlink()
        outcome = netstudy("compare", *both)
        assert outcome.code == 0, outcome.err
        assert f"{both[0]} is not finished: 1 of 12 runs failed; repeat them with" in outcome.err
        said = " ".join(outcome.out.split())
        assert "4 pairs of cells matched by switch and servers." in said
        assert "1 run of A failed or is invalid, and left out." in said
        for verb in ("export", "report"):
            assert netstudy(verb, both[0]).code == 0
        assert not folder.is_done()  # a new report does not end what can be repeated

    def test_one_that_lacks_runs(self, both: tuple[Path, Path], netstudy: Netstudy) -> None:
        folder = Folder(both[0])
        for run in folder.plan().runs:
            if run.treatment["servers"] == 3:
                (folder.path / "runs" / f"{run.id}.json").unlink()
        for name in ("DONE", "records.jsonl"):
            (folder.path / name).unlink()
        outcome = netstudy("compare", *both)
        assert outcome.code == 0, outcome.err
        assert f"{both[0]} is not finished: 4 of 12 runs are missing; finish it" in outcome.err
        said = " ".join(outcome.out.split())
        assert "4 runs of A are missing." in said
        empty = "switch=arista-7124s, servers=3; switch=nexus-5010, servers=3"
        assert f"2 cells without a valid run in A: {empty}." in said
        assert netstudy("compare", *both, "--band", "goodput=1000 %").code == 1  # not measured

    def test_one_without_any_run_is_refused(
        self, both: tuple[Path, Path], netstudy: Netstudy
    ) -> None:
        folder = Folder(both[0])
        for path in (folder.path / "DONE", *(folder.path / "runs").iterdir()):
            path.unlink()
        outcome = netstudy("compare", *both)
        assert outcome.code == 2
        assert f"{both[0]} has no valid run" in outcome.err
