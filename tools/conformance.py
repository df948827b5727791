"""Writes how well the simulator agrees with this kernel's TCP: studies/conformance/results.md.

usage: python -m tools.conformance [--run] [RESULTS]

For each study of studies/conformance, compares the newest results folders from both testbeds, and
writes the comparison into the marked part of the page. --run first runs the studies on both
testbeds. A study without finished runs keeps its part of the page. No number between the markers
is typed by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from netstudy.analysis.comparison import Difference, FolderComparison, comparison
from netstudy.analysis.folder_verdicts import BASE, NEW
from netstudy.analysis.metrics import Metric
from netstudy.analysis.study_result import analyse
from netstudy.analysis.testbed import TestbedResult
from netstudy.cli import invoke
from netstudy.errors import StudyError, exit_code
from netstudy.report.comparison import OF_BASE, bands_table, broken, sentences, side_of
from netstudy.report.markdown import pipe_table, replace_between, text
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table
from netstudy.report.testbed_tables import check_sentence, limit_sentence
from netstudy.store import Folder, Results
from netstudy.study import Study, load
from netstudy.study.agreement import Bands

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "studies/conformance"
PAGE = STUDIES / "results.md"
BEGIN = "<!-- conformance: written by python -m tools.conformance -->"
END = "<!-- end of conformance -->"
ORDER = (
    "one-flow",
    "incast-calm",
    "shared",
    "ecn",
    "incast-collapse",
    "incast-rates",
    "transfer-direct",
    "transfer-rates",
    "transfer-star",
    "transfer-dumbbell",
    "request-direct",
    "request-star",
    "latency-under-load",
    "queues-and-paths",
)
TESTBEDS = ("sim", "netns")
"""The two testbeds that are compared: BASE and NEW."""


def studies() -> list[Study]:
    """The scenarios, in order of difficulty."""
    return [load(STUDIES / f"{name}.yaml") for name in ORDER]


def carry_out(study: Study, results: Path) -> None:
    """Run a study on both testbeds. A run that fails does not stop the others."""
    for testbed in TESTBEDS:
        invoke(["run", str(study.path), f"--testbed={testbed}", f"--results={results}"])


def newest(study: Study, results: Path) -> list[Folder]:
    """The newest finished folder of a study on each testbed that has one."""
    done = [folder for folder in Results(results).folders(study.study) if folder.is_done()]
    return [
        found[0]
        for testbed in TESTBEDS
        if (found := [folder for folder in done if folder.invocation().testbed == testbed])
    ]


def write(results: Path, page: Path = PAGE) -> None:
    """Write the comparisons into the page. Raises StudyError if results or markers are missing."""
    kept = _parts(page)
    parts = []
    for study in studies():
        if len(folders := newest(study, results)) == len(TESTBEDS):
            parts.append("\n\n".join(_section(study, folders)))
        elif study.question in kept:
            parts.append(kept[study.question])
        else:
            raise StudyError(f"{results} has no finished runs of {study.study} on both testbeds")
    replace_between(page, BEGIN, END, "\n\n".join(parts))


def _parts(page: Path) -> dict[str, str]:
    """Question of a study -> its part of the page as it is."""
    _, *parts = page.read_text(encoding="utf-8").partition(END)[0].split("\n### ")
    return {part.partition("\n")[0]: f"### {part.strip()}" for part in parts}


def _section(study: Study, folders: Sequence[Folder]) -> Iterator[str]:
    simulated, measured = map(analyse, folders)
    found = comparison(simulated.cells, measured.cells, Bands(study.agreement))
    yield f"### {study.question}"
    yield f"`studies/conformance/{study.path.name}`: {study.expectation}"
    yield _made_on(folders)
    if found.judged:
        yield pipe_table(bands_table(found))
    yield pipe_table(seeds_table(found))
    yield "\n".join(f"- {line}" for line in _lines(found, measured.testbed))


def seeds_table(found: FolderComparison) -> Table:
    """For each metric, the band, and the largest difference between two runs with the same seed,
    over all cells.

    A band is at most 1.5 times the largest difference.
    """
    rows = tuple(
        (
            Name(metric.figure),
            *(
                None if value is None else Name(f"{value:.3g}")
                for value in _farthest(found, metric)
            ),
            *{Name(str(one.band)) if one.band else None for one in _of(found, metric)},
        )
        for metric in found.metrics
        if any(one.a and one.b for one in _of(found, metric))
    )
    heads = ("metric", "largest difference of a seed", OF_BASE, "band")
    return Table("seeds", say("Single seeds"), tuple(map(Group, heads)), rows)


def _of(found: FolderComparison, metric: Metric) -> list[Difference]:
    return [one for pair in found.pairs for one in pair.differences if one.metric == metric]


def _farthest(found: FolderComparison, metric: Metric) -> tuple[float | None, float | None]:
    """Largest difference between two runs with the same seed: absolute, and in percent of BASE."""
    both = list(_of_seeds(found, metric))
    distances = [abs(b - a) for a, b in both]
    shares = [100 * abs(b - a) / abs(a) for a, b in both if a]
    return max(distances, default=None), max(shares, default=None)


def _of_seeds(found: FolderComparison, metric: Metric) -> Iterator[tuple[float, float]]:
    """The values of a metric in BASE and NEW, for each cell and replicate that both have."""
    for pair in found.pairs:
        of_b = {run.replicate: metric.reading.of_run(run) for run in pair.b.runs}
        for run in pair.a.runs:
            a, b = metric.reading.of_run(run), of_b.get(run.replicate)
            if a is not None and b is not None:
                yield a, b


def _made_on(folders: Sequence[Folder]) -> str:
    """A sentence with the testbed, engine and kernel of BASE and of NEW."""
    parts = []
    for name, folder in zip((BASE, NEW), folders, strict=True):
        side = side_of(folder)
        made = f"engine {side.facts.get('engine', 'unknown')}, {side.facts.get('kernel', '')}"
        parts.append(f"{name} is `{side.testbed}` ({made})")
    return f"{'; '.join(parts)}."


def _lines(found: FolderComparison, testbed: TestbedResult) -> Iterator[str]:
    yield from (text(sentence) for sentence in (*sentences(found), *broken(found)))
    yield from (f"NEW: {text(limit_sentence(limit))}" for limit in testbed.exceeded)
    yield from (f"NEW: {text(check_sentence(check))}" for check in testbed.disagreeing)


def _make(results: Path, *, is_run: bool) -> None:
    for study in studies() if is_run else ():
        carry_out(study, results)
    write(results)


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.conformance")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"))
    asked = parser.parse_args(arguments)
    return exit_code(lambda: _make(asked.results, is_run=asked.run))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
