"""Files are recognised by their beginning, and by one format each."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from netstudy.formats import HEAD_BYTES, formats, read_file, recognise
from netstudy.formats.measured import FormatError, HostReadings
from netstudy.formats.plain_text import plain
from tests.formats.samples import all_files


@pytest.mark.parametrize("path", all_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_at_most_one_format_recognises_a_file(path: Path) -> None:
    head = plain(path.read_bytes())[:HEAD_BYTES]
    assert len([each.name for each in formats() if each.recognises(head)]) <= 1


@pytest.mark.parametrize("head", [b"", b"\n\n", b"{}", b"[]", b"a,b\n1,2\n", b"\x00" * 100])
def test_no_format_recognises_nearly_nothing(head: bytes) -> None:
    assert recognise(head) is None


def test_an_unknown_file_is_refused_with_the_formats_that_are_known(tmp_path: Path) -> None:
    path = tmp_path / "letter"
    path.write_text("Dear Sir or Madam,\n")
    with pytest.raises(FormatError, match="no format recognises the file by its beginning; known"):
        read_file(path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="the file is empty"):
        read_file(path)


def test_a_file_is_decompressed_and_decoded_before_a_format_gets_it() -> None:
    assert plain(gzip.compress(b"one") + gzip.compress(b" two")) == b"one two"
    assert plain("\ufeffµs".encode()) == "µs".encode()
    assert plain("µs".encode("utf-16")) == "µs".encode()


def test_a_compressed_file_that_was_cut_off_is_refused() -> None:
    with pytest.raises(FormatError, match="compressed by gzip and was cut off"):
        plain(gzip.compress(b"a long text" * 100)[:-10])
    with pytest.raises(FormatError, match="compressed by gzip and damaged"):
        plain(b"\x1f\x8b\x08" + b"\xff" * 60)


@pytest.mark.parametrize("path", all_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_format_declares_every_quantity_that_it_measures(path: Path) -> None:
    """Counters of hosts have the kernel's names, which no list can hold."""
    data = plain(path.read_bytes())
    form = recognise(data[:HEAD_BYTES])
    try:
        content = () if form is None else form.read(data)
    except FormatError:
        return
    if form is None or isinstance(content, HostReadings):
        return
    declared = {each.name for each in form.quantities}
    found = {name for part in content for each in part.series for name in each.values}
    for part in content:
        found |= {*part.samples, *(each.quantity for each in part.histograms)}
        found |= {_without_statistic(name, declared) for name in part.values}
    assert found <= declared


def _without_statistic(name: str, declared: set[str]) -> str:
    stem, _, statistic = name.rpartition("_")
    known = statistic in ("mean", "min", "max", "stddev") or statistic.startswith("p")
    return stem if name not in declared and known else name
