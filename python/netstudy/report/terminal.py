"""The summary at the end of a run, as text: the tables in the published layout, and the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from netstudy.report.asked_tables import asked_tables
from netstudy.report.plaintext import text_table
from netstudy.report.prose.summary import summary
from netstudy.report.prose.warn import warnings
from netstudy.report.prose.words import in_panel
from netstudy.report.reference_tables import agreement_table, ratios_table
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.requirement_table import requirements_table
from netstudy.report.tables import Table, results_table

if TYPE_CHECKING:
    from rich.console import Console

    from netstudy.analysis.layout import Panel
    from netstudy.analysis.reference import PanelReference
    from netstudy.analysis.study_result import StudyResult

WIDTH = 100
"""Maximum width, so that output fits a usual terminal and a mail."""


def print_summary(result: StudyResult, console: Console) -> None:
    """Prints one table for each panel, the verdict in sentences, and the warnings."""
    for case in result.cases:
        own = asked_tables(result, case, "results")
        for table in own:
            print_table(console, table)
        for found in case.panels:
            if not own:
                title = f"Test case {case.name}" if len(result.cases) > 1 else result.study
                caption = say("{title}{held}", title=Name(title), held=in_panel(found.panel))
                print_table(
                    console, results_table(found.panel, result.headline, "results", caption)
                )
            if found.reference is not None:
                _print_agreement(console, found.panel, found.reference)
    if result.requirements:
        print_table(console, requirements_table(result.requirements))
    for point in summary(result):
        _wrapped(console, f"{point.lead}: ", " ".join(map(str, point.sentences)))
    found_warnings = warnings(result)
    if found_warnings:
        _print(console, "\nCaveats:", style="bold yellow")
    for sentence in found_warnings:
        _wrapped(console, "! ", str(sentence))


def _print_agreement(console: Console, panel: Panel, reference: PanelReference) -> None:
    """Agreement with the published values; the report has it row by row."""
    tables = [agreement_table(panel, reference, "agreement")]
    tables += [ratios_table(reference, "ratios")] if reference.ratios else []
    for table in tables:
        print_table(console, table)


def print_table(console: Console, table: Table) -> None:
    """A caption and a table under it."""
    _print(console, str(table.caption), style="bold")
    notes = "".join(f"\n{note}" for note in table.notes)
    _print(console, f"{text_table(table, WIDTH)}{notes}\n")


def print_sentences(console: Console, sentences: Iterable[Sentence]) -> None:
    """One paragraph for each sentence."""
    for sentence in sentences:
        _wrapped(console, "", str(sentence))


def _wrapped(console: Console, lead: str, text: str) -> None:
    """A paragraph within the width, with its later lines indented."""
    plain = f"{lead}{text}".replace("\u00a0", " ")
    _print(console, textwrap.fill(plain, WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def _print(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
