"""`netstudy report`: rewrite the report of a run from its records, or report on an unfinished run.
`netstudy run` also uses these functions, for the first report."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _options as options
from netstudy.cli._folders import finished_folder, folder_so_far
from netstudy.cli._terminal import OnPhase, phases, print_json, say, show
from netstudy.cli._terminal import output as terminal
from netstudy.errors import MISSED

if TYPE_CHECKING:
    from netstudy.analysis.study_result import StudyResult
    from netstudy.report.pages import ReportFiles
    from netstudy.report.rendering import Draw
    from netstudy.store import Folder

NAME = "report"
EPILOG = "Example: netstudy report incast -o /tmp/incast-report"

_CELLS = "cells.csv"


def command(
    run: options.RunName = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Write to this folder, not into the results folder.",
        ),
    ] = None,
    so_far: options.SoFar = False,
    static: options.Static = False,
    png: options.Png = False,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Write report.pdf too (needs the optional package typst).")
    ] = False,
    results: options.Results = options.RESULTS,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Rewrite the HTML and Markdown report of a finished run, using only its records.

    If a record changed after the run was done, nothing is written.
    With --so-far, an unfinished run is printed: its progress, its cells, failed and invalid runs,
    and who is ahead, without tests or conclusions; -o DIR also writes this as pages. A finished run
    gets its final report.
    Exit codes: 0 done, 1 a requirement of the study is missed, 2 bad input.
    """
    if so_far:
        from netstudy.cli._so_far import refuse_options, report_so_far
        from netstudy.store import FolderSoFar

        refuse_options({"--static": static, "--png": png, "--pdf": pdf})
        folder = folder_so_far(results, run)
        if isinstance(folder, FolderSoFar):
            report_so_far(folder, output, json=json, is_quiet=quiet)
            return
        if output is None:
            raise typer.Exit(_show_existing(folder, json=json))
    else:
        folder = finished_folder(results, run)
    result, files = _written(folder, output, Pages(static, png, pdf), is_quiet=quiet)
    if json:
        _print_as_json(result, files)
    else:
        show(files.html)
        show(files.md)
        if files.pdf is not None:
            show(files.pdf)
    raise typer.Exit(MISSED if result.missed else 0)


def _written(
    folder: Folder, output: Path | None, pages: Pages, *, is_quiet: bool
) -> tuple[StudyResult, ReportFiles]:
    from netstudy.store import storage

    # If the disk is full, the error is the same for every file of the report.
    with storage(output or folder.path), phases(is_quiet=is_quiet) as on_phase:
        if output is None:
            return _write_anew(folder, pages, on_phase)
        return _write_into(folder, output, pages, on_phase)


def _show_existing(folder: Folder, *, json: bool) -> int:
    """Print the findings of a folder that is done, and the path of its report; nothing is written.
    Returns the exit code."""
    from netstudy.report.terminal import print_summary

    found = published(folder)
    if json:
        _print_as_json(found.result, found.report)
    else:
        print_summary(found.result, terminal())
        show(f"report: {found.report.html}")
    return MISSED if found.result.missed else 0


def _print_as_json(result: StudyResult, files: ReportFiles) -> None:
    from netstudy.report.expectation_table import expectations_as_data
    from netstudy.report.export import requirements_as_data

    written = {"html": str(files.html), "markdown": str(files.md)}
    written |= {} if files.pdf is None else {"pdf": str(files.pdf)}
    print_json(
        {
            **written,
            "requirements": requirements_as_data(result.requirements),
            "expectations": expectations_as_data(result.expectations),
        }
    )


@dataclass(frozen=True)
class Pages:
    """Options of the report's pages."""

    is_static: bool = False
    with_png: bool = False
    with_pdf: bool = False


PAGES = Pages()


def _write_anew(folder: Folder, pages: Pages, on_phase: OnPhase) -> tuple[StudyResult, ReportFiles]:
    with folder.writing():
        published = publish(folder, on_phase, seals=folder.is_done(), pages=pages)
    return published.result, published.report


def _write_into(
    folder: Folder, output: Path, pages: Pages, on_phase: OnPhase
) -> tuple[StudyResult, ReportFiles]:
    from netstudy.report.rendering import drawn_beside

    output.mkdir(parents=True, exist_ok=True)
    with drawn_beside() as draw:
        from netstudy.analysis.study_result import analyse

        on_phase("analysing")
        result = analyse(folder)
        return result, _write(folder, result, output, on_phase, pages, draw)


def _write(
    folder: Folder,
    result: StudyResult,
    into: Path | None,
    on_phase: OnPhase,
    pages: Pages,
    draw: Draw,
) -> ReportFiles:
    from netstudy.report.pages import write_report

    files = write_report(
        folder,
        result,
        into,
        on_phase,
        draw=draw,
        is_static=pages.is_static,
        with_png=pages.with_png,
        with_pdf=pages.with_pdf,
    )
    for name in files.lost:
        say(f"netstudy: the figure {name} is not drawn, because the renderer failed on it")
    return files


@dataclass(frozen=True)
class Published:
    """The findings of a run, and the files that contain them."""

    result: StudyResult
    report: ReportFiles
    cells: Path


def finish(folder: Folder, on_phase: OnPhase, *, is_final: bool, pages: Pages = PAGES) -> Published:
    """Analyse the records, write cells.csv and the report, and seal the folder. `on_phase` is
    called with the name of each step.

    With `is_final` false, the folder stays unsealed: it has failed runs that can be repeated. The
    caller must hold the folder's lock. Raises StudyError if a file cannot be written; a later call
    then completes the folder.
    """
    from netstudy.store import storage

    with storage(folder.path):
        return publish(folder, on_phase, seals=is_final, pages=pages)


def publish(
    folder: Folder, on_phase: OnPhase, *, seals: bool = True, pages: Pages = PAGES
) -> Published:
    """Analyse the folder's records and write cells.csv and the report. With `seals`, seal the
    folder, or seal it again."""
    from netstudy.beside import beside
    from netstudy.report.rendering import drawn_beside
    from netstudy.store import write_atomic
    from netstudy.store.environment import utc_now

    on_phase("analysing")
    cells = folder.path / _CELLS
    with ExitStack() as copies:
        draw = copies.enter_context(drawn_beside())
        # Imported only now, because the forked copy that draws does not need these modules.
        from netstudy.analysis.study_result import analyse, pool
        from netstudy.report.export import to_csv

        pooled = pool(folder)
        export = copies.enter_context(beside(lambda: None, lambda _: to_csv(pooled.cells)))
        exported = export([_CELLS])
        result = analyse(folder, pooled)
        report = _write(folder, result, None, on_phase, pages, draw)
        [text] = exported()
        write_atomic(cells, text.encode(), within=folder.path)
    if seals:
        folder.seal(utc_now())
    return Published(result, report, cells)


def published(folder: Folder) -> Published:
    """The findings and the existing files of a folder that is done; nothing is written."""
    from netstudy.analysis.study_result import analyse
    from netstudy.report.pages import ReportFiles

    return Published(analyse(folder), ReportFiles.within(folder.path), folder.path / _CELLS)
