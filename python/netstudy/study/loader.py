"""Loading a study: read the file, check its shape, check that it makes sense as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import DocumentError, Place, Problem, fail, raise_problems
from netstudy.documents.source import Document, parse_value, read
from netstudy.documents.validation import validate
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.study.checks import problems_of
from netstudy.study.checks.design import quick_problems
from netstudy.study.checks.outcome import reference_problems
from netstudy.study.file import StudyFile
from netstudy.study.model import Study
from netstudy.study.selection import form_only
from netstudy.study.vocabulary import TESTBEDS


def load(
    path: Path, *, hardware: HardwareLibrary | None = None, trusts_data: bool = False
) -> Study:
    """Read a study from a `study.yaml` or the folder that holds one.

    Files that the study names (reference data, profiles of its own) are looked up beside it.
    `trusts_data` leaves reference data unchecked, as of a study that was carried out already.
    Raises StudyError with `file:line:column` for every problem found.
    """
    file = path / "study.yaml" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        fail(Problem(Place(str(path)), "", "the folder has no study.yaml"))
    study = _checked(file, read(file), hardware)
    data = () if trusts_data else reference_problems(study)
    raise_problems([*quick_problems(study), *data, *_form_problems(study, hardware)])
    return study


def apply_overrides(
    study: Study,
    overrides: Mapping[str, object],
    *,
    hardware: HardwareLibrary | None = None,
) -> Study:
    """The study with values set by path: {"workload.incast.iterations": "60"}.

    Text is read as YAML. The result is checked like a file. Raises StudyError naming the option.
    """
    document = study.document
    for path, value in overrides.items():
        document = _overridden(document, path, value)
    changed = _checked(study.path, document, hardware)
    if any(path.partition(".")[0] == "reference" for path in overrides):
        raise_problems(reference_problems(changed))
    return changed


def quick_form(study: Study, *, hardware: HardwareLibrary | None = None) -> Study:
    """The study with the values of its short form set; `quick_only` gives the levels kept."""
    return apply_overrides(study, study.quick.set, hardware=hardware)


def in_form(study: Study, name: str, *, hardware: HardwareLibrary | None = None) -> Study:
    """The study in the form that it has for a testbed: its factors, values and short form set.

    `study.testbeds[name]` holds the levels that are kept and the scale.
    """
    document, inside = study.document, ("testbeds", name)
    written = document.data["testbeds"][name]
    for factor, levels in written.get("factors", {}).items():
        place = study.document.place((*inside, "factors", factor), of_key=True)
        document = document.overridden(("factors", factor), levels, place)
    for path, value in study.testbeds[name].set.items():
        place = study.document.place((*inside, "set", path), of_key=True)
        document = document.overridden(tuple(path.split(".")), value, place)
    quick = written.get("quick", {})
    document = document.overridden(("quick",), quick, study.document.place((*inside, "quick")))
    return _checked(study.path, document, hardware)


def _form_problems(study: Study, hardware: HardwareLibrary | None) -> Iterator[Problem]:
    """What is wrong with the forms: their names, and each study that they make of this one."""
    for name in study.testbeds:
        if name not in TESTBEDS:
            message = f"no testbed of this name{did_you_mean(name, TESTBEDS)}"
            yield study.document.problem(("testbeds", name), message, of_key=True)
            continue
        try:
            formed = in_form(study, name, hardware=hardware)
            form_only(formed, name)
            raise_problems(quick_problems(formed))
        except DocumentError as error:
            for found in error.problems:
                yield replace(found, message=f"{found.message} (in the form for {name})")


def _overridden(document: Document, path: str, value: object) -> Document:
    source = f"--set {path}={value}"
    keys = tuple(key.strip() for key in path.split("."))
    if not all(keys):
        raise StudyError("a path is keys with dots, such as workload.incast.iterations", source)
    parsed = parse_value(value, source) if isinstance(value, str) else value
    return document.overridden(keys, parsed, source)


def _checked(file: Path, document: Document, hardware: HardwareLibrary | None) -> Study:
    study = Study(file, document, validate(document, StudyFile))
    raise_problems(problems_of(study, hardware or HardwareLibrary.default(study.folder)))
    return study
