"""Ingress queues: a private buffer for each ingress port, with virtual output queues."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from netstudy.buffers.base import SwitchBuffer
from netstudy.wire_model import UINT32_MAX


class IngressQueued(SwitchBuffer):
    """A private buffer an ingress port in virtual output queues; the egress pulls from them."""

    TITLE: ClassVar[str] = "Ingress-queued"

    kind: Literal["ingress-queued"] = "ingress-queued"
    ingress_buffer_bytes: int = Field(ge=0)
    """The private buffer of each ingress port."""
    ingress_cell_bytes: int = Field(default=1, ge=1, le=UINT32_MAX)
    """Cell size of the ingress buffer: a frame occupies whole cells."""
    ingress_reserve_frames: int = Field(default=1, ge=0, le=4096)
    """A cut-through port admits a frame only with room for so many maximum-size frames. More: less
    of the buffer is used, the less the longer frames are."""
    egress_buffer_bytes: int = Field(default=0, ge=0, le=UINT32_MAX)
    """The buffer of each egress port."""
    random_arbitration_pct: int = Field(default=0, ge=0, le=100)
    """Share of the egress' choices made at random, the others round robin."""

    def holds(self, frame_bytes: int) -> bool:
        """The cells of the frames that a cut-through port reserves room for fit into its buffer."""
        taken = -(-frame_bytes // self.ingress_cell_bytes) * self.ingress_cell_bytes
        return taken * max(self.ingress_reserve_frames, 1) <= self.ingress_buffer_bytes

    def queue_bytes(self) -> int:
        """The buffer of an ingress port, and the stage of the egress port."""
        return self.ingress_buffer_bytes + self.egress_buffer_bytes

    def longest_queue_bytes(self, ports: int) -> int:
        """The buffers of all ingress ports can hold frames for the same egress port. Its own stage
        is no part of the queue that is compared with an ECN threshold."""
        return ports * self.ingress_buffer_bytes
