"""`netstudy compare`: compare two results folders."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _completion as completion
from netstudy.cli import _options as options
from netstudy.cli._folders import finished_folder
from netstudy.cli._terminal import output, print_json, say, show
from netstudy.errors import MISSED, StudyError

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellTable
    from netstudy.analysis.comparison import FolderComparison
    from netstudy.analysis.folder_verdicts import FolderVerdict, FolderVerdicts
    from netstudy.report.comparison import Side
    from netstudy.store import Folder
    from netstudy.study.agreement import Bands

NAME = "compare"
EPILOG = (
    "Example: netstudy compare results/incast/A results/incast/B --fail-on different --junit "
    "junit.xml --markdown change.md"
)
_STANDARD_OUTPUT = "-"

BaseName = Annotated[
    str,
    typer.Argument(
        metavar="BASE",
        help="A results folder, or the name or path of a study for its newest results.",
        autocompletion=completion.results,
    ),
]
NewName = Annotated[
    str,
    typer.Argument(
        metavar="NEW",
        help="The results after the change, written like BASE.",
        autocompletion=completion.results,
    ),
]


class FailOn(StrEnum):
    """A verdict that makes the exit code 1."""

    DIFFERENT = "different"
    WORSE = "worse"


def command(
    base: BaseName,
    new: NewName,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            help="Exit with 1 if NEW is different in some cell, or only if it is worse.",
            autocompletion=completion.words(FailOn),
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar="METRIC",
            help="A metric to judge; can be repeated. By default, the metrics of the study's "
            "comparison, else of its workload.",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            metavar="PERCENT",
            help="Largest difference that does not count, such as 2 %. By default, the noise of "
            "BASE's study, else of NEW's.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit", metavar="FILE", help="Write the verdicts as JUnit XML for a CI service."
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            help="Write the answer and tables as Markdown, for a comment on a pull request; -: "
            "print them.",
        ),
    ] = None,
    band: Annotated[
        list[str] | None,
        typer.Option(
            "--band",
            metavar="[METRIC=]BAND",
            help="Allowed difference of NEW from BASE: 10 %, a number in the metric's unit, or "
            "10 % or 0.5. Without a metric: for all metrics without a band in the study.",
        ),
    ] = None,
    results: options.Results = options.RESULTS,
    json: options.Json = False,
) -> None:
    """Say in which cells the results folder NEW differs from BASE, such as after a change.

    Verdicts come from the tests of a study's own: different or same against its noise, else
    undecided.
    Cells with runs in both folders are compared, and the others are listed: a folder need not be
    finished, and the folders may come from different testbeds.

    Bands come from `agreement` in the study of BASE, else of NEW, and from --band. Exit codes: 0
    done, 1 a band is broken, or --fail-on asks for it, 2 bad input.
    """
    from netstudy.analysis.comparison import comparison
    from netstudy.analysis.related import cell_table
    from netstudy.report.comparison import as_data, side_of

    _check_outputs(junit, markdown, is_json=json)
    folders = [finished_folder(results, name, or_part=True) for name in (base, new)]
    if folders[0].path.samefile(folders[1].path):
        say(f"BASE and NEW are the same folder, {folders[0].path}, so there is no difference")
    tables = [cell_table(folder) for folder in folders]
    for folder, table in zip(folders, tables, strict=True):
        if not any(row.runs for row in table.rows):
            raise StudyError(f"{folder.path} has no valid run, so there is nothing to compare")
    found = comparison(tables[0], tables[1], _bands(folders, band or ()))
    if not found.pairs:
        raise StudyError(f"{folders[0].path} and {folders[1].path} have no cell in common")
    verdicts = _verdicts(folders, tables, found, on or (), noise)
    failed = _failed(verdicts, fail_on)
    sides = (side_of(folders[0]), side_of(folders[1]))
    if junit is not None:
        _write_junit(junit, folders, verdicts, fail_on)
    if markdown is not None and str(markdown) != _STANDARD_OUTPUT:
        _write(markdown, _page(*sides, found, verdicts).encode("utf-8", "replace"))
    if json:
        print_json(as_data(*sides, found, verdicts))
    elif markdown is not None and str(markdown) == _STANDARD_OUTPUT:
        show(_page(*sides, found, verdicts), end="")
    else:
        _print(*sides, found, verdicts)
    _say_failed(failed, fail_on)
    # A broken band is not an error, but scripts must be able to notice it.
    raise typer.Exit(MISSED if found.broken or failed else 0)


def _check_outputs(junit: Path | None, markdown: Path | None, *, is_json: bool) -> None:
    if str(junit) == _STANDARD_OUTPUT:
        raise StudyError("JUnit XML is not printed; give the path of a file", "--junit")
    if str(markdown) == _STANDARD_OUTPUT and is_json:
        raise StudyError("--json and --markdown - both print the comparison: give one of them")
    if junit is not None and markdown is not None and junit.absolute() == markdown.absolute():
        raise StudyError(f"{junit} cannot hold both the JUnit XML and the Markdown page")
    for option, path in (("--junit", junit), ("--markdown", markdown)):
        if path is not None and path.exists() and not path.is_file():
            raise StudyError(f"{path} exists and is not a regular file", option)


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


def _verdicts(
    folders: Sequence[Folder],
    tables: Sequence[CellTable],
    found: FolderComparison,
    on: Sequence[str],
    noise: str | None,
) -> FolderVerdicts:
    from netstudy.analysis.folder_verdicts import (
        asked_metrics,
        deciding_metrics,
        folder_verdicts,
        noise_band,
    )

    studies = [folder.study() for folder in folders]
    metrics = asked_metrics(on, tables) if on else deciding_metrics(studies, tables)
    band = noise_band(studies, None if noise is None else _noise_pct(noise))
    return folder_verdicts(tables[0], tables[1], found, metrics, band)


def _noise_pct(text: str) -> float:
    """A percentage, with or without its sign. Raises StudyError."""
    from netstudy.documents.fields import Quantity
    from netstudy.units import PERCENT, parse_percent

    signed = text if text.strip().endswith("%") else f"{text} %"
    try:
        return float(Quantity(PERCENT, parse_percent, 0, 100).parse(signed))
    except ValueError as error:
        raise StudyError(str(error), "--noise") from None


def _failed(verdicts: FolderVerdicts, fail_on: FailOn | None) -> tuple[FolderVerdict, ...]:
    """The verdicts that fail the check. Raises StudyError if nothing can be judged."""
    from netstudy.report.folder_verdicts import failing

    if fail_on is None:
        return ()
    names = ", ".join(metric.name for metric in verdicts.metrics)
    if all(one.outcome == "missing" for one in verdicts.verdicts):
        raise StudyError(f"no cell has a value of {names} in both folders", "--fail-on")
    if fail_on is FailOn.WORSE and all(one.direction == "neutral" for one in verdicts.metrics):
        raise StudyError(
            f"no value of {names} is better or worse than another; use --fail-on different, or "
            "--on with another metric",
            "--fail-on worse",
        )
    return failing(verdicts, fail_on.value)


def _say_failed(failed: Sequence[FolderVerdict], fail_on: FailOn | None) -> None:
    from netstudy.report.folder_verdicts import failed_text

    if failed and fail_on is not None:
        say(f"--fail-on {fail_on.value}: {failed_text(failed)}")


def _write_junit(
    path: Path, folders: Sequence[Folder], verdicts: FolderVerdicts, fail_on: FailOn | None
) -> None:
    from netstudy.report.junit import junit

    studies = dict.fromkeys(folder.study().study for folder in folders)
    chosen = FailOn.DIFFERENT if fail_on is None else fail_on
    _write(path, junit(" and ".join(studies), verdicts, chosen.value))


def _write(path: Path, content: bytes) -> None:
    from netstudy.store import storage, write_atomic

    with storage(path):
        write_atomic(path, content)


def _page(base: Side, new: Side, found: FolderComparison, verdicts: FolderVerdicts) -> str:
    from netstudy.report.change_page import change_page
    from netstudy.report.comparison import broken, comparison_tables, sentences

    told = [*sentences(found), *broken(found)]
    return change_page(verdicts, told, comparison_tables(base, new, found))


def _print(base: Side, new: Side, found: FolderComparison, verdicts: FolderVerdicts) -> None:
    from netstudy.report.comparison import broken, comparison_tables, sentences
    from netstudy.report.folder_verdicts import answer, notable, verdicts_table
    from netstudy.report.terminal import print_sentences, print_table

    console = output()
    print_sentences(console, [answer(verdicts)])
    for metric in verdicts.metrics:
        print_table(console, verdicts_table(verdicts.of(metric)))
    print_sentences(console, notable(verdicts))
    for table in comparison_tables(base, new, found):
        print_table(console, table)
    print_sentences(console, [*sentences(found), *broken(found)])
