"""The zones study: its findings come out of the published seconds and of the simulator, without a
number typed.

Published: a first repetition of 6.7 s and later ones of 5.0 and 4.9 s between zones, 11 to 12 s
between machines, for 1 GB; the times of "3 MB" are those of some 30 MB by the other two sizes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.caveats.size_law import OffLaw
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.cli import invoke
from netstudy.report.conclusions import concluded_points
from netstudy.report.document import Document, document
from netstudy.store import Folder, Results

pytestmark = pytest.mark.engine

STUDY = Path(__file__).parents[2] / "studies" / "zones"
WITHIN_PCT = 25.0
"""How near the simulated time must be at the size that the published row is of."""


def carried_out(folder: Path, *arguments: str) -> Folder:
    assert invoke(["run", str(STUDY), f"--results={folder}", *arguments]) == 0
    latest = folder / "zones" / "latest"
    return Results(latest).resolve(str(latest), done=True)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """The published rows, analysed as any run is."""
    return analyse(carried_out(tmp_path_factory.mktemp("published"), "--testbed=published"))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyResult, Document]:
    """What was measured, and stacks of their own: the what-if of a slower line takes longer."""
    folder = carried_out(tmp_path_factory.mktemp("simulated"), "--only=rate=1 Gbit/s")
    result = analyse(folder)
    return result, document(folder, result)


def said(result: StudyResult, lead: str) -> str:
    """All sentences of a conclusion."""
    points = [one for one in concluded_points(result) if one.lead == lead]
    text = " ".join(str(sentence) for one in points for sentence in one.sentences)
    return text.replace("\u00a0", " ")


def test_published_seconds_say_that_zones_seem_to_bypass_the_wire(published: StudyResult) -> None:
    text = said(published, "Bypasses the wire")
    assert text.startswith("same interface and other interface seem to bypass the wire: ")
    assert text.endswith("so the verdict rests on the speed of the payload.")


def test_published_first_repetitions_stand_out(published: StudyResult) -> None:
    """The largest of them is 0.27 s, and the later two 0.16 and 0.15 s."""
    text = said(published, "First repetition")
    assert text.startswith("The first repetition stands out in 3 of 9 settings.")
    assert "is 1.74 times the mean of the later ones" in text


def test_the_row_that_breaks_the_law_is_named_with_its_size(published: StudyResult) -> None:
    (off,) = (one for one in published.caveats if isinstance(one, OffLaw))
    assert (off.level, off.settings) == ("3 MB", 3)
    assert 29e6 < off.implied_bytes[0] < off.implied_bytes[1] < 39e6


def test_zones_are_found_to_bypass_the_wire_by_payload_and_counters(
    simulated: tuple[StudyResult, Document],
) -> None:
    bypass, touch = said(simulated[0], "Bypasses the wire").split(". ")
    assert bypass.startswith("same interface and other interface (stack shared) bypass the wire: ")
    assert bypass.endswith("and the interfaces carried none of the payload")
    assert touch.startswith("other interface (stack own) and server to server touch the wire: ")


def test_the_row_of_3_mb_is_held_against_the_size_that_the_others_imply(
    simulated: tuple[StudyResult, Document],
) -> None:
    result, doc = simulated
    rows = {str(one.at["path"]): one for one in result.implied_sizes}
    assert set(rows) == {"same interface", "other interface", "server to server"}
    for one in rows.values():
        assert one.error_pct is not None
        assert one.error_pct < -80  # at the size as it is printed
        assert one.implied_error_pct is not None
        assert abs(one.implied_error_pct) < WITHIN_PCT
    assert doc.implied_sizes is not None
    (table,) = doc.implied_sizes.tables
    assert len(table.rows) == 3


def test_published_rows_are_marked_and_every_large_difference_has_its_reason(
    simulated: tuple[StudyResult, Document],
) -> None:
    _, doc = simulated
    panels = [panel for case in doc.cases for panel in case.panels if panel.references]
    marks = {
        panel.heading.split(", ")[-1]: {
            str(row[-1]) for table in panel.references for row in table.rows
        }
        for panel in panels
    }
    assert marks == {"size 1 MB": {"fitted"}, "size 3 MB": {"predicted"}, "size 1 GB": {"fitted"}}
    told = [str(sentence) for panel in panels for sentence in panel.reference_text]
    assert not [one for one in told if one.startswith("Not explained")]
    assert any("these are no times of that size" in one for one in told)


def test_a_pair_within_one_machine_is_told_by_its_roles(
    simulated: tuple[StudyResult, Document],
) -> None:
    _, doc = simulated
    assert doc.workload is not None
    assert doc.workload.alt.startswith("Timeline of the flows of one pair, from client to server.")
    told = " ".join(str(one) for one in doc.cases[0].description).replace("\u00a0", " ")
    assert "1 client moves bytes to 1 server by FTP" in told
