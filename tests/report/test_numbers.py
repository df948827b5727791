"""Numbers as text: decimals with which values that differ differ in print, levels with nouns."""

from __future__ import annotations

import pytest

from netstudy.report.numbers import (
    NO_BREAK,
    counted,
    headed_level,
    small_decimals,
    telling_decimals,
    with_unit,
)


def about(value: float, half: float) -> tuple[float, float, float]:
    return value, value - half, value + half


@pytest.mark.parametrize(
    ("spans", "decimals"),
    [
        ([about(0.21, 0.01), about(0.24, 0.01)], 2),  # not 0.2 and 0.2
        ([about(0.21, 0.05), about(0.24, 0.05)], 1),  # no difference beyond the noise
        ([about(0.2104, 0.0001), about(0.2109, 0.0001), about(7.0, 0.1)], 3),
        ([about(200.0, 1.0), about(300.0, 1.0)], 1),
        ([about(0.2, 0.0), about(0.2, 0.0)], 1),
        ([], 1),
    ],
)
def test_decimals_tell_apart_what_differs_beyond_its_noise(
    spans: list[tuple[float, float, float]], decimals: int
) -> None:
    assert telling_decimals(spans, 1) == decimals


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([0.271, 0.268], 2),
        ([0.0271, 0.5], 3),
        ([0.00003, 0.5], 4),
        ([0.271, 2.1, 0.0], 2),
        ([0.004, 3_000.0], 2),
        ([1.0, 12.5], 1),
        ([0.999], 1),  # 1.0
        ([], 1),
    ],
)
def test_the_smallest_value_below_one_has_two_digits(values: list[float], decimals: int) -> None:
    assert small_decimals(values, 1) == decimals


def test_no_column_has_more_than_six_decimals() -> None:
    assert telling_decimals([about(1e-9, 0.0), about(2e-9, 0.0)], 1) == 6


@pytest.mark.parametrize(
    ("factor", "text", "said"),
    [
        ("servers", "1", "1 server"),
        ("servers", "23", "23 servers"),
        ("cpus", "1", "1 cpu"),
        ("switches", "1", "1 switch"),
        ("classes", "1", "1 class"),
        ("class", "1", "class 1"),
        ("loss", "3", "loss 3"),
        ("bus", "2", "bus 2"),
        ("qos", "1", "qos 1"),
        ("rate", "600", "rate 600"),
    ],
)
def test_only_a_plural_counts_things(factor: str, text: str, said: str) -> None:
    assert counted(factor, text).replace("\u00a0", " ") == said


def test_above_a_column_a_number_and_its_unit_stay_together() -> None:
    assert headed_level("min_rto", "200 ms").split(" ") == ["min_rto", f"200{NO_BREAK}ms"]
    assert headed_level("servers", 4).split(" ") == ["4", "servers"]


def test_a_rate_in_a_sentence_is_a_second() -> None:
    assert with_unit("382.1", "1/s") == "382.1\u00a0a\u00a0second"
    assert with_unit("382.1", "Mbit/s") == "382.1\u00a0Mbit/s"
