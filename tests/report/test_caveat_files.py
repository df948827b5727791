"""Each kind of caveat has one file in the analysis, and one of the same name in the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy.analysis import caveats as analysis
from netstudy.report import caveats as report
from netstudy.report.caveats import caveat_sentence


def kinds(of: type[analysis.Caveat] = analysis.Caveat) -> Iterator[type[analysis.Caveat]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def files(package: str) -> set[str]:
    return {path.stem for path in Path(package).parent.glob("*.py")}


def test_analysis_and_report_have_the_same_files() -> None:
    assert files(analysis.__file__) == files(report.__file__)


@pytest.mark.parametrize("kind", analysis.KINDS)
def test_a_kind_has_its_sentence_in_the_file_of_its_name(kind: type[analysis.Caveat]) -> None:
    sentence = caveat_sentence.dispatch(kind)
    assert sentence.__module__ == kind.__module__.replace("analysis", "report")


def test_every_kind_is_found() -> None:
    """A refusal of published data is asked for by name, and is not in the list."""
    refusals = {"not_measured"}
    parents = {one for one in kinds() if one.__subclasses__()}
    others = {*kinds()} - {*analysis.KINDS} - parents
    assert {one.__module__.rpartition(".")[2] for one in others} <= refusals
    assert len(set(analysis.KINDS)) == len(analysis.KINDS)
