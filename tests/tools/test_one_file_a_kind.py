"""What names a workload or a kind of conclusion outside of its files is found with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.one_file_a_kind import PACKAGE, breaches, kinds_of_conclusions, main, workloads


def found(tmp_path: Path, source: str, path: str = "analysis/causes.py") -> list[str]:
    """What is told of a package with one file."""
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    return [str(one) for one in breaches(tmp_path)]


def test_this_version_names_kinds_in_their_files_alone() -> None:
    assert breaches() == []


def test_every_kind_is_looked_for() -> None:
    assert {"incast", "transfer", "request", "transactions", "published"} <= workloads().files
    assert {"Incast", "Transfer", "Request", "Published"} <= workloads().models
    assert {"knee", "first_repetition"} <= kinds_of_conclusions().files


def test_every_kind_of_conclusion_has_a_file_in_each_layer() -> None:
    for layer in ("study", "analysis", "report"):
        files = {path.stem for path in (PACKAGE / layer / "conclusions").glob("*.py")}
        assert kinds_of_conclusions().files <= files


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        (
            "from netstudy.analysis.workloads.incast import DROPS",
            "netstudy.analysis.workloads.incast.DROPS is in the file of one workload",
        ),
        (
            "from netstudy.report.workloads import published",
            "netstudy.report.workloads.published is in the file of one workload",
        ),
        ("from netstudy.wire import Run, Transfer", "wire.Transfer is one workload's"),
        ("isinstance(work, wire.Request)", "wire.Request is one workload's"),
        ("work.kind == 'incast'", "'incast' names a workload, or what it counts"),
        ("run.column('iteration', 'timeouts')", "'iteration' names a workload, or what it counts"),
        ("WIDE = {'completion_ms': 3}", "'completion_ms' is a metric of workloads"),
        ("record.samples.iteration", ".iteration is read, which one workload has"),
        ("spec = study.workload.transfer", ".transfer is read, which one workload has"),
        ("say('of all iterations of a run')", "iterations: a word of one workload"),
        ("f'{n} transfers of {size}'", "transfers: a word of one workload"),
        (
            "from netstudy.analysis.conclusions.knee import KneeFound",
            "netstudy.analysis.conclusions.knee.KneeFound is in the file of one kind of conclusion",
        ),
        (
            "from netstudy.study.conclusions import Knee",
            "netstudy.study.conclusions.Knee is a class of one kind of conclusion",
        ),
        ("one.key() == 'plateau'", "'plateau' names a kind of conclusion, or what it counts"),
    ],
)
def test_a_planted_name_is_found_with_its_line(tmp_path: Path, planted: str, told: str) -> None:
    assert found(tmp_path, f"x = 1\n{planted}\n") == [f"analysis/causes.py:2: {told}"]


@pytest.mark.parametrize(
    "innocent",
    [
        '"""Of an incast: its iterations."""',
        "x = 1  # as incast does",
        "from netstudy.analysis.workloads import workload_of",
        "from netstudy.analysis.workloads.base import WorkloadAnalysis",
        "from netstudy.wire import Run, Workload",
        "from netstudy.analysis.conclusions.levels import LevelsCompared",
        "from netstudy.study.conclusions import KINDS",
        "cell.limit == STUDY['limit']",
        "probe.request_bytes + concrete(probe.request)",
        "say('Beside it a small request is due')",
        "testbed.name == 'published'",
        "scope.node == 'app' and base == 'goodput_mbps'",
    ],
)
def test_what_is_no_workload_is_left_alone(tmp_path: Path, innocent: str) -> None:
    assert found(tmp_path, innocent) == []


def test_the_look_up_of_metrics_lists_none_of_a_workload(tmp_path: Path) -> None:
    told = found(tmp_path, "FIGURES = ('requests',)\n", "study/vocabulary.py")
    assert told == ["study/vocabulary.py:1: 'requests' names a workload, or what it counts"]


@pytest.mark.parametrize("path", ["report/workloads/incast.py", "wire.py"])
def test_files_of_workloads_and_contracts_may_name_them(tmp_path: Path, path: str) -> None:
    assert found(tmp_path, "from netstudy.wire import Incast\n", path) == []


def test_formats_of_files_may_use_the_names_of_metrics(tmp_path: Path) -> None:
    assert found(tmp_path, "NAME = 'goodput_get_mbps'\n", "formats/other.py") == []
    assert found(tmp_path, "NAME = 'goodput_get_mbps'\n", "plan/other.py") != []


def test_a_breach_is_printed_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report/tables.py").write_text("wire.Incast\n")

    assert main(breaches(tmp_path)) == 1
    assert "python/netstudy/report/tables.py:1: wire.Incast" in capsys.readouterr().err
