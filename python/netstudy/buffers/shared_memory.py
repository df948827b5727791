"""Shared memory: one packet memory for all ports, with dynamic thresholds."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from netstudy.buffers.base import SwitchBuffer
from netstudy.wire_model import UINT32_MAX


class SharedMemory(SwitchBuffer):
    """One packet memory for all ports, with dynamic thresholds (Choudhury & Hahne 1998)."""

    TITLE: ClassVar[str] = "Shared memory"

    kind: Literal["shared-memory"] = "shared-memory"
    pool_bytes: int = Field(ge=0)
    """Memory that all ports share."""
    port_reserve_bytes: int = Field(default=0, ge=0)
    """Memory reserved for each port, used before the pool."""
    cell_bytes: int = Field(default=1, ge=1, le=UINT32_MAX)
    """The unit that frames are stored in: a frame occupies whole cells."""
    alpha: float = Field(default=8.0, gt=0)
    """A queue may hold alpha times the free part of the pool. Larger: one port may take more of the
    pool."""
    ingress_guarantee_frames: int = Field(default=0, ge=0)
    """Number of frames that an ingress port may always have queued, however full the pool is."""

    def holds(self, frame_bytes: int) -> bool:
        """Whether a frame of this size is guaranteed, or fits into a port's reserve and the port's
        share of an empty pool."""
        cells = -(-frame_bytes // self.cell_bytes)
        shared_cells = min(self.alpha, 1.0) * (self.pool_bytes // self.cell_bytes)
        room_cells = self.port_reserve_bytes // self.cell_bytes + int(shared_cells)
        return self.ingress_guarantee_frames > 0 or cells <= room_cells

    def queue_bytes(self) -> int:
        """The port's reserve, and the most that a single queue can take from the pool: alpha times
        the memory that is then still free."""
        share = self.alpha / (1 + self.alpha)
        return self.port_reserve_bytes + int(share * self.pool_bytes)
