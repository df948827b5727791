"""Damaged copies of all files of all formats: a copy is refused, or its values are finite, and a
value that a law guards does not change without breaking one.

The seed of a copy is its number, which a failure prints.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from netstudy.formats import HEAD_BYTES, recognise
from netstudy.formats.measured import Content, Format, FormatError, HostReadings, Measurement
from netstudy.formats.plain_text import plain
from tests.formats.samples import all_files, mutated

SLOW_FILE_BYTES: Final = 500_000
"""A copy of a larger file takes seconds to read; there are few of these."""

GUARDED: Final[Mapping[str, Mapping[str, float]]] = {
    "flent": {
        "tcp_upload_mbps": 0.03,
        "tcp_download_mbps": 0.03,
        "udp_ping_loss_pct": 0.01,
        "ping_rtt_ms": 0.01,
        "udp_ping_rtt_ms": 0.001,
        "http_latency_ms": 0.001,
    },
    "hdr-log": {"recorded_ms": 0.0},
    "iperf3": {"goodput_mbps": 0.01, "iperf_sent_mbps": 0.01},
    # Replies have three digits, and short ones whole microseconds.
    "ping": {"ping_rtt_ms": 0.05},
}
"""Format -> quantity -> the largest change that no law notices, as a share: it follows from the
digits of the other figures in the file. The mean stands for samples and histograms."""


@cache
def files() -> tuple[tuple[Path, Format, bytes], ...]:
    """All files that a format recognises, decompressed."""
    found = []
    for path in all_files():
        try:
            data = plain(path.read_bytes())
        except FormatError:
            continue
        form = recognise(data[:HEAD_BYTES])
        if form is not None:
            found.append((path, form, data))
    return tuple(found)


def assert_finite(content: Content, which: str) -> None:
    """No value is infinite or NaN, but for values of a series that are missing."""
    if isinstance(content, HostReadings):
        for counters in content.counters:
            assert all(type(value) is int for value in counters.values.values()), which
    else:
        for measured in content:
            assert_finite_measurement(measured, which)
    several = [content] if isinstance(content, HostReadings) else list(content)
    for series in (series for each in several for series in each.series):
        assert np.isfinite(series.starts_s).all(), which
        assert np.isfinite(series.ends_s).all(), which
        assert not any(np.isinf(values).any() for values in series.values.values()), which


def assert_finite_measurement(measured: Measurement, which: str) -> None:
    assert np.isfinite(list(measured.values.values())).all(), f"{which}: {measured.values}"
    assert all(np.isfinite(values).all() for values in measured.samples.values()), which
    assert np.isfinite(measured.window_s or (0, 0)).all(), which
    assert measured.error is None or not measured.values, which
    for histogram in measured.histograms:
        assert np.isfinite(histogram.lowest).all(), which
        assert (histogram.highest >= histogram.lowest).all(), which
        assert (histogram.counts > 0).all(), which


def copies(count: int) -> Iterator[tuple[int, Path, Format, bytes]]:
    """Damaged copies of all files in turn, few of large ones, each with its number."""
    number = 0
    while number < count:
        for path, form, data in files():
            rare = len(data) > SLOW_FILE_BYTES and random.Random(number).random() > 0.1
            if not rare:
                (damaged,) = mutated(data, seed=number, count=1)
                yield number, path, form, damaged
            number += 1
            if number == count:
                return


def read_all(count: int) -> int:
    """Read this number of damaged copies, and return how many the formats refused."""
    refused = 0
    for number, path, form, data in copies(count):
        which = f"copy {number}, of {path.name} as {form.name}"
        try:
            content = form.read(data)
        except FormatError:
            refused += 1
            continue
        except Exception as error:
            raise AssertionError(f"{which}: {error!r}") from error
        assert_finite(content, which)
    return refused


def test_a_thousand_damaged_copies_are_refused_or_have_finite_values() -> None:
    if not files():
        pytest.skip("needs files of measurements")
    assert 0 < read_all(1_000) < 1_000


@pytest.mark.slow
def test_ten_thousand_damaged_copies_are_refused_or_have_finite_values() -> None:
    assert 0 < read_all(10_000) < 10_000


# --- changed digits ---


def guarded(form: Format, content: Content) -> dict[tuple[int, str], float]:
    """The guarded figures of a file: number of the measurement and quantity -> value."""
    found: dict[tuple[int, str], float] = {}
    if isinstance(content, HostReadings):
        return found
    names = GUARDED.get(form.name, {})
    for index, measured in enumerate(content):
        figures = {
            **measured.values,
            **{name: float(values.mean()) for name, values in measured.samples.items()},
            **{
                each.quantity: float(np.average(each.highest, weights=each.counts))
                for each in measured.histograms
            },
        }
        found |= {(index, name): figures[name] for name in names if name in figures}
    return found


def breaks_a_law(content: Content) -> bool:
    several = [content] if isinstance(content, HostReadings) else list(content)
    return any(not check.holds for each in several for check in each.checks)


def with_another_digit(data: bytes, rng: random.Random) -> bytes:
    """A copy in which one digit of a number with several digits is another one. A single digit may
    be a flag."""
    while True:
        at = rng.randrange(len(data))
        around = data[max(at - 1, 0) : at] + data[at + 1 : at + 2]
        if data[at : at + 1].isdigit() and any(chr(byte).isdigit() for byte in around):
            other = rng.choice([digit for digit in b"0123456789" if digit != data[at]])
            return data[:at] + bytes([other]) + data[at + 1 :]


def silent(form: Format, data: bytes, count: int) -> list[str]:
    """Changes of guarded figures that break no law, for so many copies with another digit."""
    content = form.read(data)
    original = guarded(form, content)
    found = []
    for seed in range(count):
        try:
            changed = form.read(with_another_digit(data, random.Random(seed)))
        except FormatError:
            continue
        if breaks_a_law(changed):
            continue
        now = guarded(form, changed)
        for (index, name), value in original.items():
            most = GUARDED[form.name][name] * abs(value)
            if (index, name) in now and abs(now[index, name] - value) > most + 1e-9:
                found.append(f"seed {seed}: {name} was {value}, is {now[index, name]}")
    return found


def all_silent(count: int) -> list[str]:
    """The same for all files that have guarded figures and keep all laws, but the largest."""
    found = []
    for path, form, data in files():
        if form.name not in GUARDED or len(data) > SLOW_FILE_BYTES:
            continue
        try:
            content = form.read(data)
        except FormatError:
            continue
        if not breaks_a_law(content):
            found += [f"{path.name}, {each}" for each in silent(form, data, count)]
    return found


@pytest.mark.slow
def test_a_changed_digit_is_noticed_where_a_law_applies() -> None:
    assert all_silent(10) == []


@pytest.mark.slow
def test_a_changed_digit_is_noticed_in_a_thousand_copies_of_each_file() -> None:
    assert all_silent(1_000) == []
