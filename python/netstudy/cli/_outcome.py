"""The end of `netstudy run`: prints the answer, for people or as JSON, and picks the exit code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from netstudy.cli._terminal import continue_with, output, print_json, say, show
from netstudy.errors import MISSED, TestbedError
from netstudy.report.answer import Answer, answer
from netstudy.report.expectation_table import expectations_as_data
from netstudy.report.export import requirements_as_data
from netstudy.report.terminal import print_summary

if TYPE_CHECKING:
    from netstudy.cli.report import Published
    from netstudy.store import Folder
    from netstudy.store.records import Status


def end(folder: Folder, published: Published, *, json: bool, is_quiet: bool) -> int:
    """Prints the answer, the tables and the path of the report, and returns the exit code."""
    statuses = folder.statuses()
    if json:
        print_json(_as_json(folder, published, statuses))
    elif is_quiet:
        show(folder.path)
    else:
        print_summary(published.result, output())
        show(f"report: {published.report.html}")
    if statuses["failed"] and not folder.is_done():
        failed = "1 run" if statuses["failed"] == 1 else f"{statuses['failed']} runs"
        say(f"netstudy: {failed} failed; repeat with: {continue_with(folder)}")
    disturbed = sum(one.kind == "limited" for _, one in published.result.cells.problems)
    if disturbed:
        runs = "1 run was" if disturbed == 1 else f"{disturbed} runs were"
        say(f"netstudy: {runs} disturbed; repeat with: {continue_with(folder)}")
    if not set(statuses) <= {"ok"}:
        return TestbedError.exit_code
    return MISSED if published.result.missed else 0


def _as_json(folder: Folder, published: Published, statuses: Counter[Status]) -> dict[str, Any]:
    return {
        "study": published.result.study,
        "folder": str(folder.path),
        "runs": {status: statuses[status] for status in ("ok", "failed", "invalid")},
        "report": {"html": str(published.report.html), "markdown": str(published.report.md)},
        "cells": str(published.cells),
        "requirements": requirements_as_data(published.result.requirements),
        "expectations": expectations_as_data(published.result.expectations),
        "answer": _answer_as_data(answer(published.result)),
    }


def _answer_as_data(found: Answer) -> dict[str, Any]:
    return {
        "sentences": [str(sentence) for sentence in found.sentences],
        "further": [str(sentence) for sentence in found.further],
        "caveats": [str(sentence) for sentence in found.forbidding],
        "next": None if found.next is None else str(found.next),
    }
