"""`netstudy.run`: what the command does, from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import netstudy
from tests.cli.conftest import SMALL_STUDY


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(SMALL_STUDY)
    return tmp_path


@pytest.mark.usefixtures("engine")
def test_a_study_is_carried_out_and_opened(study: Path) -> None:
    found = netstudy.run(
        study,
        only={"servers": [1, 3], "switch": "nexus-5010"},
        set={"topology.link.delay": "5 us", "workload.incast.iterations": 8},
        replicates=3,
        seed=7,
        results=study / "elsewhere",
    )
    invocation = found.folder.invocation()
    assert found.path.parents[1] == study / "elsewhere"
    assert found.folder.is_done()
    assert (found.path / "report.html").exists()
    assert invocation.seed == 7
    assert invocation.only == {"servers": [1, 3], "switch": ["nexus-5010"]}
    assert invocation.overrides == {
        "topology.link.delay": "5 us",
        "workload.incast.iterations": "8",
        "replicates": "3",
    }
    assert len(found.folder.plan().runs) == 6
    assert netstudy.open("small", results=study / "elsewhere").path == found.path


@pytest.mark.usefixtures("engine")
def test_it_is_quiet_unless_progress_is_asked_for(
    study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    netstudy.run(study, quick=True)
    assert capfd.readouterr() == ("", "")
    netstudy.run(study, quick=True, progress=True)
    told = capfd.readouterr()
    assert told.out == ""
    assert "runs to do" in told.err


def test_what_cannot_be_carried_out_raises_what_the_command_says(study: Path) -> None:
    with pytest.raises(netstudy.NetstudyError, match='no factor "speed"') as caught:
        netstudy.run(study, only={"speed": 1})
    assert not str(caught.value).startswith("netstudy:")
    assert not (study / "results").exists()
    with pytest.raises(netstudy.NetstudyError, match="no such file"):
        netstudy.run("nowhere.yaml")


def test_runs_that_failed_are_warned_of(
    study: Path, fake_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "failed:1")
    with pytest.warns(RuntimeWarning, match="failed"):
        found = netstudy.run(study, quick=True)
    assert found.replicates().columns
