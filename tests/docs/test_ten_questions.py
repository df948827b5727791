"""The answers of docs/guide/ten-questions.md: SQL and pandas agree, and so do the metrics."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Fence, fences
from tests.docs.test_examples import run, session

pytestmark = [pytest.mark.engine, pytest.mark.slow]

duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

PAGE = ROOT / "docs" / "guide" / "ten-questions.md"


def questions() -> dict[int, tuple[Fence, Fence]]:
    """Number of a question -> its SQL and its Python."""
    found: dict[int, tuple[Fence, Fence]] = {}
    heads = [
        (PAGE.read_text().count("\n", 0, match.start()) + 1, int(match[1]))
        for match in re.finditer(r"^## (\d+)\. ", PAGE.read_text(), re.M)
    ]
    ends = [line for line, _ in heads[1:]] + [10**6]
    for (line, number), end in zip(heads, ends, strict=True):
        sql, python = (one for one in fences(PAGE) if line < one.line < end)
        assert (sql.language, python.language) == ("sql", "python"), sql.where
        found[number] = (sql, python)
    return found


QUESTIONS = questions()


def opening(language: str) -> str:
    """The block that makes the tables."""
    return next(one.text for one in fences(PAGE) if one.language == language)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which the page's commands were typed."""
    made = tmp_path_factory.mktemp("questions")
    (made / "studies").symlink_to(ROOT / "studies")
    for command in session(PAGE):
        done = run(command, made)
        assert done.returncode == 0, f"{command.where}\n{done.stdout}"
    before = Path.cwd()
    os.chdir(made)
    yield made
    os.chdir(before)


@pytest.fixture(scope="module")
def tables(folder: Path) -> Mapping[str, Any]:
    """The names that the page's first Python block makes."""
    names: dict[str, Any] = {}
    exec(opening("python"), names)
    return names


@pytest.fixture(scope="module")
def files(folder: Path) -> Any:
    """A connection of DuckDB with the page's views."""
    connection = duckdb.connect()
    connection.execute(opening("sql"))
    return connection


def by_pandas(number: int, tables: Mapping[str, Any]) -> Any:
    names = dict(tables)
    exec(QUESTIONS[number][1].text, names)
    return names["answer"]


def by_sql(number: int, files: Any) -> Any:
    return files.execute(QUESTIONS[number][0].text).df()


def test_there_are_ten_questions() -> None:
    assert list(QUESTIONS) == list(range(1, 11))


@pytest.mark.parametrize("number", QUESTIONS)
def test_sql_and_pandas_give_the_same_answer(
    number: int, tables: Mapping[str, Any], files: Any
) -> None:
    frame, rows = by_pandas(number, tables).reset_index(drop=True), by_sql(number, files)
    assert len(rows) > 1
    assert list(frame.columns) == list(rows.columns)
    for name in rows.columns:
        own, other = frame[name].tolist(), rows[name].tolist()
        if pd.api.types.is_float_dtype(rows[name]):
            assert own == pytest.approx(other, rel=1e-9, nan_ok=True), name
        else:
            assert own == other, name


def test_the_answers_are_those_of_the_metrics(tables: Mapping[str, Any]) -> None:
    cells = tables["cells"].set_index(["switch", "servers"]).sort_index()
    p99 = by_pandas(1, tables).set_index(["switch", "servers"]).p99_ms
    assert p99.tolist() == pytest.approx(cells.completion_ms_p99.loc[p99.index].tolist())
    late = by_pandas(2, tables)
    assert (late.timeouts > 0).all()
    assert late.completion_ms.is_monotonic_decreasing
    drops = by_pandas(4, tables).set_index(["switch", "servers"]).drops
    assert drops.tolist() == pytest.approx(cells.drops_per_iteration.loc[drops.index].tolist())
    shorter = by_pandas(10, tables)
    assert (shorter.ratio < 1).all(), "a shorter minimum RTO shortens what waited for it"
