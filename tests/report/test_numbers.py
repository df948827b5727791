"""Numbers as text: decimals with which values that differ differ in print, levels with nouns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netstudy.report.numbers import (
    NO_BREAK,
    counted,
    headed_level,
    interval_of,
    measured,
    scale_of,
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


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "half", "text"),
    [
        (733_478.9, "µs", 1, 12_000.0, "733 ms"),  # one digit beyond the first of the margin
        (46_012.3, "µs", 1, 900.0, "46.01 ms"),
        (0.73, "s", 2, 0.0, "0.73 s"),
        (733_478.9, "µs", 1, 0.0, "733.48 ms"),  # five digits where nothing is known of the error
        (5_248.8516044928, "ms", 10, 322.4, "5.25 s"),
        (94.0553, "Mbit/s", 4, 0.0003, "94.055 Mbit/s"),
        (0.02, "Mbit/s", 2, 0.0, "20 kbit/s"),
        (9_414.2, "Mbit/s", 1, 0.0, "9,414.2 Mbit/s"),
        (94_142.0, "Mbit/s", 1, 0.0, "94.142 Gbit/s"),
        (1_460.0, "B", 0, 0.0, "1,460 B"),
        (3_000.0, "ms", 0, 0.0, "3 s"),  # a whole number has no digits behind the point
        (1_234_567.0, "", 0, 0.0, "1,234,567"),  # a count
        (1_234_567.0, "", 0, 800.0, "1,234,600"),  # a mean of counts: five digits
        (64.0, "%", 1, 22.0, "64 %"),
        (5.0, "ms", 1, 300.0, "5 ms"),
    ],
)
def test_a_quantity_is_in_the_unit_and_has_the_digits_that_people_read(
    value: float, unit: str, decimals: int, half: float, text: str
) -> None:
    assert measured(value, decimals, half).in_unit(unit).replace(NO_BREAK, " ") == text


@pytest.mark.parametrize(
    ("unit", "values", "scale"),
    [
        ("µs", [46.0, 733_478.0], ("ms", 3)),
        ("ms", [3.1, 5_249.0], ("ms", 0)),  # beside 0.0031 s nobody reads 5.249 s
        ("ms", [3_100.0, 5_249.0], ("s", 3)),
        ("ms", [0.002, 0.05, 0.0], ("µs", -3)),
        ("Mbit/s", [941.0, 9_414.0], ("Mbit/s", 0)),
        ("Mbit/s", [40_000.0], ("Gbit/s", 3)),
        ("s", [7_200.0], ("s", 0)),
        ("%", [123_456.0], ("%", 0)),
        ("ms", [], ("ms", 0)),
    ],
)
def test_values_of_a_column_share_the_unit_in_which_all_are_read(
    unit: str, values: list[float], scale: tuple[str, int]
) -> None:
    found = scale_of(unit, values)
    assert (found.unit, found.power) == scale


@pytest.mark.parametrize(
    ("value", "decimals", "half", "text"),
    [
        (25.512, 3, 1.234, "25.5 ± 1.2"),
        (25.5, 1, 0.034, "25.50 ± 0.03"),
        (5_248.85, 2, 322.4, "5,250 ± 320"),
        (94.0553, 4, 0.0003, "94.055 ± 0.001"),  # never ± 0, never less than it may be
        (0.00021, 1, 0.00003, "0.00021 ± 0.00003"),
    ],
)
def test_a_value_and_its_margin_have_the_digits_that_the_margin_leaves(
    value: float, decimals: int, half: float, text: str
) -> None:
    assert str(replace(measured(value, decimals, half, refines=True), half=half)) == text


def test_an_interval_without_a_width_is_none() -> None:
    assert interval_of(3.0, 3.0, 1) is None
    assert interval_of(3.0, 3.0 + 1e-15, 1) is None
    assert interval_of(3.0, 3.04, 1) is None
    assert str(interval_of(3.0, 3.04, 2)) == "3.00 to 3.04"
    assert str(interval_of(0.9812, 1.3121, 3)) == "0.98 to 1.31"
