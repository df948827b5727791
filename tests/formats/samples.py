"""Files of measurements for tests: small ones that the tools made, and a folder of real samples."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy.formats.measured import (
    Content,
    Format,
    FormatError,
    HostReadings,
    Measurement,
    Series,
)
from netstudy.formats.plain_text import plain

DATA = Path(__file__).parent / "data"
"""Files that tools of Debian made for these tests."""
_CHECKOUT = Path(__file__).parents[2]
SAMPLES = Path(os.environ.get("NETSTUDY_SAMPLES", _CHECKOUT.parent / "shared/samples"))
"""Samples that are not part of the repository; tests that need one are skipped without it."""


def sample(name: str) -> Path:
    """The path of a sample: `own/iperf3-tcp.json`. Skips the test if it is not there."""
    path = SAMPLES / name
    if not path.is_file():
        pytest.skip(f"needs the sample {name}; NETSTUDY_SAMPLES names the folder of samples")
    return path


def all_files() -> list[Path]:
    """All files of both folders."""
    found = (path for folder in (DATA, SAMPLES) for path in folder.rglob("*"))
    return sorted(path for path in found if path.is_file())


def measurements(form: Format, path: Path) -> tuple[Measurement, ...]:
    """The measurements in a file, by one format."""
    content = form.read(plain(path.read_bytes()))
    assert not isinstance(content, HostReadings)
    return content


def only(form: Format, path: Path) -> Measurement:
    """The one measurement in a file."""
    (found,) = measurements(form, path)
    return found


def readings(form: Format, path: Path) -> HostReadings:
    """The readings of a host in a file, by one format."""
    content = form.read(plain(path.read_bytes()))
    assert isinstance(content, HostReadings)
    return content


def broken(measured: Measurement | HostReadings) -> list[str]:
    """The laws that a file breaks, with the figures."""
    return [f"{check.law}: {check.detail}" for check in measured.checks if not check.holds]


def mutated(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Damaged copies of a file: cut off, with other bytes, with lines swapped, doubled or left out,
    and with other numbers. The same seed gives the same copies."""
    rng = random.Random(seed)
    for _ in range(count):
        yield rng.choice((_cut, _flipped, _lines_moved, _other_numbers))(data, rng)


def held(form: Format, data: bytes, seed: int, count: int = 200) -> None:
    """Assert that a format reads damaged copies of a file as finite values, or raises FormatError.

    A failure prints the seed and the number of the copy.
    """
    for index, each in enumerate(mutated(data, seed, count)):
        try:
            content = form.read(each)
        except FormatError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}, copy {index}: {error!r}") from error
        _assert_sound(content, f"seed {seed}, copy {index}")


def _assert_sound(content: Content, which: str) -> None:
    if isinstance(content, HostReadings):
        for counters in content.counters:
            assert all(type(value) is int for value in counters.values.values()), which
            assert all(0 <= value < 2**64 for value in counters.values.values()), which
        for each in content.series:
            _assert_intervals(each, which)
        return
    for measured in content:
        for name, value in measured.values.items():
            assert abs(value) < float("inf"), f"{which}: {name} is {value}"
        for each in measured.series:
            assert len(each.starts_s) == len(each.ends_s), which
            assert all(len(values) == len(each.starts_s) for values in each.values.values()), which
        assert measured.error is None or not measured.values, which


def _assert_intervals(series: Series, which: str) -> None:
    starts, ends = series.starts_s, series.ends_s
    assert len(starts) == len(ends) > 0, which
    assert all(starts < ends), which
    assert all(starts[1:] >= ends[:-1]), which
    for name, values in series.values.items():
        assert len(values) == len(starts), which
        assert not any(abs(values) == float("inf")), f"{which}: {name}"


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _lines_moved(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            lines[one], lines[other] = lines[other], lines[one]
        case 1:
            lines.insert(other, lines[one])
        case _:
            del lines[one]
    return b"\n".join(lines)


def _other_numbers(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    places = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
    for _ in range(rng.choice((1, 2, 5))):
        if places:
            at = rng.choice(places)
            other = rng.choice((b"0", b"9", b"-", b".", b"e9", b"-nan", b"null", b"99999999999999"))
            changed[at : at + 1] = other
    return bytes(changed)
