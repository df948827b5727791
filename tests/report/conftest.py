"""Results folders and reports that several tests read; each is made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.pages import write_report
from netstudy.store import Folder
from tests.report.results import small_incast


@pytest.fixture(scope="session")
def incast(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The incast study with few servers, all of its runs there."""
    return small_incast(tmp_path_factory.mktemp("incast"))


@pytest.fixture(scope="session")
def found(incast: Folder) -> StudyResult:
    return analyse(incast)


@pytest.fixture(scope="session")
def page(incast: Folder, found: StudyResult) -> str:
    """The HTML report of the incast study."""
    return write_report(incast, found).html.read_text()


@pytest.fixture(scope="session")
def page_path(incast: Folder, page: str) -> Path:
    path = incast.path / "report.html"
    assert path.read_text() == page
    return path
