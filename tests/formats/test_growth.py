"""Growth of cumulative counters: wraps are undone, resets give no number."""

from __future__ import annotations

import random

import pytest

from netstudy.formats.growth import Growth, growth, growths, growths_within
from netstudy.formats.measured import Counters

HALF, FULL = 2**31, 2**32


def grown(before: dict[str, int], after: dict[str, int], zeros_left_out: bool = False) -> Growth:
    return growth(
        Counters("", 10.0, before, zeros_left_out), Counters("", 20.0, after, zeros_left_out)
    )


def test_growth_is_the_difference_of_each_counter() -> None:
    found = grown({"in": 10, "out": 7}, {"in": 25, "out": 7})
    assert found.values == {"in": 15, "out": 0}
    assert found.notes == ()


def test_a_counter_that_passes_its_largest_value_goes_on_from_zero() -> None:
    found = grown({"in": FULL - 100}, {"in": 50})
    assert found.values == {"in": 150}
    assert found.notes == ("in wrapped at 2^32: it grew by 150.",)


def test_a_counter_of_64_bits_wraps_at_its_own_range() -> None:
    found = grown({"in": 2**64 - 1}, {"in": 4})
    assert found.values == {"in": 5}
    assert "2^64" in found.notes[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(1_000, 999, id="far from the end of its range"),
        pytest.param(HALF - 1, 0, id="just below half the range"),
        pytest.param(3_000_000_000, 1_000_000_000, id="a wrap would be more than half the range"),
        pytest.param(5_000_000_000, 10, id="a counter of 64 bits cannot be near its end"),
        pytest.param(2**64, 0, id="wider than every counter"),
    ],
)
def test_a_reset_gives_no_growth_and_says_so(old: int, new: int) -> None:
    found = grown({"in": old}, {"in": new})
    assert found.values == {}
    assert found.notes[0].startswith("in fell: the counters were reset")


def test_one_reset_counter_makes_all_others_unknown() -> None:
    """After a restart `out` may have passed its old value: 5 would be too little."""
    found = grown({"in": 1_000, "out": 10}, {"in": 20, "out": 15})
    assert found.values == {}
    assert "growth is unknown" in found.notes[0]


def test_a_wrap_of_one_counter_leaves_the_others_known() -> None:
    assert grown({"in": FULL - 1, "out": 5}, {"in": 0, "out": 6}).values == {"in": 1, "out": 1}


def test_a_counter_that_was_left_out_as_zero_counts_from_zero() -> None:
    found = grown({"in": 5}, {"in": 6, "retransmitted": 3}, zeros_left_out=True)
    assert found.values == {"in": 1, "retransmitted": 3}


def test_a_counter_that_one_reading_lacks_is_missing_and_named() -> None:
    found = grown({"in": 5, "old": 1}, {"in": 6, "new": 3})
    assert found.values == {"in": 1}
    assert found.notes == ("Only one of the readings has new, old: left out.",)


def test_a_counter_that_fell_to_a_zero_that_is_left_out_was_reset() -> None:
    assert grown({"in": 5, "out": 2}, {"in": 6}, zeros_left_out=True).values == {}


def test_readings_in_the_wrong_order_give_nothing() -> None:
    found = growth(Counters("", 20.0, {"in": 1}), Counters("", 10.0, {"in": 2}))
    assert found.values == {}
    assert found.notes == ("The later reading is 10.000 s older: growth is unknown.",)


def test_readings_of_two_parts_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="two parts"):
        growth(Counters("eth0", None, {}), Counters("eth1", None, {}))


def test_parts_are_paired_by_name_from_the_first_to_the_last_reading() -> None:
    before = [Counters("eth0", 1.0, {"in": 1}), Counters("eth1", 1.0, {"in": 100})]
    after = [
        Counters("eth1", 2.0, {"in": 150}),
        Counters("eth0", 2.0, {"in": 5}),
        Counters("eth0", 3.0, {"in": 9}),
    ]

    assert [(found.part, dict(found.values)) for found in growths(before, after)] == [
        ("eth1", {"in": 50}),
        ("eth0", {"in": 8}),
    ]


def test_readings_of_one_file_are_before_and_after() -> None:
    """All readings of a file may be given as both."""
    readings = [Counters("", float(at), {"in": at * at}) for at in (1, 2, 3)]
    assert growths(readings, readings)[0].values == {"in": 8}


def test_a_reset_between_two_readings_is_found_although_the_last_value_is_the_largest() -> None:
    readings = [Counters("", None, {"in": value}) for value in (100, 150, 20, 170)]
    (found,) = growths(readings, readings)
    assert found.values == {}
    assert "in fell" in found.notes[0]


def test_a_counter_that_wraps_twice_is_right_if_there_are_readings_between() -> None:
    steps = range(0, 10_000_000_000, 3_000_000_000)
    readings = [Counters("", None, {"in": value % FULL}) for value in steps]
    assert growths(readings, readings)[0].values == {}  # each step is more than half the range
    steps = range(0, 10_000_000_000, 1_000_000_000)
    readings = [Counters("", None, {"in": value % FULL}) for value in steps]
    assert growths(readings, readings)[0].values == {"in": 9_000_000_000}


def test_one_reading_has_no_growth() -> None:
    readings = [Counters("", None, {"in": 1})]
    (found,) = growths(readings, readings)
    assert found.values == {}
    assert "There is one reading" in found.notes[0]


def test_a_level_among_the_values_of_a_driver_says_nothing_about_the_others() -> None:
    before = {"receive_bytes": 10, "ethtool_temperature": 60, "ethtool_rx_missed": 1}
    after = {"receive_bytes": 30, "ethtool_temperature": 55, "ethtool_rx_missed": 4}
    found = grown(before, after)
    assert found.values == {"receive_bytes": 20, "ethtool_rx_missed": 3}
    assert found.notes == ("ethtool_temperature fell, so that it may be a level: left out.",)


def every_second(*values: int, start: float = 0.0, part: str = "a") -> list[Counters]:
    return [Counters(part, start + index, {"x": value}) for index, value in enumerate(values)]


def test_growth_over_a_window_is_taken_between_the_readings_around_it() -> None:
    (found,) = growths_within(every_second(0, 10, 30, 60, 100), (1.5, 2.5))
    assert found.values == {"x": 50}
    assert found.between_s == (1.0, 3.0)


def test_a_window_that_the_readings_do_not_cover_has_no_growth() -> None:
    readings = every_second(*range(10))
    (short,) = growths_within(readings, (0.0, 10.5))
    assert short.values == {}
    assert "leave 1.5 s of the window of 10.5 s uncovered" in short.notes[0]
    (nearly,) = growths_within(readings, (0.0, 9.9))
    assert nearly.values == {"x": 9}
    (outside,) = growths_within(readings, (100.0, 110.0))
    assert outside.values == {}


def test_a_connection_that_begins_within_the_window_counts_from_zero() -> None:
    readings = [
        *every_second(1, 1, 1, 1, 1, part="old"),
        *every_second(500, 700, 900, start=2.0, part="new"),
    ]
    as_connection = growths_within(readings, (1.0, 4.0), new_from_zero=True)
    as_interface = growths_within(readings, (1.0, 4.0))
    assert [dict(found.values) for found in as_connection] == [{"x": 0}, {"x": 900}]
    assert [dict(found.values) for found in as_interface] == [{"x": 0}, {}]


def test_readings_without_times_have_no_growth_in_a_window() -> None:
    (found,) = growths_within([Counters("", None, {"x": 1})] * 2, (0.0, 1.0))
    assert found.values == {}


def test_a_window_without_a_length_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="no length"):
        growths_within([], (1.0, 1.0))


def test_a_part_that_vanished_has_no_values() -> None:
    (found,) = growths([Counters("eth0", None, {"in": 1})], [])
    assert found.values == {}
    assert found.notes == ("The later reading has no eth0: growth is unknown.",)


def test_a_new_interface_has_no_growth_but_a_new_connection_began_at_zero() -> None:
    after = [Counters("new", None, {"bytes": 7})]
    (interface,) = growths([], after)
    (connection,) = growths([], after, new_from_zero=True)
    assert interface.values == {}
    assert "earlier reading has no new" in interface.notes[0]
    assert connection.values == {"bytes": 7}


@pytest.mark.parametrize("seed", range(20))
def test_a_true_growth_below_half_the_range_is_found_or_missing_never_wrong(seed: int) -> None:
    """Counters of 32 bits that start anywhere and grow by less than half of their range."""
    chance = random.Random(seed)
    for _ in range(200):
        old = chance.randrange(FULL)
        true = chance.randrange(HALF)
        found = grown({"in": old}, {"in": (old + true) % FULL}).values
        assert found.get("in", true) == true
        assert "in" in found  # each of these wraps is certain
