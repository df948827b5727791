"""The interface of the buffer architectures of switches."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from netstudy.wire_model import Wire


class SwitchBuffer(Wire):
    """The buffer of a switch with its parameters, which are settings of studies and figures of
    profiles."""

    TITLE: ClassVar[str]
    """Name of the architecture, with which descriptions of its parameters begin."""

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
        """Length of a byte-limited kernel queue at each port that would admit the same frames as
        this buffer; None if there is no equivalent."""
        return None
