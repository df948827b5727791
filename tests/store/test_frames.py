"""Frames of a segment: read as they were written, and damage costs the frame that it hits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netstudy.store.frames import Kind, framed, frames

KINDS = st.sampled_from(Kind)
RUNS = st.text("0123456789abcdef", min_size=1, max_size=12)
TEXTS = st.binary(max_size=400)
ENTRIES = st.lists(st.tuples(KINDS, RUNS, TEXTS), min_size=1, max_size=6)
Entry = tuple[Kind, str, bytes]


def segment_of(entries: list[Entry]) -> bytes:
    return b"".join(framed(*entry) for entry in entries)


def read(segment: bytes) -> list[tuple[Kind, str, bytes | None]]:
    return [(one.kind, one.run, one.text(segment[one.body : one.end])) for one in frames(segment)]


@given(ENTRIES)
def test_frames_are_read_as_they_were_written(entries: list[Entry]) -> None:
    assert read(segment_of(entries)) == entries


@given(ENTRIES, st.data())
def test_a_segment_that_is_cut_anywhere_has_its_whole_frames(
    entries: list[Entry], data: st.DataObject
) -> None:
    whole = segment_of(entries)
    cut = data.draw(st.integers(0, len(whole)), label="cut")
    ends = [len(segment_of(entries[:count])) for count in range(1, len(entries) + 1)]
    assert read(whole[:cut]) == entries[: sum(end <= cut for end in ends)]


@given(ENTRIES, st.data())
def test_a_damaged_byte_costs_the_frame_that_it_is_in_and_is_noticed(
    entries: list[Entry], data: st.DataObject
) -> None:
    damaged = bytearray(segment_of(entries))
    place = data.draw(st.integers(0, len(damaged) - 1), label="place")
    damaged[place] ^= data.draw(st.integers(1, 255), label="bits")
    lengths = [len(framed(*entry)) for entry in entries]
    hit = next(n for n in range(len(entries)) if place < sum(lengths[: n + 1]))
    kind, run, _ = entries[hit]
    found = read(bytes(damaged))
    others = [*entries[:hit], *entries[hit + 1 :]]
    assert found in (others, [*entries[:hit], (kind, run, None), *entries[hit + 1 :]])
