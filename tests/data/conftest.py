"""Results folders that are finished, with made-up records."""

from __future__ import annotations

from pathlib import Path

import pytest

import netstudy
from netstudy.store import Folder
from netstudy.wire import Run, RunRecord
from tests.report import workloads
from tests.report.results import NOW, from_text, results, small_incast, study_text
from tests.report.synthetic import invalid, record

CONFORMANCE = Path(__file__).parents[2] / "studies" / "conformance"


def finished(folder: Folder) -> Folder:
    """The folder, sealed as if its last run had ended."""
    folder.seal(NOW)
    return folder


def with_gaps(planned: Run) -> RunRecord | None:
    """All runs with 5 servers are missing, one with 9 is invalid, and drops of one with 2 servers
    were not counted by iteration."""
    servers = planned.treatment["servers"]
    if servers == 5:
        return None
    if (servers, planned.replicate) == (9, 1):
        return invalid(planned)
    found = record(planned)
    if (servers, planned.replicate) != (2, 1):
        return found
    assert found.samples.iteration is not None
    uncounted = found.samples.iteration.model_copy(update={"dropped_packets": None})
    samples = found.samples.model_copy(update={"iteration": uncounted})
    return found.model_copy(update={"samples": samples})


@pytest.fixture(scope="session")
def incast(tmp_path_factory: pytest.TempPathFactory) -> netstudy.StudyData:
    """The incast study with few servers, with gaps."""
    folder = small_incast(tmp_path_factory.mktemp("incast"), with_gaps)
    return netstudy.open(finished(folder).path)


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> netstudy.StudyData:
    """Flows of some seconds with a probe beside them: histograms, seconds and sampled series."""
    return _transfers(tmp_path_factory.mktemp("loaded"), {})


@pytest.fixture(scope="session")
def sized(tmp_path_factory: pytest.TempPathFactory) -> netstudy.StudyData:
    """The same with transfers of a size, one after the other."""
    size = {"workload.transfer.size": "1 MB"}
    return _transfers(tmp_path_factory.mktemp("sized"), size)


def _transfers(folder: Path, overrides: dict[str, str]) -> netstudy.StudyData:
    made = results(
        folder,
        CONFORMANCE / "latency-under-load.yaml",
        maker=workloads.record,
        overrides={"replicates": "2", **overrides},
    )
    return netstudy.open(finished(made).path)


@pytest.fixture(scope="session")
def three_hundred_thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty runs of 10,000 iterations: some row groups."""
    return _iterations(tmp_path_factory.mktemp("short"), runs=30)


@pytest.fixture(scope="session")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred runs of 10,000 iterations."""
    return _iterations(tmp_path_factory.mktemp("long"), runs=100)


def _iterations(folder: Path, runs: int) -> Path:
    text = study_text(
        f"\nfactors: {{servers: [4]}}\nreplicates: {runs}\n",
        servers='"${servers}"',
        iterations="10000",
    )
    return finished(from_text(folder, text)).path
