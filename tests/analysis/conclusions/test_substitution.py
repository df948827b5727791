"""Whether a replaced part limits throughput, from records with a planted answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.conclusions.substitution import Replaced, Substituted, share_of_time
from netstudy.wire import Run
from tests.report.loaded import Load, concluding, told

SINK = "[{substitution: sink, base: 'null'}]"


def replaced(
    folder: Path, gain: float, cpu_before: float = 0.3, cpu_after: float = 0.3
) -> tuple[Replaced, list[str]]:
    """The findings on disk in place of null, with a gain of throughput and the server's CPU."""

    def loads(run: Run) -> Load:
        rate = 100.0 * (1 + 0.0001 * run.replicate)
        if run.treatment["sink"] == "null":
            return Load(rate, server_cpu=cpu_before)
        return Load(rate * gain, server_cpu=cpu_after)

    result = concluding(folder, SINK, loads, clients="[1]")
    (found,) = result.concluded
    assert isinstance(found.drawn, Substituted)
    (one,) = found.drawn.replaced
    return one, told(result)


@pytest.mark.parametrize(
    ("gain", "cpu_before", "cpu_after", "limits"),
    [
        (1.026, 0.3, 0.3, False),  # a small gain, and nothing is full
        (1.068, 0.88, 0.94, False),  # something else is full with the replacement
        (1.068, 0.95, 0.97, False),  # something else is full with both
        (3.0, 0.95, 0.97, False),
        (1.2, 0.97, 0.5, True),  # what was full has spare capacity
        (1.2, 0.3, 0.3, False),  # a sixth of the time of a unit of work
        (2.5, 0.3, 0.3, True),  # three fifths of it
    ],
)
def test_a_part_limits_if_it_was_full_or_took_most_of_the_time(
    gain: float, cpu_before: float, cpu_after: float, limits: bool, tmp_path: Path
) -> None:
    one, sentences = replaced(tmp_path, gain, cpu_before, cpu_after)
    assert bool(one.limited) is limits
    assert one.claim is not None
    assert one.claim.kind == ("limits" if limits else "different")
    assert any(" limits " in sentence for sentence in sentences) is limits


def test_no_gain_claims_that_the_levels_are_equal(tmp_path: Path) -> None:
    one, _ = replaced(tmp_path, 1.0)
    assert one.claim is not None
    assert (one.claim.kind, one.limited) == ("equal", ())


@pytest.mark.parametrize(
    ("gain", "factor", "share"),
    [
        (1.068, 10.0, 0.0707),  # 1 - 1/1.068 = 0.0637 of 0.9
        (10.0, 10.0, 1.0),
        (1.5, 2.0, 0.6667),
        (1.026, None, 0.0253),
        (1.5, 1.1, 0.3333),  # more than the factor by itself can give
    ],
)
def test_the_share_of_time_follows_from_the_gain(
    gain: float, factor: float | None, share: float
) -> None:
    assert share_of_time(gain, factor) == pytest.approx(share, abs=1e-4)
