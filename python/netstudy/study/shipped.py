"""The studies that come with netstudy, in a checkout or in an installed package."""

from __future__ import annotations

from pathlib import Path

_PACKAGED = Path(__file__).parents[1] / "_studies"
_CHECKOUT = Path(__file__).parents[3] / "studies"
_NAME = "study.yaml"
_BESIDE = ("hardware", "reference")
"""Folders of a study for its own profiles and published values."""


def shipped_studies() -> dict[str, Path]:
    """Name, such as `incast` or `examples/mtu` -> folder, in alphabetical order."""
    root = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    return {
        path.parent.relative_to(root).as_posix(): path.parent for path in sorted(root.rglob(_NAME))
    }


def files_of(folder: Path) -> list[Path]:
    """The files that are needed to run a study elsewhere, relative to the study's folder; results
    are not among them."""
    beside = (path for name in _BESIDE for path in sorted((folder / name).rglob("*")))
    return [Path(_NAME), *(path.relative_to(folder) for path in beside if path.is_file())]
