"""Finds the results folder that `run --resume` continues.

The run continues with the study, the plan and the options that are stored in the folder. The
current study file and all given options must agree with these, so that nobody continues a different
study by mistake.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netstudy.cli._prepare import Asked, chosen, pairs, scale_text
from netstudy.cli._terminal import continue_with
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.store import Folder
    from netstudy.study import Study


def to_resume(asked: Asked, results: Path) -> Folder:
    """The folder to continue: the one on the command line, or the newest unfinished folder of the
    study. If all folders are done, the newest one, for which nothing is left to do. Raises
    StudyError if there is no folder, or if it differs from the given options."""
    from netstudy.store import Folder

    named = Folder.at(asked.study)
    if named is not None:
        _refuse(named, _differences(named, asked))
        return named
    newest = _newest(asked, results)
    newest.refuse_links()
    return newest


def _newest(asked: Asked, results: Path) -> Folder:
    from netstudy.store import Results
    from netstudy.study import load

    tree = Results(results)
    folders = tree.of_study(str(asked.study))
    # If the user gives only the name of a study, there is no file to compare with.
    is_name = folders and not asked.study.exists()
    study = None if is_name else load(asked.study)
    if not folders:
        name = asked.study if study is None else study.study
        raise StudyError(f"nothing to resume: there are no results of {name} in {results}")
    folders.sort(key=lambda folder: folder.is_done())  # unfinished folders first
    differences = [_all_differences(folder, asked, study) for folder in folders]
    agreeing = [folder for folder, found in zip(folders, differences, strict=True) if not found]
    if not agreeing:
        _refuse(folders[0], differences[0])
    return agreeing[0]


def _all_differences(folder: Folder, asked: Asked, study: Study | None) -> list[str]:
    """All differences between the folder and the command line. `study` is the current study file,
    if there is one."""
    of_text = [] if study is None else _text_difference(folder, study)
    return [*of_text, *_differences(folder, asked)]


def _refuse(folder: Folder, differences: list[str]) -> None:
    if differences:
        raise StudyError(
            f"{folder.path} was begun differently: {'; '.join(differences)}. Continue it as it "
            f"was with `{continue_with(folder)}`, or start a new run without --resume"
        )


def _differences(folder: Folder, asked: Asked) -> list[str]:
    """One text for each given option that differs from the folder's. Options that are not given are
    not compared."""
    from netstudy.study import parse_only

    begun = folder.invocation()
    testbed, inventory = (None, None) if asked.testbed is None else chosen(asked.testbed)
    given: dict[str, Any] = {
        "seed": asked.seed,
        "testbed": testbed,
        "quick": asked.quick or None,
        "overrides": pairs(asked.overrides, "--set") or None,
        "variant": asked.variant,
        "scale": None if asked.scale is None else scale_text(asked.scale),
        "without": list(asked.without) or None,
        "only": parse_only(asked.only, folder.study()) if asked.only else None,
    }
    unset = {"scale": "1"}  # older folders do not store a scale of 1
    differing = [
        f"--{_OPTIONS.get(name, name)} was {_given(getattr(begun, name))}, is {_given(value)}"
        for name, value in given.items()
        if value is not None and value != (getattr(begun, name) or unset.get(name))
    ]
    if begun.inventory and inventory and inventory.text != begun.inventory.text:
        differing.append(f"{inventory.path} is not the inventory that the run began with")
    return differing


_OPTIONS: Final = {"overrides": "set"}
"""Field of an invocation -> name of the option, if these differ."""


def _given(value: Any) -> str:
    """The value of an option as it is written on the command line."""
    from netstudy.study import level_text

    if isinstance(value, dict) and value:
        return " ".join(f"{name}={_given(one)}" for name, one in value.items())
    if isinstance(value, list) and value:
        return ",".join(map(level_text, value))
    if value is True:
        return "given"
    return "not given" if value in (None, [], {}) or value is False else str(value)


def _text_difference(folder: Folder, study: Study) -> list[str]:
    """The first line of the study file that has changed since the run began; empty if none has."""
    from netstudy.store.folder import STUDY

    kept = folder.path / STUDY
    if not kept.is_file():
        raise StudyError(
            f"{folder.path} cannot be continued: its {STUDY} is gone; restore it from a copy, or "
            "run the study anew without --resume"
        )
    was = kept.read_text(encoding="utf-8").splitlines()
    now = study.source_text.splitlines()
    matcher = difflib.SequenceMatcher(None, was, now, autojunk=False)
    for tag, was_from, was_to, now_from, now_to in matcher.get_opcodes():
        if tag != "equal":
            old, new = was[was_from:was_to][:1], now[now_from:now_to][:1]
            return [f"line {now_from + 1} of {study.path} was {_shown(old)}, is {_shown(new)}"]
    return []


def _shown(line: list[str]) -> str:
    return f"'{line[0].strip()}'" if line else "not there"
