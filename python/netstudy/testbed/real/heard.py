"""What was last heard of a process, in words: for the error of one that says nothing any more."""

from __future__ import annotations

from typing import Protocol

from netstudy.testbed.real.wire import PhaseRecord, ProgressRecord


class _Record(Protocol):
    @property
    def kind(self) -> str: ...


def in_words(record: _Record | None) -> str:
    """How far its record says that it was; None: it has said nothing."""
    match record:
        case None:
            return "nothing"
        case ProgressRecord():
            return f"{record.samples:,} done of the phase, {record.bytes:,} bytes"
        case PhaseRecord():
            return f"'{record.name}'"
        case _:
            return f"'{record.kind}'"
