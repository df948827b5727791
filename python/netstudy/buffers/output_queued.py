"""Output queues: a private drop-tail buffer for each egress port."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from netstudy.buffers.base import SwitchBuffer


class OutputQueued(SwitchBuffer):
    """A private drop-tail buffer for each port."""

    TITLE: ClassVar[str] = "Output-queued"

    kind: Literal["output-queued"] = "output-queued"
    port_buffer_bytes: int = Field(ge=0)
    """The private drop-tail buffer of each port."""

    def holds(self, frame_bytes: int) -> bool:
        """Whether the buffer of a port has room for the frame."""
        return frame_bytes <= self.port_buffer_bytes

    def queue_bytes(self) -> int:
        """The buffer of a port."""
        return self.port_buffer_bytes

    def kernel_queue_bytes(self) -> int:
        """The buffer of a port."""
        return self.port_buffer_bytes
