"""Laws through points: the parameters that made them come out, with intervals that hold them."""

from __future__ import annotations

import numpy as np
import pytest

from netstudy.analysis.fits import LAWS, Fitted, fit

SIZES = [1e6, 3e6, 1e7, 1e8, 1e9]


def parameters(found: Fitted | None) -> dict[str, float]:
    assert found is not None
    return {one.name: one.value for one in found.parameters}


@pytest.mark.parametrize(
    ("law", "planted", "x"),
    [
        ("linear", (5.0, 2.0), [1, 2, 4, 8]),
        ("amdahl", (100.0, 0.1), [1, 2, 4, 8]),
        ("usl", (100.0, 0.05, 0.002), [1, 2, 4, 8, 16]),
        ("latency + size/bandwidth", (0.002, 8e-9), SIZES),
    ],
)
def test_planted_parameters_come_out(law: str, planted: tuple[float, ...], x: list[float]) -> None:
    at = np.array(x, dtype=float)
    found = fit(law, x, list(LAWS[law].of(at, *planted)))
    assert list(parameters(found).values()) == pytest.approx(planted, rel=1e-3)


def test_the_interval_of_a_slope_is_the_textbook_one() -> None:
    """Worked by hand: x 1..5, y 2, 4, 5, 4, 5: slope 0.6, standard error sqrt(0.8 / 10), t(3)."""
    found = fit("linear", [1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
    assert found is not None
    slope = found.parameters[1]
    assert slope.value == pytest.approx(0.6)
    assert slope.interval is not None
    assert slope.interval.high - slope.value == pytest.approx(3.182446 * (0.8 / 10) ** 0.5, 1e-4)


def test_the_band_is_narrowest_in_the_middle_of_the_points() -> None:
    found = fit("linear", [1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    width = found.high - found.low
    assert int(np.argmin(width)) in range(25, 35)


def test_growth_beyond_proportion_is_not_what_the_law_of_contention_describes() -> None:
    """The law has it only with a contention below zero, its whole interval."""
    x = [1, 2, 4, 8, 16, 24]
    beyond = fit("usl", x, [100 * n**1.3 for n in x])
    followed = fit("usl", x, [100 * n / (1 + 0.05 * (n - 1)) for n in x])
    assert beyond is not None
    assert followed is not None
    assert (beyond.meaningless, followed.meaningless) == (("contention",), ())


def test_small_and_large_sizes_count_alike() -> None:
    """One value off by a fifth moves latency, not bandwidth: errors are shares of the value."""
    times = [0.002 + 8e-9 * size for size in SIZES]
    found = parameters(fit("latency + size/bandwidth", SIZES, [times[0] * 1.2, *times[1:]]))
    assert found["time a byte"] == pytest.approx(8e-9, rel=0.05)


def test_a_size_of_nothing_is_a_point_like_others() -> None:
    sizes = [0, *SIZES]
    found = fit("latency + size/bandwidth", sizes, [0.002 + 8e-9 * size for size in sizes])
    assert found is not None
    assert parameters(found)["time a byte"] == pytest.approx(8e-9)


def test_as_many_points_as_parameters_have_no_interval_and_fewer_no_fit() -> None:
    exact = fit("linear", [1, 2], [1, 3])
    assert exact is not None
    assert all(one.interval is None for one in exact.parameters)
    assert exact.low is None
    assert fit("usl", [1, 2], [1, 2]) is None
    assert fit("latency + size/bandwidth", [1, 2, 3], [1, 0, 2]) is None


@pytest.mark.parametrize("law", ["amdahl", "usl"])
def test_a_law_of_growth_goes_by_the_first_number_above_zero(law: str) -> None:
    planted = {"amdahl": (100.0, 0.1), "usl": (100.0, 0.05, 0.002)}[law]
    n = np.array([0, 1, 2, 4, 8, 16], dtype=float)
    found = fit(law, list(n), list(LAWS[law].of(n, *planted)))
    assert list(parameters(found).values()) == pytest.approx(planted, rel=1e-3)


@pytest.mark.parametrize("law", LAWS)
def test_values_that_are_all_zero_determine_no_law(law: str) -> None:
    assert fit(law, [1, 2, 4, 8], [0.0] * 4) is None
