"""Studies of incast whose times are planted, and what their reports say of them.

Each run has one mean time, which follows from its levels; replicates differ by about 1 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.answer import Answer, answer
from netstudy.report.refs import Name, Number, Sentence
from netstudy.wire import Run, RunRecord
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples

Mean = Callable[..., float]

RTO_STUDY = """
factors:
  min_rto: [1 ms, 200 ms]
  buffer: [128 kB, 512 kB, 2 MB]
  servers: [4, 8, 16]
replicates: 5
noise: 5 %
"""
RTO = (
    study_text(RTO_STUDY, servers='"${servers}"')
    .replace("switch: nexus-5010", 'switch: {profile: generic-shallow, port_buffer: "${buffer}"}')
    .replace('count: "${servers}"', 'count: "${servers}", tcp: {min_rto: "${min_rto}"}')
)


def rto_time(min_rto: str, buffer: str, servers: int) -> float:
    """2 MB drop nothing; at 512 kB a low RTO helps up to 8 servers and harms 16."""
    work = 10.0 * servers
    if buffer == "2 MB":
        return work
    if min_rto == "1 ms":
        return work * 2
    if buffer == "512 kB" and servers == 16:
        return work * 1.6
    return work * 6


def with_control(text: str) -> str:
    """A study whose servers use the congestion control of the factor `control`."""
    return text.replace(
        'count: "${servers}"', 'count: "${servers}", tcp: {congestion_control: "${control}"}'
    )


def records(mean: Mean) -> Callable[[Run], RunRecord]:
    """Runs of iterations that take a mean time in ms by the levels."""

    def made(planned: Run) -> RunRecord:
        n = planned.count("measure")
        rng = np.random.default_rng(crc32(planned.id.encode()))
        times = np.full(n, mean(**planned.treatment) * (1 + 0.01 * rng.standard_normal()))
        zeros = np.zeros(n, dtype=int)
        return from_samples(planned, times, zeros, zeros, zeros)

    return made


def result_of(folder: Path, text: str, mean: Mean) -> StudyResult:
    """The results of a study with planted times."""
    return analyse(from_text(folder, text, records(mean)))


def answered(folder: Path, text: str, mean: Mean) -> Answer:
    """The answer to a study with planted times."""
    return answer(result_of(folder, text, mean))


def numbers(sentences: Iterable[Sentence]) -> list[Number]:
    """All numbers of some sentences, in their order."""
    return [number for sentence in sentences for number in sentence.numbers()]


def has(sentences: Iterable[Sentence], value: float, within: float = 0.03) -> bool:
    """Whether the sentences have this number, except for a share of it."""
    return any(abs(one.value - value) <= within * abs(value) for one in numbers(sentences))


def names(sentence: Sentence) -> Iterator[str]:
    """The names of a sentence, in their order, with plain blanks."""
    for part in sentence.parts:
        if isinstance(part, Name):
            yield part.text.replace("\u00a0", " ")
        elif isinstance(part, Sentence):
            yield from names(part)


def named(sentences: Iterable[Sentence], levels: Sequence[str]) -> list[str]:
    """The levels that the names of some sentences contain, in the order of these names. The first
    word of a sentence has a capital letter."""
    each = [name for sentence in sentences for name in names(sentence)]
    capital = {level: f"{level[:1].upper()}{level[1:]}" for level in levels}
    return [level for name in each for level in capital if level in name or capital[level] in name]
