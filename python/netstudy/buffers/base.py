"""The interface of the buffer architectures of switches."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from netstudy.wire_model import Wire


class SwitchBuffer(Wire):
    """The buffer of a switch. Studies and hardware profiles can set its parameters."""

    TITLE: ClassVar[str]
    """Name of the architecture; the descriptions of its parameters begin with it."""

    @abstractmethod
    def holds(self, frame_bytes: int) -> bool:
        """Whether a queue accepts a frame of this size while the rest of the buffer is empty."""

    @abstractmethod
    def queue_bytes(self) -> int:
        """The most bytes that frames from one ingress port to one egress port can occupy."""

    def longest_queue_bytes(self, ports: int) -> int:  # noqa: ARG002
        """The most bytes that can wait for one egress port, in a switch with this number of
        ports."""
        return self.queue_bytes()

    def kernel_queue_bytes(self) -> int | None:
        """The byte limit with which a kernel queue at each port would admit the same frames as this
        buffer; None if no limit has this effect."""
        return None
