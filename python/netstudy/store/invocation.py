"""The arguments of a run of a study: they are stored with the results, and compared when the run is
resumed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from netstudy.version import __version__
from netstudy.wire import Level

if TYPE_CHECKING:
    from netstudy.study import Study

_VARIANTS = "testbeds"
_QUICK = "quick"
"""The keys of a study file that declare its variants and its short form."""


class InventoryCopy(BaseModel):
    """The inventory of hosts as it was when the run began; `--resume` uses the same hosts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    """Path of the file, as given on the command line."""
    text: str


class Invocation(BaseModel):
    """The arguments of `netstudy run` that decide what is run (`invocation.json`)."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    study: str
    """Path of the study file, as given on the command line. The text is in study.yaml."""
    testbed: str
    inventory: InventoryCopy | None = Field(default=None, exclude_if=lambda copy: copy is None)
    """The inventory, if the testbed is `hosts`."""
    seed: int
    only: dict[str, list[Level]] = {}
    """Factor -> the levels that are run (`--only`)."""
    overrides: dict[str, str] = {}
    """Values changed for this run (`--set`)."""
    quick: bool = False
    """Whether the study's short form was requested."""
    variant: str | None = Field(default=None, validation_alias=AliasChoices("variant", "form"))
    """The testbed whose variant of the study was run; None: no variant. Older folders call this
    field `form`."""
    scale: str | None = None
    """The factor by which all link rates were multiplied; None: the study's own rates."""
    without: list[str] = []
    """Parts of the study that were left out by name (`--without`)."""
    versions: dict[str, str] = {"netstudy": __version__}

    @property
    def testbed_option(self) -> str:
        """The value of `--testbed` on the command line."""
        return self.testbed if self.inventory is None else self.inventory.path

    def applied_to(self, study: Study) -> Study:
        """The study as it is run: in its variant and short form, with the overrides, and without
        the parts that were left out. Overrides that change a variant or the short form are applied
        first."""
        from netstudy.study import in_variant, quick_form

        declared = self.with_variants(study)
        varied = in_variant(declared, self.variant) if self.variant else declared
        short = self._changed(varied, _QUICK)
        return self._changed(quick_form(short) if self.quick else short, None)

    def with_variants(self, study: Study) -> Study:
        """The study with the overrides that change its variants, and without the variants that were
        left out."""
        return self._changed(study, _VARIANTS)

    def _changed(self, study: Study, part: str | None) -> Study:
        """The study with the overrides that concern one part of the study file, `_VARIANTS` or
        `_QUICK`; None: with all other overrides."""
        from netstudy.study import apply_overrides, without_parts

        overrides = {path: v for path, v in self.overrides.items() if _form_of(path) == part}
        without = [path for path in self.without if _form_of(path) == part]
        changed = apply_overrides(study, overrides) if overrides else study
        return without_parts(changed, without) if without else changed

    def has_rounds(self, study: Study) -> bool:
        """Whether further runs depend on the results: a factor grows, and the testbed is not
        `published`."""
        return study.grows and self.testbed != "published"

    @property
    def traces(self) -> bool:
        """True if the testbed traces the first replicate of each cell."""
        return self.testbed == "sim"

    def levels_kept(self, study: Study) -> dict[str, Sequence[Level]]:
        """Factor -> the levels to run. `--only` takes precedence over the short form, and the short
        form over the variant."""
        from netstudy.study import quick_only, variant_only

        return {
            **(variant_only(study, self.variant) if self.variant else {}),
            **(quick_only(study) if self.quick else {}),
            **self.only,
        }


def _form_of(path: str) -> str | None:
    """The part of the study file, `_VARIANTS` or `_QUICK`, that a path is in; None if it is in
    neither."""
    part = path.partition(".")[0].strip()
    return part if part in (_VARIANTS, _QUICK) else None
