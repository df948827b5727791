"""Quantities: exact, from a closed list, and refused with what would be right."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netstudy import units
from netstudy.units import (
    FINE_PERCENT,
    FRAMING_BYTES,
    UnitError,
    format_duration,
    format_in,
    format_number,
    format_rate,
    format_size,
    header_bytes,
    parse_duration,
    parse_packet_rate,
    parse_percent,
    parse_ppm,
    parse_processor_share,
    parse_rate,
    parse_size,
    quantity,
    rough_size,
)


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [
        ("1 bit/s", 1),
        ("9.6 kbit/s", 9_600),
        ("100 Mbit/s", 100_000_000),
        ("10 Gbit/s", 10_000_000_000),
        ("2.5 Gbit/s", 2_500_000_000),
        ("0.4 Tbit/s", 400_000_000_000),
        ("10Gbit/s", 10_000_000_000),
        ("  10   Gbit/s ", 10_000_000_000),
    ],
)
def test_a_rate_is_read_in_bits_a_second(text: str, rate_bps: int) -> None:
    assert parse_rate(text) == rate_bps


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("64 B", 64), ("9 kB", 9_000), ("9 KiB", 9_216), ("4 MB", 4_000_000), ("4 MiB", 4_194_304),
     ("1.24 MB", 1_240_000), ("1 GB", 10**9), ("2 GiB", 2**31), ("1 TB", 10**12), ("0 B", 0)],
)  # fmt: skip
def test_a_size_is_decimal_or_binary_as_written(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [("1 ns", 1), ("1 us", 1_000), ("1.5 us", 1_500), ("200 ms", 200_000_000), ("1 s", 10**9),
     ("5 min", 300 * 10**9), ("1.5 h", 5_400 * 10**9), ("0 ms", 0)],
)  # fmt: skip
def test_a_duration_is_read_in_nanoseconds(text: str, duration_ns: int) -> None:
    assert parse_duration(text) == duration_ns


def test_both_signs_for_micro_are_read() -> None:
    assert parse_duration("75 \u00b5s") == parse_duration("75 \u03bcs") == 75_000


def test_shares_of_a_processor_are_read_to_the_thousandth() -> None:
    assert parse_processor_share("12.5 %") == 12.5
    assert parse_processor_share("33.333 %") == 33.333
    with pytest.raises(UnitError, match="no whole number of thousandths of a percent"):
        parse_processor_share("12.3456 %")


def test_percentages_and_packet_rates() -> None:
    assert parse_percent("2 %") == 2.0
    assert parse_percent("0.5%") == 0.5
    assert parse_packet_rate("80000 packets/s") == 80_000


RATES = "a rate is in bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("100 mbit/s", '"100 mbit/s": unknown unit "mbit/s"; did you mean "100 Mbit/s"?'),
        ("10 Gbps", '"10 Gbps": unknown unit "Gbps"; did you mean "10 Gbit/s"?'),
        ("10 Gb/s", '"10 Gb/s": unknown unit "Gb/s"; did you mean "10 Gbit/s"?'),
        ("1 Gbit", '"1 Gbit": unknown unit "Gbit"; did you mean "1 Gbit/s"?'),
        ("10 GB/s", '"10 GB/s" counts bytes, and a rate is in bit/s; '
                    'did you mean "80 Gbit/s" (the same) or "10 Gbit/s"?'),
        ("2.5 MBps", '"2.5 MBps" counts bytes, and a rate is in bit/s; '
                     'did you mean "20 Mbit/s" (the same) or "2.5 Mbit/s"?'),
        ("10", f'10 has no unit; {RATES}, such as "10 Gbit/s"'),
        (10, f'10 has no unit; {RATES}, such as "10 Gbit/s"'),
        ("10 MB", f'"10 MB" is a size, not a rate; {RATES}'),
        ("3 parsec", f'"3 parsec": unknown unit "parsec"; {RATES}'),
        ("0 Gbit/s", '"0 Gbit/s": a rate must be above 0'),
        ("-1 Gbit/s", '"-1 Gbit/s": a rate cannot be negative'),
        ("0.5 bit/s", '"0.5 bit/s" is not a whole number of bit/s'),
        ("fast", '"fast" is not a rate; write a number and a unit, such as "10 Gbit/s"'),
        ("99999999 Tbit/s", '"99999999 Tbit/s" is more than netstudy can count'),
        ("9" * 5000 + " bit/s", f'"{"9" * 40}…" is not a rate; write a number and a unit, '
                                'such as "10 Gbit/s"'),
        ("", '"" is not a rate; write a number and a unit, such as "10 Gbit/s"'),
        (True, 'a rate is a number with a unit, such as "10 Gbit/s"'),
        (None, 'a rate is a number with a unit, such as "10 Gbit/s"'),
    ],
)  # fmt: skip
def test_a_wrong_rate_is_refused_with_what_would_be_right(text: object, said: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_rate(text)
    assert str(caught.value) == said


SIZES = "a size is in B, kB, KiB, MB, MiB, GB, GiB or TB"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("4 KB", '"4 KB": unknown unit "KB"; '
                 'did you mean "4 kB" (1000 bytes) or "4 KiB" (1024 bytes)?'),
        ("4 Mb", '"4 Mb": unknown unit "Mb"; did you mean "4 MB"?'),
        ("4 mib", '"4 mib": unknown unit "mib"; did you mean "4 MiB"?'),
        ("4 bytes", '"4 bytes": unknown unit "bytes"; did you mean "4 B"?'),
        ("9000", f'9000 has no unit; {SIZES}, such as "4 MB"'),
        ("1 Gbit/s", f'"1 Gbit/s" is a rate, not a size; {SIZES}'),
        ("0.5 B", '"0.5 B" is not a whole number of bytes'),
    ],
)  # fmt: skip
def test_a_wrong_size_is_refused_with_what_would_be_right(text: str, said: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_size(text)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("200 msec", '"200 msec": unknown unit "msec"; did you mean "200 ms"?'),
        ("5 m", '"5 m": unknown unit "m"; did you mean "5 min"?'),
        ("5 seconds", '"5 seconds": unknown unit "seconds"; did you mean "5 s"?'),
        ("200", '200 has no unit; a duration is in ns, us, ms, s, min or h, such as "200 ms"'),
        ("0.1 ns", '"0.1 ns" is not a whole number of nanoseconds'),
        ("2 %", '"2 %" is a percentage, not a duration; a duration is in ns, us, ms, s, min or h'),
    ],
)
def test_a_wrong_duration_is_refused_with_what_would_be_right(text: str, said: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_duration(text)
    assert str(caught.value) == said


def test_formatting_takes_the_shortest_exact_form() -> None:
    assert format_rate(10**10) == "10 Gbit/s"
    assert format_rate(1_500_000_000) == "1.5 Gbit/s"
    assert format_rate(1_234_567_891) == "1234567891 bit/s"
    assert format_size(435_000) == "435 kB"
    assert format_size(20_480) == "20 KiB"
    assert format_size(4_194_304) == "4 MiB"
    assert format_size(0) == "0 B"
    assert format_duration(200_000_000) == "200 ms"
    assert format_duration(300 * 10**9) == "5 min"
    assert format_duration(90 * 10**9) == "90 s"


@given(st.integers(min_value=1, max_value=2**63 - 1))
def test_what_is_formatted_is_read_back(value: int) -> None:
    assert parse_rate(format_rate(value)) == value
    assert parse_size(format_size(value)) == value
    assert parse_duration(format_duration(value)) == value
    assert parse_packet_rate(f"{value} packets/s") == value


@given(st.floats(min_value=0, max_value=1e6, allow_nan=False))
def test_a_percentage_is_read_back(value: float) -> None:
    assert parse_percent(f"{Decimal(repr(value)):f} %") == value


def in_decimals(value: Fraction) -> str:
    """The exact decimal text of a fraction whose denominator divides 1000."""
    thousandths = int(value * 1000)
    assert Fraction(thousandths, 1000) == value
    return f"{thousandths // 1000}.{thousandths % 1000:03}"


@given(
    st.sampled_from([units.RATE, units.SIZE, units.DURATION]),
    st.data(),
    st.integers(min_value=0, max_value=10**9),
)
def test_reading_is_exact_for_every_unit(
    dimension: units.Dimension, data: st.DataObject, thousandths: int
) -> None:
    """An oracle in exact fractions: number × unit, or a refusal where that is not whole."""
    unit = data.draw(st.sampled_from(list(dimension.units)))
    number = Fraction(thousandths, 1000)
    exact = number * dimension.units[unit]
    parse = {units.RATE: parse_rate, units.SIZE: parse_size, units.DURATION: parse_duration}
    text = f"{in_decimals(number)} {unit}"
    if exact.denominator == 1 and exact < 2**63 and (exact > 0 or dimension.zero):
        assert parse[dimension](text) == exact
    else:
        with pytest.raises(UnitError):
            parse[dimension](text)


@given(st.text(max_size=20))
def test_any_other_text_is_refused_and_never_crashes(text: str) -> None:
    for parse in (parse_rate, parse_size, parse_duration, parse_percent, parse_packet_rate):
        with suppress(UnitError):
            assert parse(text) >= 0


def test_headers_are_those_of_the_standards() -> None:
    # A full packet of MTU 1500 with timestamps: 1448 bytes of data, 1538 bytes of the wire.
    assert 1500 - header_bytes(timestamps=True) == 1448
    assert 1500 - header_bytes(timestamps=False) == 1460
    assert 1500 + FRAMING_BYTES == 8 + (14 + 1500 + 4) + 12


@pytest.mark.parametrize(
    ("text", "same"),
    [("1MB", "1 MB"), ("1000 MB", "1 GB"), ("60.0", "60"), ("10 Gbit/s", "10000Mbit/s"),
     ("1000 us", "1 ms")],
)  # fmt: skip
def test_a_quantity_is_the_same_however_it_is_written(text: str, same: str) -> None:
    assert quantity(text) == quantity(same) is not None


def test_quantities_of_different_kinds_differ_and_words_are_none() -> None:
    assert quantity("1 MB") != quantity("1000000")
    assert quantity("1 s") != quantity("1000000000 B")
    assert [quantity(text) for text in ("1GbE", "none", "1 MB/s", "")] == [None] * 4


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (8_200_000, "8.2 MB"),
        (150_000_000, "150 MB"),
        (2_200_008_300_000, "2.2 TB"),
        (3_000_000_000_000_000, "3,000 TB"),
    ],
)
def test_a_rough_size_is_in_the_unit_that_people_say(size_bytes: int, text: str) -> None:
    assert rough_size(size_bytes) == text


def test_millionths_are_written_as_percent_and_read_again() -> None:
    for value in (0, 1, 3_217, 25_000, 1_000_000):
        assert parse_ppm(format_in(FINE_PERCENT, value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e6, "1000000"), (0.0001234567, "0.0001234567"), (123456789.0, "123456789"), (2.5, "2.5")],
)
def test_a_number_is_written_with_all_its_digits(value: float, text: str) -> None:
    assert format_number(value) == text
    assert format_number(value, ",").replace(",", "") == text
    assert format_number(123456789.5, ",") == "123,456,789.5"
