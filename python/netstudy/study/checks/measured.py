"""Checks of the files of runs that were measured elsewhere: names in braces, and levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, Problem
from netstudy.study.measured import MEASURED, OF_THE_RUN, PLACEHOLDER, MeasuredRuns
from netstudy.study.model import Study
from netstudy.wire import Level


def measured_problems(study: Study) -> Iterator[Problem]:
    """Problems of the part `measured`; none if the study has no such part."""
    runs = study.file.measured
    if runs is None:
        return
    for index, number, pattern, at in runs.patterns:
        yield from _pattern_problems(study, ("files", index), number, pattern, at)
    for host, patterns in runs.hosts.items():
        for number, text in enumerate(patterns):
            known = [*OF_THE_RUN, *sorted(runs.names)]
            for name in PLACEHOLDER.findall(text):
                if name not in known:
                    message = f'no name "{{{name}}}" in files{did_you_mean(name, known)}'
                    yield study.document.problem((MEASURED, "hosts", host, number), message)
    yield from _block_problems(study, runs)


def _pattern_problems(
    study: Study, place: Path, number: int, pattern: str, at: Mapping[str, Level]
) -> Iterator[Problem]:
    problem, names = study.document.problem, PLACEHOLDER.findall(pattern)
    here = (MEASURED, *place, "files", number)
    for name in at:
        if name not in study.factors:
            message = f'no factor "{name}"{did_you_mean(name, study.factors)}'
            yield problem((MEASURED, *place, "at", name), message, of_key=True)
        elif name in names:
            yield problem(here, f"gives {name} in the pattern and under at; keep one of the two")
    for name, factor in study.factors.items():
        if name not in names and name not in at and len(factor.levels) > 1:
            yield problem(
                here,
                f"does not say at which level of {name} a file was measured; write {{{name}}} in "
                "the pattern, or the level under at",
            )


def _block_problems(study: Study, runs: MeasuredRuns) -> Iterator[Problem]:
    if runs.block is not None and runs.block not in runs.names:
        hint = did_you_mean(runs.block, runs.names)
        message = f'no name "{{{runs.block}}}" in files{hint}'
        yield study.document.problem((MEASURED, "block"), message)
