"""Writes how close the simulated incast study comes to the published tables.

usage: python -m tools.accuracy RESULTS

Writes the first marked part of studies/incast/accuracy.md from a finished run of studies/incast. No
number between the markers is typed by hand: the goals are defined below, and all other numbers come
from the results folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean, median

from netstudy.analysis.agreement import Agreement, Beside
from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.intervals import Interval
from netstudy.analysis.metrics import Metric
from netstudy.analysis.rank import rank_correlation
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.study_result import analyse
from netstudy.analysis.workloads.incast import COMPLETION, DROPS, RETRANSMISSIONS
from netstudy.errors import StudyError, exit_code
from netstudy.report.appendix import fitted_table
from netstudy.report.cellrefs import PERCENT_DECIMALS, RHO_DECIMALS, plain
from netstudy.report.document import Document, document
from netstudy.report.markdown import pipe_table, replace_between, text
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table, Value, bare_interval
from netstudy.store import Results
from netstudy.study.levels import has_levels
from netstudy.wire import Level, RunRecord
from tools.trial import ARISTA, JUMBO, LARGE, NEXUS, PAGE, ROOT, STRIPED

BEGIN = "<!-- accuracy: written by python -m tools.accuracy -->"
END = "<!-- end of accuracy -->"


@dataclass(frozen=True)
class Goal:
    """A limit for the error of a metric, in one of four ways."""

    configuration: str
    metric: Metric
    level: str
    """The switch."""
    median_abs_pct_max: float | None = None
    rank_correlation_min: float | None = None
    ratio_error_pct_max: float | None = None
    """The limit applies to the ratio of this switch to the base switch, with the most servers."""
    row_pct_max: float | None = None
    """The limit applies to each row; `packets_max` is allowed instead if it is larger."""
    packets_max: float = 0.0


GOALS = (
    Goal(JUMBO, COMPLETION, ARISTA, median_abs_pct_max=5),
    Goal(JUMBO, COMPLETION, NEXUS, median_abs_pct_max=8),
    Goal(JUMBO, DROPS, ARISTA, median_abs_pct_max=10),
    Goal(JUMBO, DROPS, NEXUS, median_abs_pct_max=10),
    Goal(JUMBO, COMPLETION, ARISTA, rank_correlation_min=0.99),
    Goal(JUMBO, COMPLETION, NEXUS, rank_correlation_min=0.99),
    Goal(JUMBO, COMPLETION, ARISTA, ratio_error_pct_max=10),
    Goal(LARGE, COMPLETION, ARISTA, median_abs_pct_max=6),
    Goal(LARGE, COMPLETION, NEXUS, median_abs_pct_max=6),
    Goal(LARGE, DROPS, ARISTA, median_abs_pct_max=10),
    Goal(LARGE, DROPS, NEXUS, median_abs_pct_max=10),
    Goal(LARGE, COMPLETION, ARISTA, ratio_error_pct_max=10),
    Goal(STRIPED, COMPLETION, ARISTA, row_pct_max=15),
    Goal(STRIPED, COMPLETION, NEXUS, row_pct_max=15),
    Goal(STRIPED, RETRANSMISSIONS, ARISTA, row_pct_max=20),
    Goal(STRIPED, RETRANSMISSIONS, NEXUS, row_pct_max=20),
    Goal(STRIPED, DROPS, ARISTA, row_pct_max=20, packets_max=2),
    Goal(STRIPED, DROPS, NEXUS, row_pct_max=20, packets_max=2),
)


def write(results: Path, page: Path = PAGE) -> None:
    """Write the accuracy of a finished run into the page.

    Raises StudyError if results or markers are missing, or the run has no published values.
    """
    folder = Results(results).resolve(str(results), done=True)
    result = analyse(folder)
    panels = [found for case in result.cases for found in case.panels if found.reference]
    if not panels:
        raise StudyError(f"{folder.path} has no published values")
    body = "\n\n".join(_sections(document(folder, result), panels, folder.records()))
    replace_between(page, BEGIN, END, body)


def _sections(
    doc: Document, panels: Sequence[PanelResult], records: Sequence[RunRecord]
) -> Iterator[str]:
    sections = [panel for case in doc.cases for panel in case.panels if panel.references]
    named = {str(found.panel.fixed["configuration"]): found.reference for found in panels}
    references = {name: found for name, found in named.items() if found is not None}
    yield f"{text(doc.provenance)}\n\n```sh\n{doc.appendix.commands[0]}\n```"
    yield f"### Against the goals\n\n{pipe_table(goals_table(references))}"
    for name, section in zip(references, sections, strict=True):
        yield f"### Summary: {name}"
        for table in section.agreement:
            yield f"**{text(table.caption)}**\n\n{pipe_table(table)}"
    yield "### One test and another"
    yield pipe_table(tests_table(references, records))
    yield "### In sample\n\n" + pipe_table(fitted_table(doc.appendix.profiles))
    for name, section in zip(references, sections, strict=True):
        yield f"### Row by row: {name}"
        for table in section.references:
            yield f"**{text(table.caption)}**\n\n{pipe_table(table)}"
    yield "\n".join(f"Published by: {text(source)}" for source in doc.sources)


def goals_table(references: Mapping[str, PanelReference]) -> Table:
    """Each goal, the value found, and whether it is met."""
    groups = (
        Group("Configuration"),
        Group("Goal"),
        Group("Bound"),
        Group("Found"),
        Group("95 % interval"),
        Group("Met"),
    )
    rows = tuple(
        (Name(goal.configuration), *row)
        for goal in GOALS
        if goal.configuration in references
        for row in _goal_rows(goal, references[goal.configuration])
    )
    return Table("goals", say("Goals"), groups, rows)


def _goal_rows(goal: Goal, reference: PanelReference) -> Iterator[tuple[Value, ...]]:
    one = _agreement(goal, reference)
    about = f"{goal.metric.label}, {goal.level}"
    if goal.median_abs_pct_max is not None and one is not None:
        yield _row(
            f"median absolute error, {about}",
            _percent(goal.median_abs_pct_max, "at most"),
            None if one.median_abs_pct is None else _percent(one.median_abs_pct),
            _interval(one.median_abs_pct_interval, PERCENT_DECIMALS),
            _at_most(one.median_abs_pct, goal.median_abs_pct_max),
        )
    if goal.rank_correlation_min is not None and one is not None:
        rho = one.ranks.rho
        yield _row(
            f"rank correlation, {about}",
            f"at least {goal.rank_correlation_min:g}",
            None if rho is None else str(plain(rho, RHO_DECIMALS, "", about)),
            None,
            rho is not None and rho >= goal.rank_correlation_min,
        )
    if goal.row_pct_max is not None and one is not None:
        yield _each_row(goal, goal.row_pct_max, one)
    if goal.ratio_error_pct_max is not None:
        yield from _ratio_rows(goal, reference)


def _each_row(goal: Goal, bound_pct: float, one: Agreement) -> tuple[Value, ...]:
    """A row of the table that says how many published rows are within the permitted error."""
    rows = [row for row in one.rows if row.published is not None and row.own is not None]
    good = [row for row in rows if is_within(row, bound_pct, goal.packets_max)]
    bound = _percent(bound_pct, "within")
    more = f" or {goal.packets_max:g} packets" if goal.packets_max else ""
    what = f"each row, {goal.metric.label}, {goal.level}"
    found = f"{len(good)} of {len(rows)}"
    return _row(what, bound + more, found, None, len(good) == len(rows))


def is_within(row: Beside, bound_pct: float, packets_max: float) -> bool:
    """Whether the simulated value is close enough to the published value."""
    if row.published is None or row.own is None:
        return False
    reach = max(row.published * bound_pct / 100, packets_max)
    return abs(row.own - row.published) <= reach


def tests_table(references: Mapping[str, PanelReference], records: Sequence[RunRecord]) -> Table:
    """Rank correlations of completion times between single replicates.

    Each replicate corresponds to one test like the published one. Two simulated tests agree only to
    some extent, so a simulated test cannot be expected to agree more closely with the published
    test.
    """
    groups = tuple(
        map(Group, ("Rank correlation, completion time", "Tests", "Median", "From", "To"))
    )
    rows = tuple(
        _spread_row(f"{name}, {one.level}, {what}", found)
        for name, reference in references.items()
        for one in reference.agreements
        if one.metric == COMPLETION and one.level is not None
        for what, found in _between_tests(one, _tests(name, one.level, records)).items()
        if found
    )
    return Table("tests", say("Tests"), groups, rows)


Test = dict[Level, float]
"""Number of servers -> mean completion time of one replicate."""


def _tests(configuration: str, switch: Level, records: Sequence[RunRecord]) -> list[Test]:
    tests: dict[int, Test] = {}
    at = {"configuration": configuration, "switch": switch}
    for record in records:
        if has_levels(record.treatment, at) and record.samples.iteration is not None:
            test = tests.setdefault(record.replicate, {})
            test[record.treatment["servers"]] = mean(record.samples.iteration.completion_ns)
    return [test for _, test in sorted(tests.items())]


def _between_tests(one: Agreement, tests: Sequence[Test]) -> dict[str, list[float]]:
    published: Test = {
        row.x: row.published for row in one.rows if row.x is not None and row.published is not None
    }
    pairs = {
        "simulated and published": [(test, published) for test in tests],
        "two simulated": list(combinations(tests, 2)),
    }
    return {
        what: [rho for a, b in some if (rho := _rho(a, b)) is not None]
        for what, some in pairs.items()
    }


def _rho(one: Test, other: Test) -> float | None:
    shared = [x for x in one if x in other]
    return rank_correlation([one[x] for x in shared], [other[x] for x in shared], test=False).rho


def _spread_row(what: str, found: Sequence[float]) -> tuple[Value, ...]:
    spread = (median(found), min(found), max(found))
    return Name(what), Name(str(len(found))), *(plain(x, RHO_DECIMALS, "", what) for x in spread)


def _ratio_rows(goal: Goal, reference: PanelReference) -> Iterator[tuple[Value, ...]]:
    """A row with the simulated ratio, and the range around the published ratio in which the goal is
    met."""
    for ratio in reference.ratios:
        if ratio.metric != goal.metric or ratio.published is None or ratio.own is None:
            continue
        share = (goal.ratio_error_pct_max or 0.0) / 100
        ends = (ratio.published * (1 - share), ratio.published * (1 + share))
        yield _row(
            f"ratio of the switches, {goal.metric.label}, at {ratio.x}",
            f"{ends[0]:.2f} to {ends[1]:.2f}",
            f"{ratio.own:.2f}",
            _interval(ratio.interval, 2),
            ends[0] <= ratio.own <= ends[1],
        )


def _agreement(goal: Goal, reference: PanelReference) -> Agreement | None:
    found = (a for a in reference.agreements if (a.metric, a.level) == (goal.metric, goal.level))
    return next(found, None)


def _percent(value: float, before: str = "") -> str:
    return f"{before} {value:.{PERCENT_DECIMALS}f} %".strip()


def _interval(interval: Interval | None, decimals: int) -> Number | None:
    return bare_interval(interval, decimals, "95 % interval")


def _at_most(value: float | None, bound: float) -> bool:
    return value is not None and value <= bound


def _row(what: str, bound: str, found: str | None, interval: Value, met: bool) -> tuple[Value, ...]:
    return (
        Name(what),
        Name(bound),
        None if found is None else Name(found),
        interval,
        Name("yes" if met else "no"),
    )


def _make(results: Path) -> None:
    write(results)
    print(PAGE.relative_to(ROOT))


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m tools.accuracy RESULTS", file=sys.stderr)
        return StudyError.exit_code
    return exit_code(lambda: _make(Path(arguments[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
