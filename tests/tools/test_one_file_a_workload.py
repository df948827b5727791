"""What names a workload outside of its files is found with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.one_file_a_workload import breaches, known, main


def found(tmp_path: Path, source: str, path: str = "analysis/causes.py") -> list[str]:
    """What is told of a package with one file."""
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    return [str(one) for one in breaches(tmp_path)]


def test_this_version_names_workloads_in_their_files_alone() -> None:
    assert breaches() == []


def test_every_kind_is_looked_for() -> None:
    assert {"incast", "transfer", "request", "transactions", "published"} <= known().files
    assert {"Incast", "Transfer", "Request", "Published"} <= known().models


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        (
            "from netstudy.analysis.workloads.incast import DROPS",
            "netstudy.analysis.workloads.incast.DROPS is one workload's file",
        ),
        (
            "from netstudy.report.workloads import published",
            "netstudy.report.workloads.published is one workload's file",
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


def test_a_breach_is_printed_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report/tables.py").write_text("wire.Incast\n")

    assert main(breaches(tmp_path)) == 1
    assert "python/netstudy/report/tables.py:1: wire.Incast" in capsys.readouterr().err
