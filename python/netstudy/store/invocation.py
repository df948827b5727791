"""How a run of a study was asked for: kept beside the results, compared on resume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from netstudy import __version__
from netstudy.wire import Level

if TYPE_CHECKING:
    from netstudy.study import Study


class Invocation(BaseModel):
    """The arguments of `netstudy run` that decide what is run (`invocation.json`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    study: str
    """The study file as it was named; where it was, not what it said (study.yaml says that)."""
    testbed: str
    seed: int
    only: dict[str, list[Level]] = {}
    """Subset of levels a factor (`--only`)."""
    overrides: dict[str, str] = {}
    """Values changed for this run (`--set`)."""
    quick: bool = False
    """Whether the study's short form was asked for."""
    form: str | None = None
    """The testbed in whose form the study was carried out; None: as it stands."""
    scale: str | None = None
    """What all link rates were multiplied by; None: they are the study's."""
    without: list[str] = []
    """Parts of the study that were left out by name (`--without`)."""
    versions: dict[str, str] = {"netstudy": __version__}

    def applied_to(self, study: Study) -> Study:
        """The study in its testbed's form and its short form, with the overrides and without the
        parts that were left out, as asked for."""
        from netstudy.study import apply_overrides, in_form, quick_form, without_parts

        formed = in_form(study, self.form) if self.form else study
        chosen = quick_form(formed) if self.quick else formed
        changed = apply_overrides(chosen, self.overrides) if self.overrides else chosen
        return without_parts(changed, self.without) if self.without else changed

    def levels_kept(self, study: Study) -> dict[str, Sequence[Level]]:
        """Factor -> the levels that are run: the form's, then the short form's, then `--only`."""
        from netstudy.study import form_only, quick_only

        return {
            **(form_only(study, self.form) if self.form else {}),
            **(quick_only(study) if self.quick else {}),
            **self.only,
        }
