"""What a results folder keeps of a study: its text, its reference data, the profiles it names.

With them a report can be made anew years later, when the study has moved on and the profiles have
been corrected.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.errors import StudyError
from netstudy.store.folder import STUDY
from netstudy.wire import Plan

if TYPE_CHECKING:
    from netstudy.hardware import HardwareLibrary
    from netstudy.study import Study

HARDWARE = "hardware"


def gather(study: Study, plan: Plan, hardware: HardwareLibrary) -> dict[str, bytes]:
    """The files that belong to a study and its plan, by path inside the results folder.

    Raises StudyError when one cannot be read, or when reference data lie outside the study's
    folder, from where their name could not lead to the copy.
    """
    files = {STUDY: study.source_text.encode()}
    for reference in study.reference:
        files[_inside(reference.file)] = _read(study.folder / reference.file)
    for name in _profiles(plan):
        path = hardware.file(name)
        if path is not None:
            files[f"{HARDWARE}/{path.name}"] = _read(path)
    return files


def _profiles(plan: Plan) -> list[str]:
    networks = [run.network for run in plan.runs]
    hosts = {group.profile for network in networks for group in network.groups}
    tcps = {group.tcp.profile for network in networks for group in network.groups}
    switches = {switch.profile for network in networks for switch in network.switches}
    return sorted(hosts | tcps | switches)


def _inside(name: str) -> str:
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise StudyError(f"reference data must lie in the study's folder, and {name} does not")
    return str(path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror}") from error
