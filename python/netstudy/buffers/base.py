"""Every buffer architecture of a switch answers these questions."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from netstudy.wire_model import Wire


class SwitchBuffer(Wire):
    """The buffer of a switch with its parameters, which are settings of studies and figures of
    profiles."""

    TITLE: ClassVar[str]
    """Its name before descriptions of its parameters."""

    @abstractmethod
    def holds(self, frame_bytes: int) -> bool:
        """Whether a queue accepts a frame of this size while the rest of the buffer is empty."""

    @abstractmethod
    def queue_bytes(self) -> int:
        """The most bytes that frames from one ingress port to one egress port can occupy."""

    def longest_queue_bytes(self, ports: int) -> int:  # noqa: ARG002
        """The most bytes that can wait for one egress port of a switch with so many ports."""
        return self.queue_bytes()

    def kernel_queue_bytes(self) -> int | None:
        """The length of a byte-limited queue of the kernel at each port that admits the same
        frames; None if no queue of the kernel does."""
        return None
