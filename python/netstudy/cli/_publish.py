"""From a folder whose runs are all there to its tables, its report and its seal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from netstudy.analysis.study_result import StudyResult
    from netstudy.report import ReportFiles
    from netstudy.store import Folder

CELLS = "cells.csv"


@dataclass(frozen=True)
class Published:
    """What came of a run: the findings and where they are written."""

    result: StudyResult
    report: ReportFiles
    cells: Path


def finish(folder: Folder, *, is_final: bool) -> Published:
    """Join the records, analyse them, write cells.csv and the report, and seal the folder.

    What is not final stays open: runs that failed can be made again. The caller holds the folder.
    Raises StudyError when it cannot be written; calling again after
    that completes it.
    """
    from netstudy.store import storage

    with storage(folder.path):
        folder.write_records()
        return publish(folder, seals=is_final)


def publish(folder: Folder, *, seals: bool = True) -> Published:
    """Analyse the folder's records, write what is made from them, and seal it (again)."""
    from netstudy.analysis.study_result import analyse
    from netstudy.report import write_report
    from netstudy.report.export import to_csv
    from netstudy.store import write_atomic
    from netstudy.store.environment import utc_now

    result = analyse(folder)
    cells = folder.path / CELLS
    write_atomic(cells, to_csv(result.cells).encode())
    report = write_report(folder, result)
    if seals:
        folder.seal(utc_now())
    return Published(result, report, cells)


def published(folder: Folder) -> Published:
    """What came of a folder that is done already; nothing is written."""
    from netstudy.analysis.study_result import analyse
    from netstudy.report import ReportFiles

    figures = tuple(sorted((folder.path / "figures").glob("*.svg")))
    files = ReportFiles(folder.path / "report.html", folder.path / "report.md", figures)
    return Published(analyse(folder), files, folder.path / CELLS)
