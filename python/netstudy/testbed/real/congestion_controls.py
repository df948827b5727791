"""The names of congestion controls in studies and in the kernel."""

from __future__ import annotations

from typing import Final

KERNEL_CONTROLS: Final = {
    "reno": "reno",
    "cubic": "cubic",
    "cubic-hystart": "cubic",
    "bic": "bic",
    "dctcp": "dctcp",
}
"""Name in studies -> name in the kernel. The kernel's reno counts acknowledged bytes, as RFC 3465
says."""
