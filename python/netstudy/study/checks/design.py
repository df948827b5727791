"""Checks of factors, references, holes, fixed levels, and the short form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from netstudy.documents.fields import Ref
from netstudy.documents.nearest import did_you_mean, suggestion
from netstudy.documents.problems import DocumentError, Path, Problem
from netstudy.documents.validation import validate
from netstudy.study.file import StudyFile
from netstudy.study.levels import level_text
from netstudy.study.model import Case, Factor, Study
from netstudy.study.references import references
from netstudy.study.selection import select
from netstudy.study.treatments import count_treatments, treatments

RUNS_MAX = 1_000_000
"""The most runs of a plan: more would not fit into memory, and nobody would read their results."""


def design_problems(study: Study) -> Iterator[Problem]:
    """Problems of factors, fixed levels and references."""
    design = [problem for case in study.cases for problem in _case_problems(study, case)]
    yield from design
    yield from _fixed_problems(study)
    yield from _reference_problems(study)
    if not design:
        yield from _size_problems(study)


def reference_scope(study: Study) -> list[tuple[Path, Ref]]:
    """Every reference of the study, with its path."""
    parts = (
        ("topology", study.topology),
        ("workload", study.workload),
        ("procedure", study.procedure),
    )
    return [found for name, part in parts for found in references(part, (name,))]


def unused_problems(study: Study) -> Iterator[Problem]:
    """Factors that nothing refers to: their levels would repeat the same run. A factor with a
    single level is exempt: it is a label."""
    refs = {ref.name for _, ref in reference_scope(study)}
    used = refs | {name.partition(".")[0] for name in refs}
    for factor in study.factors.values():
        keys = {key for level in factor.levels for key in level.fields}
        fields = {f"{factor.name}.{key}" for key in keys} | (keys - study.factors.keys())
        if len(factor.levels) < 2 or factor.name in used or fields & used:
            continue
        message = (
            f"nothing uses this factor; write ${{{factor.name}}} where its level belongs, or "
            "leave it out"
        )
        for path in _places_of(study, factor.name):
            yield study.document.problem(path, message, of_key=True)


def _set_by_variants(study: Study) -> set[str]:
    """Names of the references that variants set as values."""
    return {
        name
        for variant in study.testbeds.values()
        for value in variant.set.values()
        for name in re.findall(r"\$\{([\w.]+)\}", str(value))
    }


def unused_field_problems(study: Study) -> Iterator[Problem]:
    """Fields of levels that no reference uses, not even one in a variant; each is reported once. A
    factor with a single level is exempt: its fields are labels."""
    if study.is_measured:
        return  # levels are labels
    used = {ref.name for _, ref in reference_scope(study)} | _set_by_variants(study)
    seen: set[str] = set()
    for case in study.cases:
        for factor in case.factors:
            for level in factor.levels if len(factor.levels) > 1 else ():
                for key in level.fields:
                    full = f"{factor.name}.{key}"
                    names = {full} if key in study.factors else {key, full}
                    if full in seen or names & used:
                        continue
                    seen.add(full)
                    message = (
                        f"nothing uses this field; write ${{{full}}} where it belongs, or leave "
                        "the field out"
                    )
                    path = (*factor.path_of(level), key)
                    yield study.document.problem(path, message, of_key=True)


def _places_of(study: Study, factor: str) -> Iterator[Path]:
    """Places of a factor in the file: in each case that varies it, else where it is fixed."""
    varied = [found.path for case in study.cases if (found := case.factor(factor))]
    yield from varied
    if not varied:
        held = (study.path_of_fixed(case, factor) for case in study.cases if factor in case.fixed)
        yield from dict.fromkeys(held)


def _case_problems(study: Study, case: Case) -> Iterator[Problem]:
    problem = study.document.problem
    if not case.factors:
        yield problem(case.path, "needs factors: at least one, with its levels")
    for name in study.file.cases[case.name].fixed if case.path else ():
        if case.factor(name):
            yield problem(
                (*case.path, "fixed", name),
                "is also in the factors of this case; keep one of the two",
            )
    yield from _zip_problems(study, case)
    yield from _hole_problems(study, case)
    yield from _growth_problems(study, case)


def _zip_problems(study: Study, case: Case) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, names in enumerate(case.zip):
        path = (*case.path, "zip", index)
        unknown = [(at, name) for at, name in enumerate(names) if not case.factor(name)]
        for at, name in unknown:
            yield study.document.problem((*path, at), _no_factor(case, name))
        if not unknown:
            yield from _group_problems(study, path, [f for f in case.factors if f.name in names])
        for at, name in enumerate(names):
            if name in seen:
                yield study.document.problem(
                    (*path, at), f"{name} is already zipped in another group"
                )
            seen.add(name)


def _group_problems(study: Study, path: Path, group: list[Factor]) -> Iterator[Problem]:
    if len(group) < 2:
        yield study.document.problem(path, "a group of zipped factors needs at least two factors")
    lengths = {factor.name: len(factor.levels) for factor in group}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        yield study.document.problem(path, f"zipped factors need the same number of levels; {said}")


def _hole_problems(study: Study, case: Case) -> Iterator[Problem]:
    for index, hole in enumerate(case.holes):
        path = (*case.path, "holes", index)
        if not hole:
            yield study.document.problem(path, "names no factor, so it would leave out everything")
        for name, wanted in hole.items():
            factor = case.factor(name)
            if factor is None:
                message = _no_factor(case, name)
                yield study.document.problem((*path, name), message, of_key=True)
                continue
            try:
                select(factor, wanted)
            except ValueError as error:
                yield study.document.problem((*path, name), str(error))


def _growth_problems(study: Study, case: Case) -> Iterator[Problem]:
    """Only one factor of a case may grow, and only if replicates or a noise margin can show whether
    a gain is real."""
    first = case.growing
    if first is None:
        return
    for factor in case.factors:
        if factor.growth is None or factor == first:
            continue
        message = (
            f"grows, and so does {first.name}; only one factor of a case may grow: list the levels"
        )
        yield study.document.problem((*case.path, "factors", factor.name), message, of_key=True)
    if study.margin_pct is None and study.replicates < 2:
        message = (
            "cannot grow: one replicate without noise cannot show whether a gain is chance; write "
            "noise, such as noise: 2 %, or replicates: 3"
        )
        yield study.document.problem((*case.path, "factors", first.name), message, of_key=True)


def _no_factor(case: Case, name: str) -> str:
    names = [factor.name for factor in case.factors]
    return f'no factor "{name}"{did_you_mean(name, names)}'


def _fixed_problems(study: Study) -> Iterator[Problem]:
    used = {factor.name for case in study.cases for factor in case.factors}
    used |= {ref.name for _, ref in reference_scope(study)}
    for path, fixed in _fixed(study):
        for name in fixed:
            if name not in used:
                message = f"no factor or setting uses this level{suggestion(name, used)}"
                yield study.document.problem((*path, name), message, of_key=True)


def _fixed(study: Study) -> Iterator[tuple[Path, dict[str, object]]]:
    yield ("fixed",), dict(study.file.fixed)
    for name, design in study.file.cases.items():
        yield ("cases", name, "fixed"), dict(design.fixed)


def _reference_problems(study: Study) -> Iterator[Problem]:
    owners = _owners(study)
    for path, ref in reference_scope(study):
        found = owners.get(ref.name, [])
        if not found:
            message = f'unknown reference "${{{ref.name}}}"{_nearest_reference(ref.name, owners)}'
            yield study.document.problem(path, message)
        elif len(found) > 1:
            said = " or ".join(f'"${{{name}}}"' for name in found)
            yield study.document.problem(path, f'"${{{ref.name}}}" is ambiguous; write {said}')
        else:
            for case in study.cases:
                yield from _level_problems(study, case, path, ref, found[0])


def _nearest_reference(name: str, owners: dict[str, list[str]]) -> str:
    hint = suggestion(name, owners)
    if hint:
        nearest = hint.split('"')[1]
        return f'; did you mean "${{{nearest}}}"?'
    return did_you_mean(name, owners)


def _owners(study: Study) -> dict[str, list[str]]:
    """Name in a reference -> the unambiguous names that it may stand for. The name of a factor
    always stands for its level; a field with the same name as a factor must be written as
    `factor.field`."""
    owners: dict[str, list[str]] = {}
    for factor in study.factors.values():
        owners.setdefault(factor.name, []).append(factor.name)
        for key in dict.fromkeys(key for level in factor.levels for key in level.fields):
            full = f"{factor.name}.{key}"
            if key not in study.factors:
                owners.setdefault(key, []).append(full)
            owners.setdefault(full, []).append(full)
    return owners


def _level_problems(
    study: Study, case: Case, path: Path, ref: Ref, owner: str
) -> Iterator[Problem]:
    """Levels of one case that a reference cannot use, because they are missing or of the wrong
    kind."""
    name, _, key = owner.partition(".")
    user = ".".join(str(part) for part in path)
    factor = case.factor(name)
    if factor is None and name not in case.fixed:
        message = f"gives no level for {name}, which {user} uses; add it to fixed or to factors"
        yield study.document.problem(case.path, message, of_key=True)
        return
    names = factor.names if factor else (case.fixed[name],)
    for level_name in names:
        level = study.factors[name].level(level_name)
        place = factor.path_of(level) if factor and level else study.path_of_fixed(case, name)
        fields = level.fields if level else {}
        if key and key not in fields:
            message = f'level "{level_text(level_name)}" has no {key}, which {user} uses'
            yield study.document.problem(place, message + suggestion(key, fields))
            continue
        try:
            ref.scalar.parse(fields[key] if key else level_name)
        except ValueError as error:
            at = (*place, key) if key else place
            yield study.document.problem(at, f"{error} (used by {user})")


def quick_problems(study: Study) -> Iterator[Problem]:
    """Problems of the short form."""
    for name, wanted in study.quick.only.items():
        path = ("quick", "only", name)
        factor = study.factors.get(name)
        if factor is None:
            message = f'no factor "{name}"{did_you_mean(name, study.factors)}'
            yield study.document.problem(path, message, of_key=True)
            continue
        try:
            select(factor, wanted)
        except ValueError as error:
            yield study.document.problem(path, str(error))
    for key, value in study.quick.set.items():
        path = ("quick", "set", key)
        try:
            changed = study.document.overridden(tuple(key.split(".")), value, key)
            validate(changed, StudyFile)
        except DocumentError as error:
            for found in error.problems:
                message = f"{found.part}: {found.message}" if found.part != key else found.message
                yield study.document.problem(path, message, of_key=True)


def _size_problems(study: Study) -> Iterator[Problem]:
    most = sum(count_treatments(case) for case in study.cases) * study.replicates
    if most > RUNS_MAX:
        message = f"the plan would have {most:,} runs; netstudy plans {RUNS_MAX:,} at most"
        path: Path = ("cases",) if study.file.cases else ("factors",)
        yield study.document.problem(path, message, of_key=True)
        return
    for case in study.cases:
        if case.holes and next(treatments(case), None) is None:
            yield study.document.problem((*case.path, "holes"), "leave nothing to run")
