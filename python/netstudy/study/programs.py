"""The programs that a study starts. A study can name any program, so the user should see which."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.study.loader import in_variant, quick_form
from netstudy.study.model import Study

Command = tuple[str, ...]
"""A program and its arguments."""


def programs_of_forms(study: Study) -> list[Command]:
    """Every program that the study starts in any of its forms: as written, in the variants for
    testbeds, and in the short forms of all of these."""
    if not study.workload.spec.has_application:
        return []
    found = (form.workload.spec.starts for form in _forms(study))
    return list(dict.fromkeys(command for command in found if command))


def _forms(study: Study) -> Iterator[Study]:
    for form in (study, *(in_variant(study, name) for name in study.testbeds)):
        yield form
        if form.quick.set:
            yield quick_form(form)
