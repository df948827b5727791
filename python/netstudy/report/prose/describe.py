"""What a test case does: its factors, its runs, its workload, and what the compared cells share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netstudy.analysis.cells import CellRow, is_numeric
from netstudy.analysis.layout import Panel
from netstudy.analysis.study_result import CaseResult, Comparing
from netstudy.report.cellrefs import count, level_name
from netstudy.report.numbers import level_text, listed, spans
from netstudy.report.prose.words import things
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.units import format_size
from netstudy.wire import Level, Run


def case_description(case: CaseResult, comparing: Comparing | None) -> list[Sentence]:
    """The paragraph that opens a test case."""
    cells = [cell for panel in case.panels for cell in panel.panel.cells.values()]
    sentences = [say("{text}", text=Name(case.description))] if case.description else []
    return [*sentences, _varies(case, cells), _workload(cells), *_differences(case, comparing)]


def _varies(case: CaseResult, cells: Sequence[CellRow]) -> Sentence:
    factors = [_factor(name, levels) for name, levels in case.layout.factors.items()]
    number = count(len(cells), "cells of the test case")
    runs = _range([len(cell.planned) for cell in cells], "planned runs a cell")
    if not factors:
        return say("It has one cell with {runs}.", runs=things(runs, "run"))
    return say(
        "It varies {factors}: {cells} with {runs} in each.",
        factors=join(factors),
        cells=things(number, "cell"),
        runs=things(runs, "run"),
    )


def _factor(name: str, levels: Sequence[Level]) -> Sentence:
    whole = is_numeric(levels) and list(levels) == list(range(int(levels[0]), int(levels[-1]) + 1))
    texts = spans(levels, levels) if whole else [level_text(level) for level in levels]
    return say("{name} ({levels})", name=Name(name), levels=Name(listed(texts)))


def _range(values: Sequence[int], source: str) -> Number:
    """One value, or the lowest and the highest."""
    low, high = min(values), max(values)
    text = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return Number(high, text, source)


def _workload(cells: Sequence[CellRow]) -> Sentence:
    runs = [cell.planned[0] for cell in cells]
    works = [run.workload for run in runs]
    refs: dict[str, Number | Name | Sentence] = {
        "iterations": _range([w.iterations for w in works], "workload.iterations of the plan"),
        "warmup": _range([w.warmup_iterations for w in works], "workload.warmup of the plan"),
        "servers": things(_range([_servers(run) for run in runs], "servers of the plan"), "server"),
        "block": Name(listed(sorted({format_size(w.block_bytes) for w in works}))),
    }
    striped = {w.striped for w in works}
    if striped == {True}:
        return say(
            "A run measures {iterations} iterations after {warmup} of warm-up: one client asks "
            "{servers} at once for their shares of {block} and asks again when it has all of it.",
            **refs,
        )
    return say(
        "A run measures {iterations} iterations after {warmup} of warm-up: one client asks "
        "{servers} at once for {block} each and asks again when it has all of it.",
        **refs,
    )


def _servers(run: Run) -> int:
    return next(host.count for host in run.network.hosts if host.name == run.workload.servers)


def _differences(case: CaseResult, comparing: Comparing | None) -> Iterator[Sentence]:
    """In which figures of the configuration the compared cells differ."""
    if comparing is None or case.layout.series != comparing.factor:
        return
    paths = dict.fromkeys(
        path
        for panel in case.panels
        for pair in _pairs(panel.panel, comparing.base)
        for path in differing(*pair)
    )
    if not paths:
        return
    yield say(
        "The cells that are compared differ in {paths} and in nothing else; a difference is "
        "credited to the {factor} as a whole, not to one of these.",
        paths=join([Name(path, code=True) for path in paths]),
        factor=level_name(comparing.factor),
    )


def _pairs(panel: Panel, base: Level) -> Iterator[tuple[Run, Run]]:
    for (x, level), cell in panel.cells.items():
        other = panel.cell(x, base)
        if level != base and other is not None:
            yield cell.planned[0], other.planned[0]


def differing(a: Run, b: Run) -> list[str]:
    """Paths of the configuration at which two runs differ, shortest common part only."""
    return sorted(
        {
            *_paths(a.network.model_dump(mode="json"), b.network.model_dump(mode="json"), ""),
            *_paths(a.workload.model_dump(mode="json"), b.workload.model_dump(mode="json"), "load"),
        }
    )


def _paths(a: Any, b: Any, path: str) -> Iterator[str]:
    if isinstance(a, Mapping) and isinstance(b, Mapping) and a.keys() == b.keys():
        for key in a:
            yield from _paths(a[key], b[key], f"{path}.{key}" if path else str(key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for left, right in zip(a, b, strict=True):
            yield from _paths(left, right, path)
    elif a != b:
        yield path
