"""Puts the portable engine and the studies into the wheel, so that installing the wheel needs no
Rust.

Hatchling calls this hook; `make wheel` sets the processor in NETSTUDY_WHEEL_ARCH.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_OF_A_STUDY = (".yaml", ".csv")
"""Suffixes of the input files of a study: the study itself, its own profiles, and published
values."""


class EngineHook(BuildHookInterface):  # type: ignore[type-arg]
    """The hook named in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add engine and studies, and set the platform. Raises KeyError if NETSTUDY_WHEEL_ARCH is
        not set."""
        if version == "editable":  # a checkout uses its own engine
            return
        arch = os.environ["NETSTUDY_WHEEL_ARCH"]
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux2014_{arch}.manylinux_2_17_{arch}"
        build_data["shared_scripts"][f"dist/netstudy-engine-{arch}"] = "netstudy-engine"
        for path in Path("studies").rglob("*"):
            if path.suffix in _OF_A_STUDY:
                build_data["force_include"][str(path)] = f"netstudy/_{path}"
