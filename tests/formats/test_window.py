"""Readings of a host, cut to the window of a measurement."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netstudy.formats.measured import HostReadings, Series
from netstudy.formats.window import Cut, cut, cut_readings

T0 = 1_764_000_000.0
"""An instant of 2025."""


def series(
    *values: float, start: float = T0, every: float = 1.0, part: str = "", name: str = "cpu_pct"
) -> Series:
    """Consecutive intervals with these values."""
    edges = np.array([start + every * index for index in range(len(values) + 1)])
    return Series(part, edges[:-1], edges[1:], {name: np.array(values)})


def test_the_mean_is_over_the_intervals_within_the_window() -> None:
    found = cut(series(100, 10, 20, 30, 100), (T0 + 1, T0 + 4))
    assert found.values == {"cpu_pct": 20.0}
    assert found.covered == {"cpu_pct": 1.0}
    assert found.notes == ()


def test_an_interval_counts_by_the_time_that_it_shares_with_the_window() -> None:
    """Half a second of 10 and one second of 40: (5 + 40) / 1.5."""
    found = cut(series(10, 40), (T0 + 0.5, T0 + 2))
    assert found.values["cpu_pct"] == pytest.approx(30)


def test_the_intervals_are_given_since_the_start_of_the_window() -> None:
    inside = cut(series(1, 2, 3, 4), (T0 + 0.5, T0 + 2.25)).series
    assert inside.starts_s.tolist() == [0, 0.5, 1.5]
    assert inside.ends_s.tolist() == [0.5, 1.5, 1.75]
    assert inside.values["cpu_pct"].tolist() == [1, 2, 3]


def test_a_tenth_of_the_window_may_be_uncovered_but_not_more() -> None:
    nine = series(*[50] * 9)
    assert cut(nine, (T0, T0 + 10)).values == {"cpu_pct": 50.0}
    assert cut(nine, (T0, T0 + 9.99)).covered["cpu_pct"] == pytest.approx(9 / 9.99)
    short = cut(nine, (T0, T0 + 10.1))
    assert short.values == {}
    assert short.notes == (
        "cpu_pct: the readings cover 89 % of the window, less than 90 %, so that the value is "
        "missing.",
    )


def test_a_gap_such_as_a_restart_is_not_filled() -> None:
    first, second = series(10, 10), series(90, 90, start=T0 + 8)
    split = Series(
        "",
        np.concatenate([first.starts_s, second.starts_s]),
        np.concatenate([first.ends_s, second.ends_s]),
        {"cpu_pct": np.concatenate([first.values["cpu_pct"], second.values["cpu_pct"]])},
    )
    found = cut(split, (T0, T0 + 10))
    assert found.values == {}
    assert found.covered == {"cpu_pct": 0.4}


def test_each_quantity_has_its_own_coverage() -> None:
    both = Series(
        "eth0",
        T0 + np.arange(4.0),
        T0 + np.arange(1.0, 5.0),
        {"send_mbps": np.array([1.0, 2, 3, 4]), "rxdrop_per_s": np.array([0, math.nan, 0, 0])},
    )
    found = cut(both, (T0, T0 + 4))
    assert found.values == {"send_mbps": 2.5}
    assert found.covered == {"send_mbps": 1.0, "rxdrop_per_s": 0.75}
    assert found.notes[0].startswith("eth0: rxdrop_per_s: the readings cover 75 %")


def test_a_single_long_interval_covers_a_short_window() -> None:
    assert cut(series(7, every=600), (T0 + 100, T0 + 110)).values == {"cpu_pct": 7.0}


@pytest.mark.parametrize(
    ("shift_s", "says"),
    [
        pytest.param(-30, "end 20.0 s before the window begins", id="before"),
        pytest.param(30, "begin 20.0 s after the window ends", id="after"),
        pytest.param(3600, "by -1 h they would match: a time zone?", id="an hour late"),
        pytest.param(-19800, "by +5.5 h they would match: a time zone?", id="India"),
    ],
)
def test_readings_of_another_time_say_how_far_they_are_off(shift_s: float, says: str) -> None:
    found = cut(series(*[50] * 10, start=T0 + shift_s), (T0, T0 + 10))
    assert found.values == {}
    assert found.covered == {"cpu_pct": 0.0}
    assert len(found.notes) == 1
    assert says in found.notes[0]


def test_readings_that_are_a_day_old_match_no_time_zone() -> None:
    (note,) = cut(series(*[50] * 10, start=T0 - 86_400), (T0, T0 + 10)).notes
    assert "time zone" not in note


def test_a_series_without_intervals_has_no_value() -> None:
    found = cut(series(), (T0, T0 + 10))
    assert found.values == {}
    assert found.notes == ("there are no readings.",)


@pytest.mark.parametrize("end", [T0, T0 - 1])
def test_a_window_without_a_length_is_a_mistake_of_the_caller(end: float) -> None:
    with pytest.raises(ValueError, match="no length"):
        cut(series(1), (T0, end))


def busiest(cuts: tuple[Cut, ...]) -> float | None:
    return next(found for found in cuts if not found.part).values.get("busiest_cpu_pct")


def test_the_busiest_cpu_is_the_one_that_was_busy_for_longest_in_the_window() -> None:
    """The work moves from one CPU to the other: each was busy for half of the time."""
    readings = HostReadings(
        "sadf",
        series=(
            series(100, 100, name="busiest_cpu_pct"),
            series(100, 0, part="cpu0"),
            series(0, 100, part="cpu1"),
        ),
    )
    assert busiest(cut_readings(readings, (T0, T0 + 2))) == 50


def test_the_busiest_cpu_is_unknown_if_a_cpu_has_no_value() -> None:
    readings = HostReadings(
        "sadf",
        series=(
            series(90, 90, name="busiest_cpu_pct"),
            series(90, 90, part="cpu0"),
            series(10, part="cpu1"),
        ),
    )
    cuts = cut_readings(readings, (T0, T0 + 2))
    assert busiest(cuts) is None
    assert "1 of 2 CPUs have no value" in cuts[0].notes[-1]


def test_without_single_cpus_the_host_keeps_its_own_series() -> None:
    readings = HostReadings("other", series=(series(70, 80, name="busiest_cpu_pct"),))
    assert busiest(cut_readings(readings, (T0, T0 + 2))) == 75


@pytest.mark.parametrize("seed", range(10))
def test_means_agree_with_a_sum_over_milliseconds(seed: int) -> None:
    """The slow twin: the value at each of many instants of the window."""
    chance = np.random.default_rng(seed)
    edges = np.concatenate([[0.0], np.cumsum(chance.uniform(0.2, 2, 30))])
    values = chance.uniform(0, 100, 30)
    start, end = sorted(chance.uniform(0, edges[-1], 2))
    end = min(start + 2, end) if end - start < 2 else end
    found = cut(Series("", edges[:-1], edges[1:], {"x": values}), (start, end))
    instants = np.linspace(start, end, 200_001)
    at_instants = values[np.clip(np.searchsorted(edges, instants, "right") - 1, 0, 29)]
    assert found.values["x"] == pytest.approx(at_instants.mean(), abs=0.01)
