"""Carries out studies and reads values and verdicts from their results."""

from __future__ import annotations

from pathlib import Path

from netstudy.analysis.named import metric_named
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.cli import invoke
from netstudy.report.answer import answer
from netstudy.store import Results
from netstudy.study.vocabulary import split_metric


class Asking:
    """Carries out studies in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, study: str) -> Answered:
        """The result of a study's text."""
        path = self.folder / "study.yaml"
        path.write_text(study)
        return self.run(path)

    def run(self, study: Path, *options: str) -> Answered:
        """The result of a study's file or folder."""
        asked = ["run", str(study), *options, "--results", str(self.folder / "results")]
        assert invoke(asked) == 0
        (latest,) = (self.folder / "results").glob("*/latest")
        return Answered(analyse(Results(latest).resolve(str(latest), done=True)))


class Answered:
    """The result of a study."""

    def __init__(self, result: StudyResult) -> None:
        self.result = result

    def value(self, metric: str, **levels: str) -> float:
        """The mean of a metric over the runs of the only cell with these levels."""
        table = self.result.cells
        named = metric_named(split_metric(metric), table.vocabulary)
        assert named is not None, metric
        (row,) = (
            one
            for one in table.rows
            if all(str(one.treatment[factor]) == level for factor, level in levels.items())
        )
        found = row.value(named)
        assert found is not None, (metric, levels)
        return found

    @property
    def sentences(self) -> str:
        """The first screen of the report."""
        return " ".join(map(str, answer(self.result))).replace("\u00a0", " ")

    def winners(self, metric: str) -> set[object]:
        """The levels that win the comparisons of a metric; "same" and "undecided" too."""
        tables = [
            one for case in self.result.cases for panel in case.panels for one in panel.verdicts
        ]
        rows = [row for one in tables if one.metric.name == metric for row in one.rows]
        assert rows, "the study compares it"
        return {row.outcome if row.winner is None else row.winner for row in rows}
