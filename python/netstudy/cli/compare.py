"""`netstudy compare`: compare two results folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _completion as completion
from netstudy.cli import _options as options
from netstudy.cli._folders import finished_folder
from netstudy.cli._terminal import output, print_json, say, show
from netstudy.errors import MISSED, StudyError

if TYPE_CHECKING:
    from netstudy.analysis.comparison import FolderComparison
    from netstudy.report.comparison import Side
    from netstudy.store import Folder
    from netstudy.study.agreement import Bands

NAME = "compare"
EPILOG = "Example: netstudy compare results/incast/A results/incast/B --band 'goodput=10 %'"

FolderName = Annotated[
    str,
    typer.Argument(
        help="A results folder, or the name or path of a study for its newest results.",
        autocompletion=completion.results,
    ),
]


def command(
    run_a: FolderName,
    run_b: FolderName,
    band: Annotated[
        list[str] | None,
        typer.Option(
            "--band",
            metavar="[METRIC=]BAND",
            help="Allowed difference of B from A: 10 %, a number in the metric's unit, or 10 % or "
            "0.5. Without a metric: for all metrics without a band in the study.",
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    results: options.Results = options.RESULTS,
    json: options.Json = False,
) -> None:
    """Compare two results folders of a study: the differences of each metric, cell by cell.

    Cells with runs in both folders are compared, and the others are listed: a folder need not
    be finished, and one of them may be --testbed published.

    Bands come from `agreement` in the study of A, else of B, and from --band. Exit codes: 0 done,
    1 a band is broken, 2 bad input.
    """
    from netstudy.analysis.comparison import comparison
    from netstudy.analysis.related import cell_table
    from netstudy.report.comparison import as_data, side_of

    folders = [finished_folder(results, name, or_part=True) for name in (run_a, run_b)]
    if folders[0].path.samefile(folders[1].path):
        say(f"A and B are the same folder, {folders[0].path}, so there is no difference")
    tables = [cell_table(folder) for folder in folders]
    for folder, table in zip(folders, tables, strict=True):
        if not any(row.runs for row in table.rows):
            raise StudyError(f"{folder.path} has no valid run, so there is nothing to compare")
    found = comparison(tables[0], tables[1], _bands(folders, band or ()))
    if not found.pairs:
        raise StudyError(f"{folders[0].path} and {folders[1].path} have no cell in common")
    a, b = map(side_of, folders)
    if json:
        print_json(as_data(a, b, found))
    else:
        _print(a, b, found, markdown=markdown)
    # A broken band is not an error, but scripts must be able to notice it.
    raise typer.Exit(MISSED if found.broken else 0)


def _bands(folders: list[Folder], asked: tuple[str, ...] | list[str]) -> Bands:
    """The bands of the study; those on the command line take precedence. Raises StudyError."""
    from netstudy.study.agreement import Band, Bands, agreed_metric
    from netstudy.study.vocabulary import MetricName

    studies = [folder.study() for folder in folders]
    named: dict[MetricName | str, Band] = {}
    other: list[Band] = []
    for text in asked:
        metric, given, band = text.rpartition("=")
        try:
            found, name = Band.parse(band), agreed_metric(metric) if given else None
        except ValueError as error:
            raise StudyError(str(error), "--band") from None
        if name in named or (name is None and other):
            raise StudyError(f"{name or 'a band of all metrics'} is given twice", "--band")
        if name is None:
            other.append(found)
        else:
            named[name] = found
    by_study = studies[0].agreement or studies[1].agreement
    return Bands(by_study, other[0] if other else None, named)


def _print(a: Side, b: Side, found: FolderComparison, *, markdown: bool) -> None:
    from netstudy.report.comparison import (
        broken,
        metric_tables,
        sentences,
        settings_table,
        sides_table,
    )
    from netstudy.report.markdown import captioned_table, text
    from netstudy.report.terminal import print_sentences, print_table

    tables = [sides_table(a, b)]
    tables += [settings_table(found.settings)] if found.settings else []
    tables += metric_tables(found)
    told = [*sentences(found), *broken(found)]
    if markdown:
        show("\n\n".join(map(captioned_table, tables)))
        show("\n" + "\n".join(f"- {text(sentence)}" for sentence in told))
        return
    console = output()
    for table in tables:
        print_table(console, table)
    print_sentences(console, told)
