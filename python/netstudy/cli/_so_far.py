"""`netstudy report --so-far`: the report of an unfinished run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.cli._terminal import continue_with, output, phases, print_json, show
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.report.pages import ReportFiles
    from netstudy.report.so_far.document import SoFar
    from netstudy.store import FolderSoFar


def refuse_options(chosen: Mapping[str, bool]) -> None:
    """Raise StudyError if an option was chosen that only the final report has."""
    named = [option for option, wanted in chosen.items() if wanted]
    if named:
        has = "has neither figures nor a PDF, so leave it out"
        raise StudyError(f"the report of an unfinished run {has}", named[0])


def report_so_far(
    folder: FolderSoFar, into: Path | None, *, json: bool, is_quiet: bool = False
) -> None:
    """Print the report of an unfinished folder, and write its pages into `into`. With `is_quiet`,
    only the paths of the pages are printed, if there are any.

    Raises StudyError if `into` is in the results folder, which has only its own files while a
    process writes to it, or if a file cannot be written.
    """
    from netstudy.analysis.study_result import analyse
    from netstudy.report.so_far.data import so_far_as_data
    from netstudy.report.so_far.document import so_far_document
    from netstudy.report.so_far.terminal import print_so_far

    if into is not None and into.resolve().is_relative_to(folder.path.resolve()):
        raise StudyError(
            f"{into} is inside the results folder of an unfinished run; name a folder outside", "-o"
        )
    with phases(is_quiet=is_quiet) as on_phase:
        on_phase("analysing")
        result = analyse(folder)
        doc = so_far_document(folder, result, continue_with(folder))
        files = None if into is None else _write(doc, into)
    if json:
        written = {"html": str(files.html), "markdown": str(files.md)} if files else {}
        print_json({**so_far_as_data(folder, result), **written})
        return
    if files is None or not is_quiet:
        print_so_far(doc, output())
    if files is not None:
        show(files.html)
        show(files.md)


def _write(doc: SoFar, into: Path) -> ReportFiles:
    from netstudy.report.so_far.pages import write_so_far
    from netstudy.store import storage

    with storage(into):
        into.mkdir(parents=True, exist_ok=True)
        return write_so_far(doc, into)
