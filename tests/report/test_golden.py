"""Pages of small studies: each as it is kept, and each answer as it was planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.study_result import StudyResult
from netstudy.report.answer import answer
from netstudy.report.refs import Sentence
from netstudy.store import Folder
from tests.report.golden_studies import GOLDENS, PAGES, page_of, studied
from tests.report.planted import has, named, names

Made = tuple[str, Folder, StudyResult]


@pytest.fixture(scope="module", params=list(GOLDENS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A study's name, folder and results."""
    return request.param, *studied(GOLDENS[request.param], tmp_path_factory.mktemp("golden"))


def test_the_page_is_as_it_is_kept(made: Made) -> None:
    """If it changed on purpose: python -m tests.report.golden_studies."""
    name, folder, result = made
    assert page_of(folder, result).rstrip() == (PAGES / f"{name}.md").read_text().rstrip()


def test_the_answer_is_what_was_planted(made: Made) -> None:
    name, _, result = made
    golden, told = GOLDENS[name], answer(result)
    first, *_ = told.sentences
    if golden.levels:
        assert tuple(named([first], golden.levels)) == golden.levels
    missing = [value for value in golden.numbers if not has(told.sentences, value)]
    assert missing == []
    assert bool(told.caveats) is golden.is_forbidden
    assert (told.next is not None) is golden.is_open
    words = {"Yes", "No", "Partly"} & set(names(first))
    assert words == ({golden.begins} if golden.begins else set())


def test_each_sentence_of_an_answer_is_one(made: Made) -> None:
    sentences: list[Sentence] = [*answer(made[2])]
    for one in sentences:
        text = str(one)
        assert text == text.strip()
        assert text[0].isupper() or text == str(sentences[-1])  # it follows the word "Next:"
        assert text.endswith(".")
        assert "  " not in text


def test_every_page_that_is_kept_has_a_study() -> None:
    assert {page.stem for page in Path(PAGES).glob("*.md")} == set(GOLDENS)


def test_each_study_plants_something() -> None:
    for golden in GOLDENS.values():
        assert golden.levels or golden.numbers or golden.is_forbidden or golden.is_open
