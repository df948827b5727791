"""Ingress queues: a private buffer for each ingress port, with virtual output queues."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from netstudy.buffers.base import SwitchBuffer
from netstudy.wire_model import UINT32_MAX


class IngressQueued(SwitchBuffer):
    """A private buffer for each ingress port, divided into virtual output queues from which egress
    ports pull."""

    TITLE: ClassVar[str] = "Ingress-queued"

    kind: Literal["ingress-queued"] = "ingress-queued"
    ingress_buffer_bytes: int = Field(ge=0)
    """The private buffer of each ingress port."""
    ingress_cell_bytes: int = Field(default=1, ge=1, le=UINT32_MAX)
    """Cell size of the ingress buffer: a frame occupies whole cells."""
    ingress_reserve_frames: int = Field(default=1, ge=0, le=4096)
    """A cut-through port admits a frame only if it has room for this many maximum-size frames.
    More: less of the buffer is used, especially with large frames."""
    egress_buffer_bytes: int = Field(default=0, ge=0, le=UINT32_MAX)
    """The buffer of each egress port."""
    random_arbitration_pct: int = Field(default=0, ge=0, le=100)
    """How many of an egress port's choices of the next ingress queue are random; the others are
    round robin."""

    def holds(self, frame_bytes: int) -> bool:
        """Whether an empty ingress buffer has room for `ingress_reserve_frames` frames of this size
        (at least one)."""
        taken = -(-frame_bytes // self.ingress_cell_bytes) * self.ingress_cell_bytes
        return taken * max(self.ingress_reserve_frames, 1) <= self.ingress_buffer_bytes

    def queue_bytes(self) -> int:
        """The buffers of the ingress port and of the egress port together."""
        return self.ingress_buffer_bytes + self.egress_buffer_bytes

    def longest_queue_bytes(self, ports: int) -> int:
        """All ingress buffers together, since all can hold frames for the same egress port. The
        egress port's own buffer is left out, because it does not count towards an ECN threshold."""
        return ports * self.ingress_buffer_bytes
