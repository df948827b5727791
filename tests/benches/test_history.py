"""`make bench` tells a slower commit from a faster one, on the same processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.bench.history import Measurement, append, compare, read


def measured(rate: float, *, memory: int = 100, cpu: str = "one") -> Measurement:
    return Measurement(
        commit="abc1234",
        date="2026-01-02T03:04:05+00:00",
        cpu=cpu,
        packets_per_s={"star": rate},
        two_threads_ratio=2.0,
        rss_bytes_max={"23 flows": memory},
        cost_ratio={"1000 flows": 2.0},
    )


def test_what_is_appended_is_read_again_in_order(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    append(file, measured(1.0))
    append(file, measured(2.0))

    assert read(file) == [measured(1.0), measured(2.0)]
    assert len(file.read_text().splitlines()) == 2


def test_no_file_is_no_history(tmp_path: Path) -> None:
    assert read(tmp_path / "none.jsonl") == []


def test_a_rate_is_held_against_the_last_and_the_best() -> None:
    rate = compare(measured(90.0), [measured(120.0), measured(100.0)])[0]

    assert (rate.name, rate.now) == ("star", 90.0)
    assert rate.last_pct == pytest.approx(-10.0)
    assert rate.best_pct == pytest.approx(-25.0)


def test_more_memory_is_worse() -> None:
    row = next(
        row
        for row in compare(measured(1.0, memory=150), [measured(1.0, memory=100)])
        if row.name == "memory, 23 flows"
    )

    assert row.last_pct == pytest.approx(-50.0)
    assert row.is_slower


@pytest.mark.parametrize(("rate", "warned"), [(89.0, True), (91.0, False), (200.0, False)])
def test_only_what_noise_does_not_explain_is_warned_about(rate: float, warned: bool) -> None:
    assert compare(measured(rate), [measured(100.0)])[0].is_slower is warned


def test_another_processor_is_not_compared_with() -> None:
    rate = compare(measured(1.0), [measured(100.0, cpu="other")])[0]

    assert (rate.last_pct, rate.best_pct, rate.is_slower) == (None, None, False)
