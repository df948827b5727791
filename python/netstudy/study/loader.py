"""Loads a study: reads the file, checks each part, and checks that the parts are consistent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import (
    DocumentError,
    Place,
    Problem,
    fail,
    raise_problems,
)
from netstudy.documents.problems import (
    Path as Inside,
)
from netstudy.documents.source import Document, parse_value, read, read_text
from netstudy.documents.validation import validate
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.study.checks import problems_of
from netstudy.study.checks.design import quick_problems, unused_field_problems
from netstudy.study.checks.ignored import unmatched_hole_problems, varying_fixed_problems
from netstudy.study.checks.outcome import reference_problems
from netstudy.study.file import StudyFile
from netstudy.study.measured import declared, metrics_of_files, metrics_of_hosts
from netstudy.study.model import Study
from netstudy.study.selection import variant_only
from netstudy.study.undrawn import undrawn
from netstudy.study.vocabulary import TESTBEDS, OfFiles, Quantity, measuring
from netstudy.study.workloads import WORDS, Workload


def load(
    path: Path, *, hardware: HardwareLibrary | None = None, was_carried_out: bool = False
) -> Study:
    """Read a study from a `study.yaml` or the folder that holds one.

    Files that the study names (reference data, its own profiles) are looked up in the study's
    folder. For a study that was already run (`was_carried_out`), the checks of its report and of
    settings without effect are skipped. Raises StudyError with `file:line:column` for every problem
    found.
    """
    file = path / "study.yaml" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        fail(Problem(Place(str(path)), "", f"the folder has no study.yaml{_studies_below(path)}"))
    study = _checked(file, read(file), hardware, was_carried_out=was_carried_out)
    if not was_carried_out:
        extras = (*quick_problems(study), *reference_problems(study))
        ignored = (
            *unused_field_problems(study),
            *varying_fixed_problems(study),
            *unmatched_hole_problems(study),
        )
        raise_problems([*extras, *ignored, *_form_problems(study, hardware)])
    return study


def load_text(text: str, path: Path, *, hardware: HardwareLibrary | None = None) -> Study:
    """A study from its text, checked like the file `path`. Raises StudyError."""
    return _checked(path, read_text(text, str(path)), hardware, was_carried_out=False)


def _studies_below(folder: Path, most: int = 10) -> str:
    """The end of a message: the studies in the folders below, two levels deep."""
    found = sorted(
        {path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/study.yaml")}
    )
    if not found:
        return ""
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return f"; there are studies in {', '.join(map(str, found[:most]))}{more}"


def apply_overrides(
    study: Study,
    overrides: Mapping[str, object],
    *,
    hardware: HardwareLibrary | None = None,
) -> Study:
    """The study with values set by path: {"workload.incast.iterations": "60"}.

    Text is read as YAML. The result is checked like a file. Raises StudyError, whose message gives
    the option.
    """
    document = study.document
    for path, value in overrides.items():
        document = _overridden(document, path, value)
    changed = _checked(study.path, document, hardware, was_carried_out=study.was_carried_out)
    if any(path.partition(".")[0] == "reference" for path in overrides):
        raise_problems(reference_problems(changed))
    return changed


def quick_form(study: Study, *, hardware: HardwareLibrary | None = None) -> Study:
    """The study with the values of its short form; `quick_only` returns the levels that the short
    form keeps."""
    return apply_overrides(study, study.quick.set, hardware=hardware)


def in_variant(study: Study, name: str, *, hardware: HardwareLibrary | None = None) -> Study:
    """The study in its variant for a testbed: with the variant's factors, values and short form.

    The levels that the variant keeps and its scale are not applied here; see
    `study.testbeds[name]`.
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
    for part in study.testbeds[name].without:
        _paths_of(study, part, str(study.document.place((*inside, "without"))))
    document = _without(study, document, study.testbeds[name].without)
    return _checked(study.path, document, hardware, was_carried_out=study.was_carried_out)


def without_parts(
    study: Study, parts: Sequence[str], *, hardware: HardwareLibrary | None = None
) -> Study:
    """The study as if some parts had not been written: `figures[1]`, `tables[0].normalise`,
    `conclude.bottleneck`. The result is checked like a file. Raises StudyError, whose message gives
    the option.
    """
    document = _without(study, study.document, parts)
    return _checked(study.path, document, hardware, was_carried_out=study.was_carried_out)


def _without(study: Study, document: Document, parts: Sequence[str]) -> Document:
    """`document` without these parts; it is the study's document or a changed version of it."""
    paths = [path for part in parts for path in _paths_of(study, part, f"--without {part}")]
    for path in sorted(set(paths), key=_last_first, reverse=True):
        document = document.without(path)
    return document


def _last_first(path: Inside) -> tuple[tuple[bool, int, str], ...]:
    """Sort key for removing later items of a list first, so that the indices of earlier items stay
    valid."""
    return tuple(
        (isinstance(key, int), key if isinstance(key, int) else 0, str(key)) for key in path
    )


def _paths_of(study: Study, part: str, source: str) -> list[Inside]:
    """The paths of a part that messages and options write as, for example, `conclude.bottleneck`.
    This stands for all conclusions of the kind. `source`: the option or place that gives the
    part."""
    keys = [key for key in re.split(r"\.|\[(\d+)\]", part.strip()) if key]
    if not keys:
        raise StudyError("name a part by its path, such as conclude.bottleneck", source)
    data = study.document.data
    if keys[0] == "conclude" and isinstance(data.get("conclude"), dict):
        data = {**data, "conclude": [data["conclude"]]}
    found = _inside(data, keys)
    if not found:
        known = undrawn(study)
        raise StudyError(f"the study has no such part{did_you_mean(part, known)}", source)
    return found if data is study.document.data else [("conclude",)]


def _inside(data: object, keys: Sequence[str]) -> list[Inside]:
    """Every path in the data that matches the keys."""
    if not keys:
        return [()]
    key, rest = keys[0], keys[1:]
    if isinstance(data, dict):
        return [(key, *path) for path in _inside(data[key], rest)] if key in data else []
    if isinstance(data, list):
        places = [int(key)] if key.isdigit() else _of_kind(data, key)
        return [
            (place, *path)
            for place in places
            if place < len(data)
            for path in _inside(data[place], rest)
        ]
    is_lone_item = key in ("0", data)
    return _inside(data, rest) if is_lone_item else []


def _of_kind(items: Sequence[object], kind: str) -> list[int]:
    """Indices of the items that are this word, or a map with this key."""
    return [
        index
        for index, item in enumerate(items)
        if item == kind or (isinstance(item, dict) and kind in item)
    ]


def _form_problems(study: Study, hardware: HardwareLibrary | None) -> Iterator[Problem]:
    """Problems of the variants: unknown testbeds, and problems of the study in each variant."""
    for name in study.testbeds:
        if name not in TESTBEDS:
            message = f"no testbed of this name{did_you_mean(name, TESTBEDS)}"
            yield study.document.problem(("testbeds", name), message, of_key=True)
            continue
        try:
            formed = in_variant(study, name, hardware=hardware)
            variant_only(formed, name)
            raise_problems(quick_problems(formed))
        except DocumentError as error:
            for found in error.problems:
                yield replace(found, message=f"{found.message} (in the variant for {name})")


def _overridden(document: Document, path: str, value: object) -> Document:
    source = f"--set {path}={value}"
    keys = tuple(key.strip() for key in path.split("."))
    if not all(keys):
        raise StudyError("a path is keys with dots, such as workload.incast.iterations", source)
    _refuse_second_workload(document, keys, source)
    parsed = parse_value(value, source) if isinstance(value, str) else value
    return document.overridden(keys, parsed, source)


def _refuse_second_workload(document: Document, keys: tuple[str, ...], source: str) -> None:
    """Refuse a value of another kind of workload: it would add a second, incomplete workload."""
    kinds, written = Workload.kinds(), document.data.get("workload")
    if keys[0] != "workload" or len(keys) == 1 or not isinstance(written, dict):
        return
    own = next((kind for kind in kinds if kind in written), None)
    if own is not None and keys[1] in kinds and keys[1] != own:
        raise StudyError(
            f"the study's workload is {own}, not {keys[1]}; set its values by workload.{own}.KEY",
            source,
        )


def _kinds(data: Mapping[str, object]) -> list[str] | None:
    """Kinds of workload and instruments in an unchecked study; None if none of them is known."""
    workload, instruments = data.get("workload"), data.get("instruments")
    found = [kind for kind in WORDS if isinstance(workload, dict) and kind in workload]
    samplers = instruments if isinstance(instruments, list) else []
    if any(isinstance(one, dict) and "tcp" in one for one in samplers):
        found.append("tcp")
    return found or None


def _of_files(data: Mapping[str, object]) -> OfFiles | None:
    """The metrics of an unchecked study whose runs were measured elsewhere; None for any other."""
    if "measured" not in data:
        return None
    own = data.get("metrics")
    names = [str(name) for name in own] if isinstance(own, dict) else []
    metrics = metrics_of_files() | {name: declared(name) for name in names}
    hosts = metrics_of_hosts() | {name: Quantity(name, at_port=True) for name in names}
    return OfFiles(metrics, hosts)


def _checked(
    file: Path, document: Document, hardware: HardwareLibrary | None, *, was_carried_out: bool
) -> Study:
    with measuring(_kinds(document.data), _of_files(document.data)):
        checked = validate(document, StudyFile)
    study = Study(file, document, checked, was_carried_out)
    raise_problems(problems_of(study, hardware or HardwareLibrary.default(study.folder)))
    return study
