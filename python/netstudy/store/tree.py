"""The tree of results: lists results folders, and finds the folder that a user names."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from netstudy.errors import StudyError
from netstudy.store.create import LATEST
from netstudy.store.files import TEMPORARY_SUFFIX, replace_link, storage
from netstudy.store.folder import PLAN, STUDY, Folder
from netstudy.store.lock import is_locked, locked, remove_false_lock

_FOLDER_NAME = re.compile(r"(\d{8}T\d{6}Z)(?:-(\d+))?")


@dataclass(frozen=True)
class Results:
    """The folder that holds `<study>/<UTC time>/` (`--results`, NETSTUDY_RESULTS, ./results)."""

    root: Path

    def folders(self, study: str | None = None, *, without_plan: bool = False) -> list[Folder]:
        """The results folders of all studies or of one, newest first.

        Folders without a plan are included only with `without_plan`, since nothing can be read from
        them.
        """
        candidates = self.root.glob("*/*") if study is None else (self.root / study).glob("*")
        found = [
            path
            for path in candidates
            if _FOLDER_NAME.fullmatch(path.name)
            and ((path / PLAN).is_file() or (without_plan and Folder.at(path, without_plan=True)))
        ]
        return [Folder(path) for path in sorted(found, key=_age, reverse=True)]

    def leftovers(self) -> list[Path]:
        """Partial files and folders that interrupted writers left outside the results folders."""
        found = sorted(self.root.glob(f"*/.*{TEMPORARY_SUFFIX}"))
        return [path for path in found if path.is_symlink() or not is_locked(path)]

    def closed(self) -> list[Path]:
        """Folders of studies whose contents this user may not list."""
        return sorted(path for path in self.root.glob("*") if _is_closed(path))

    def resolve(self, named: str | None, *, done: bool, or_part: bool = False) -> Folder:
        """The results folder that `named` means. A results folder means itself. A study (its name
        or path), a folder of its results, or a whole tree of results means the newest folder in it;
        None means the newest folder of this tree. With `done`, the newest folder in which all runs
        have records is meant. Raises StudyError if there is no such folder, unless `or_part` allows
        a folder with missing runs; and with `done`, if a file changed after the folder was
        sealed."""
        if named is not None and (folder := Folder.at(Path(named))) is not None:
            return _checked(folder, done=done, or_part=or_part)
        folders = self._folders_of(named)
        if not folders:
            raise StudyError(self._none_found(named))
        wanted = [folder for folder in folders if folder.is_carried_out() or not done]
        return _checked((wanted or folders)[0], done=done, or_part=or_part)

    def _folders_of(self, named: str | None) -> list[Folder]:
        if named is None:
            return self.folders()
        path = Path(named).resolve()
        elsewhere = Results(path.parent).folders(path.name) or Results(path).folders()
        return elsewhere or self.of_study(named)

    def of_study(self, named: str) -> list[Folder]:
        """The folders of a study, newest first. `named` is the study's name, its path, or the name
        of the folder that it was run from. Results inside the study's folder are found as well."""
        path = Path(named)
        if not path.is_file() and not (path / STUDY).is_file():
            # The name may be that of the folder that a study was run from.
            return self.folders(named) or [
                found for found in self.folders() if self._study_folder(found) == named
            ]
        from netstudy.study import load

        study = load(path).study
        inside = (path if path.is_dir() else path.parent) / self.root.name
        return self.folders(study) or Results(inside).folders(study) or self.folders(named)

    def _study_folder(self, folder: Folder) -> str | None:
        """The name of the folder that a study was run from, if its results are next to it; None if
        unknown."""
        try:
            study = self.root.resolve().parent / folder.invocation().study
        except StudyError:
            return None
        return (study.parent if study.suffix in (".yaml", ".yml") else study).name

    def remove(self, path: Path) -> None:
        """Remove a results folder or a leftover, and point `latest` to the newest remaining folder.
        If `path` is a link, only the link is removed."""
        with storage(path):
            if path.is_dir() and not path.is_symlink():
                _remove_folder(path)
            else:
                path.unlink(missing_ok=True)
            self._link_latest(path.parent)

    def _link_latest(self, study: Path) -> None:
        link = study / LATEST
        if not link.is_symlink() or link.exists():
            return
        left = self.folders(study.name)
        if left:
            replace_link(link, left[0].path.name)
        else:
            link.unlink()

    def _none_found(self, named: str | None) -> str:
        there = sorted({folder.path.parent.name for folder in self.folders()})
        known = f"; there are results of {', '.join(there)}" if there else ""
        what = f"no results of '{named}'" if named is not None else "no results"
        closed = self.closed()
        unread = f"; permission denied: {', '.join(map(str, closed))}" if closed else ""
        return f"{what} in {self.root}{known}{unread}"


def _age(path: Path) -> tuple[str, int]:
    match = _FOLDER_NAME.fullmatch(path.name)
    assert match is not None
    return match[1], int(match[2] or 1)


def _is_closed(path: Path) -> bool:
    """Whether the path is a folder whose contents this user may not list."""
    return path.is_dir() and not os.access(path, os.R_OK | os.X_OK)


def _checked(folder: Folder, *, done: bool, or_part: bool) -> Folder:
    folder.refuse_links()
    if done and not or_part and not folder.is_carried_out():
        runs, rounds = len(folder.plan().runs), folder.rounds()
        there = f"{runs - len(folder.missing())} of {runs} runs"
        there += f" of {rounds} rounds so far" if rounds > 1 else ""
        raise StudyError(
            f"{folder.path} is not finished: only {there} are there. "
            f"Finish it with: netstudy run {folder.path} --resume"
        )
    if done and folder.is_done():
        folder.refuse_changed()
    return folder


def _remove_folder(path: Path) -> None:
    """Rename the folder to a hidden name, then remove it.

    Raises StudyError while a process is writing to it.
    """
    remove_false_lock(path)
    with locked(path):
        aside = path.with_name(f".{path.name}{TEMPORARY_SUFFIX}")
        path.rename(aside)
        shutil.rmtree(aside)
