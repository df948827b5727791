"""The buffer architectures of switches, one file each. A new architecture needs a file here, which
is listed below; a file in crates/fabric/src/switch, which is listed in buffers.rs there; and a
profile in hardware/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from netstudy.buffers.base import SwitchBuffer
from netstudy.buffers.ingress_queued import IngressQueued
from netstudy.buffers.output_queued import OutputQueued
from netstudy.buffers.shared_memory import SharedMemory

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "Buffer",
    "IngressQueued",
    "OutputQueued",
    "SharedMemory",
    "SwitchBuffer",
]

Architecture = Literal["output-queued", "shared-memory", "ingress-queued"]
"""The names of the architectures, as profiles give them."""
_AnyBuffer = OutputQueued | SharedMemory | IngressQueued
Buffer = Annotated[_AnyBuffer, Field(discriminator="kind")]

ARCHITECTURES: Final[Mapping[str, type[_AnyBuffer]]] = {
    buffer.model_fields["kind"].default: buffer for buffer in get_args(_AnyBuffer)
}
"""Name -> architecture."""
