"""From findings to pages: HTML and Markdown, figures, the terminal's summary, exports.

Reads a results folder and what analysis found in it, never a testbed. Nothing is imported before
it is needed: figures cost a second to load.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netstudy.analysis.study_result import StudyResult
    from netstudy.store import Folder


@dataclass(frozen=True)
class ReportFiles:
    """Where the report was written."""

    html: Path
    md: Path
    figures: tuple[Path, ...]


def write_report(folder: Folder, result: StudyResult, into: Path | None = None) -> ReportFiles:
    """Write report.html, report.md and figures/*.svg into the folder, or into another one.

    The same folder gives the same bytes. Raises OSError when a file cannot be written.
    """
    from netstudy.report.write import write

    return ReportFiles(*write(folder, result, into or folder.path))
