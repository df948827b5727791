"""The files of a study that a results folder stores: its text, reference data and profiles.

With them, a new report can be made years later, when the study and the profiles have changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.errors import StudyError
from netstudy.store.folder import HARDWARE, OWN_NAMES, STUDY
from netstudy.wire import Plan

if TYPE_CHECKING:
    from netstudy.hardware import HardwareLibrary
    from netstudy.study import Study


def gather(
    written: Study, applied: Study, plan: Plan, hardware: HardwareLibrary
) -> dict[str, bytes]:
    """The files that belong to a study and its plan, by path inside the results folder.

    `written` is the study as in its file, `applied` the study with the changes for this run. The
    folder must have the files of both and of every variant. Raises StudyError when a file cannot be
    read, or when reference data are outside the study's folder, since their path would not lead to
    the copy.
    """
    files = {STUDY: written.source_text.encode()}
    for reference in (*written.reference, *applied.reference):
        files[_inside(reference.file)] = _read(written.folder / reference.file)
    for name in _profiles(written, applied, plan, hardware):
        path = hardware.file(name)
        if path is not None:
            files[f"{HARDWARE}/{path.name}"] = _read(path)
    return files


def _profiles(written: Study, applied: Study, plan: Plan, hardware: HardwareLibrary) -> list[str]:
    """The profiles that the study or a variant names, at any level, and the profiles that the plan
    uses, since some of these are named only by other profiles."""
    from netstudy.study import in_variant, profiles_named

    variants = [in_variant(written, name, hardware=hardware) for name in written.testbeds]
    named = {
        name for study in (written, applied, *variants) for _, _, name in profiles_named(study)
    }
    networks = [run.network for run in plan.runs]
    tcps = {group.tcp.profile for network in networks for group in network.groups}
    switches = {switch.profile for network in networks for switch in network.switches}
    return sorted(named | tcps | switches)


def _inside(name: str) -> str:
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise StudyError(f"reference data must be in the study's folder, and {name} is not")
    if path.parts and path.parts[0] in OWN_NAMES:
        raise StudyError(
            f"reference data cannot be named {name}: the results folder, which gets a copy, has "
            f"its own {path.parts[0]}. Rename the file, and change its name in the study"
        )
    return str(path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror}") from error
