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
    versions: dict[str, str] = {"netstudy": __version__}

    def applied_to(self, study: Study) -> Study:
        """The study with its short form and the overrides, where they were asked for."""
        from netstudy.study import apply_overrides, quick_form

        chosen = quick_form(study) if self.quick else study
        return apply_overrides(chosen, self.overrides) if self.overrides else chosen

    def levels_kept(self, study: Study) -> dict[str, Sequence[Level]]:
        """Factor -> the levels that are run: the short form's, replaced by those of `--only`."""
        from netstudy.study import quick_only

        return {**(quick_only(study) if self.quick else {}), **self.only}
