"""`tools.words`: phrases that make a reader go back, found in texts and not in code."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.report import readme
from tools.words import _hits, _texts


def found(tmp_path: Path, name: str, text: str) -> list[str]:
    path = tmp_path / name
    path.write_text(text)
    return [hit.phrase for line, part in _texts(path) for hit in _hits(name, line, part)]


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("What stands there is read.", "headless what"),
        ("All frames but those that were lost.", "those that"),
        ("The file beside it.", "beside"),
        ("The engine carries the plan out.", "carry out"),
        ("The name stands in the table.", "stands"),
        ("It is told of the change.", "told of"),
        ("One switch alone drops.", "alone"),
    ],
)
def test_a_phrase_is_found_in_pages_docstrings_and_comments(
    tmp_path: Path, sentence: str, phrase: str
) -> None:
    assert phrase in found(tmp_path, "page.md", f"{sentence}\n")
    assert phrase in found(tmp_path, "code.py", f'"""{sentence}"""\n')
    assert phrase in found(tmp_path, "comment.py", f"# {sentence}\n")
    assert phrase in found(tmp_path, "code.rs", f"/// {sentence}\n")


@pytest.mark.parametrize("sentence", ["It says what is wrong.", "What does it do?"])
def test_questions_are_no_hits(tmp_path: Path, sentence: str) -> None:
    assert found(tmp_path, "page.md", f"{sentence}\n") == []


def test_sentences_of_the_report_in_a_readme_are_not_read(tmp_path: Path) -> None:
    page = f"{readme.BEGIN}\nThe file beside it.\n{readme.END}\nThe switch alone drops.\n"
    assert found(tmp_path, "page.md", page) == ["alone"]


def test_code_is_not_read(tmp_path: Path) -> None:
    assert found(tmp_path, "page.md", "```\nbeside\n```\nUse `beside`.\n") == []
    assert found(tmp_path, "code.py", "beside = alone\n") == []
    assert found(tmp_path, "code.rs", "let beside = alone;\n") == []
