"""The version of this package."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
