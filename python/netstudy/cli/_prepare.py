"""Turns the options of the command line into a plan, its cost, and its invocation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.cli._terminal import PlanProgress
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.plan import PlannedStudy
    from netstudy.store import Invocation
    from netstudy.store.invocation import InventoryCopy
    from netstudy.study import Study

DEFAULT_TESTBED = "sim"
_YAML = (".yaml", ".yml")
_CARRIED_OUT = ("topology", "workload", "procedure", "instruments", "replicates")
"""Keys of a study that describe how its runs are made."""


@dataclass(frozen=True)
class Asked:
    """The options of `plan` and `run` that determine the runs; None or empty if not given."""

    study: Path
    seed: int | None = None
    only: Sequence[str] = ()
    overrides: Sequence[str] = ()
    quick: bool = False
    testbed: str | None = None
    """The name of a testbed, or the path of an inventory of hosts."""
    variant: str | None = None
    scale: str | None = None
    without: Sequence[str] = ()


@dataclass(frozen=True)
class Prepared:
    """A study that is ready to run."""

    written: Study
    """The study as it is in its file."""
    study: Study
    """The study in the requested variant and short form, with the overrides."""
    planned: PlannedStudy
    invocation: Invocation

    def unsupported(self) -> list[str]:
        """One sentence for each part of the study that this version does not support."""
        from netstudy.plan import unsupported
        from netstudy.study.vocabulary import NOTHING_RUNS

        found = unsupported(self.study, self.invocation.testbed)
        if self.invocation.testbed in NOTHING_RUNS:
            found += self._not_measured()
        return [*found, *self._not_grown()]

    def missing_controls(self) -> Sequence[str]:
        """One sentence for each congestion control that the testbed does not have."""
        from netstudy.study.vocabulary import TESTBEDS
        from netstudy.testbed import invoked

        if not self.planned.one_of_each or self.invocation.testbed not in TESTBEDS:
            return ()
        return invoked(self.invocation).missing_controls(self.planned.plan_of_one_each)

    def _not_measured(self) -> list[str]:
        """One sentence for each part of the study for which tables or files have no values."""
        from netstudy.analysis.caveats import Planned
        from netstudy.analysis.caveats.not_measured import not_in_data
        from netstudy.analysis.workloads import workload_of
        from netstudy.report.caveats import caveat_sentence

        plan = self.planned.plan
        found = not_in_data(Planned(self.study, plan, workload_of(plan)))
        return [str(caveat_sentence(one)) for one in found]

    def _not_grown(self) -> list[str]:
        """One sentence for each growing factor whose end this workload's metrics cannot decide."""
        if self.planned.one_of_each is None or not self.invocation.has_rounds(self.study):
            return []
        from netstudy.analysis.growth import unsupported

        return unsupported(self.study, self.planned.plan_of_one_each)


def chosen(option: str | None) -> tuple[str, InventoryCopy | None]:
    """The testbed that `--testbed` selects, with a copy of the inventory if it is a file of hosts.
    Raises StudyError if the inventory cannot be used."""
    from netstudy.documents.source import read
    from netstudy.inventory import parse_inventory
    from netstudy.store.invocation import InventoryCopy
    from netstudy.study.vocabulary import HOSTS

    if option == HOSTS:
        raise StudyError(
            "name the file that lists your hosts, such as --testbed hosts.yaml; `netstudy init "
            f"--like {HOSTS}` writes one to start from",
            "--testbed",
        )
    if option is None or Path(option).suffix not in _YAML:
        return option or DEFAULT_TESTBED, None
    text = read(Path(option)).text
    parse_inventory(text, option)
    return HOSTS, InventoryCopy(path=option, text=text)


def prepare(asked: Asked, on_count: Callable[[int], None] | None = None) -> Prepared:
    """Load the study, apply the options, and make the plan. Raises StudyError.

    `on_count` is called with the number of runs before anything is planned, and may raise an error.
    """
    from netstudy.plan import make_plan, measured_plan, published_plan
    from netstudy.store import Invocation
    from netstudy.study import load, parse_only
    from netstudy.study.vocabulary import NOTHING_RUNS, PUBLISHED
    from netstudy.units import parse_scale

    as_written = load(asked.study)
    testbed, inventory = _of_study(as_written, asked.testbed)
    told = Invocation(
        study=str(asked.study),
        testbed=testbed,
        inventory=inventory,
        seed=as_written.seed,
        overrides=pairs(asked.overrides, "--set"),
        quick=asked.quick,
        without=list(asked.without),
    )
    # The options --set and --without may add or remove variants, so they are applied before a
    # variant is chosen.
    variant = _variant(told.with_variants(as_written), asked.variant, testbed)
    told = told.model_copy(update={"variant": variant})
    study = told.applied_to(as_written)
    if asked.quick:
        _refuse_without_short_form(study, variant)
    found = {
        "seed": study.seed if asked.seed is None else asked.seed,
        "scale": _scale(study, asked.scale, variant),
        "only": parse_only(asked.only, study),
    }
    invocation = told.model_copy(update=found)
    only = invocation.levels_kept(study)
    if testbed in NOTHING_RUNS:
        _refuse_without_effect(asked, testbed, invocation.scale)
        plan_of = published_plan if testbed == PUBLISHED else measured_plan
        planned = plan_of(study, seed=invocation.seed, only=only)
    else:
        scale = parse_scale(invocation.scale or 1)
        planned = make_plan(
            study,
            seed=invocation.seed,
            only=only,
            scale=scale,
            traces=invocation.traces,
            on_count=on_count,
            on_planning=PlanProgress(),
        )
        _refuse_without_growth(planned)
    return Prepared(as_written, study, planned, invocation)


def _of_study(study: Study, option: str | None) -> tuple[str, InventoryCopy | None]:
    """The testbed that `--testbed` selects, or that the study needs. Raises StudyError if the
    testbed does not fit the study."""
    from netstudy.study.vocabulary import MEASURED

    if option is None and study.is_measured:
        return MEASURED, None
    testbed, inventory = chosen(option)
    if study.is_measured and testbed != MEASURED:
        raise StudyError(
            f"--testbed {option}: the study's runs were measured elsewhere, so that nothing can be "
            "run; leave the option out"
        )
    if testbed == MEASURED and not study.is_measured:
        raise StudyError(
            f"--testbed {MEASURED}: the study has no files of measurements; `netstudy import` "
            "makes a study from files"
        )
    return testbed, inventory


def _refuse_without_growth(planned: PlannedStudy) -> None:
    """Refuses a choice of levels after which a test case with a growing factor has no treatment
    left, since its growth could not be judged."""
    there = {cell.case for cell in planned.cells}
    for case in planned.study.cases:
        if case.growing is not None and case.name not in there:
            raise StudyError(
                f"nothing is left of case {case.name}, whose {case.growing.name} grows: none of "
                "its treatments has the levels of --only; choose levels of this case, or leave it "
                f"out with --without cases.{case.name}"
            )


def _refuse_without_short_form(study: Study, variant: str | None) -> None:
    """Refuses `--quick` if the study has no short form, because it would run in full."""
    if not study.quick.set and not study.quick.only:
        of = "" if variant is None else f" in its variant for {variant}"
        where = "quick" if variant is None else f"testbeds.{variant}.quick"
        raise StudyError(
            f"--quick: the study has no short form{of}; write one under `{where}`, or use --only "
            "and --set"
        )


def _refuse_without_effect(asked: Asked, testbed: str, scale: str | None) -> None:
    """Refuses options that change the execution of runs: they have no effect on runs that were
    measured elsewhere."""
    refused = [] if scale is None else [f"--scale {scale}"]
    for option in asked.overrides:
        key = option.partition("=")[0].strip().partition(".")[0]
        refused += [f"--set {option}"] if key in _CARRIED_OUT else []
    if refused:
        raise StudyError(
            f"{', '.join(refused)}: changes how runs are made, but --testbed {testbed} makes "
            "none: it reads values that were measured elsewhere"
        )


def _variant(study: Study, asked: str | None, testbed: str) -> str | None:
    """The requested variant or, by default, the study's variant for the testbed, if there is
    one."""
    if asked is None:
        family = testbed.split("-")[0]  # netns-kernel uses the variant for netns
        return next((name for name in (testbed, family) if name in study.testbeds), None)
    if asked not in study.testbeds:
        has = ", ".join(study.testbeds) or "none"
        raise StudyError(f"the study has no variant for {asked}; it has: {has}", "--variant")
    return asked


def _scale(study: Study, asked: str | None, variant: str | None) -> str | None:
    """The requested scale or, by default, that of the variant; None if link rates are not
    scaled."""
    if asked is not None:
        return scale_text(asked)
    said = study.testbeds[variant].scale if variant else None
    return None if said is None else str(said)


def scale_text(asked: str) -> str:
    """`--scale` in lowest terms. Raises StudyError."""
    from netstudy.units import parse_scale

    try:
        return str(parse_scale(asked))
    except ValueError as error:
        raise StudyError(str(error), "--scale") from None


def pairs(items: Sequence[str], option: str) -> dict[str, str]:
    """`NAME=VALUE` items as a mapping. Raises StudyError for an item without `=`, and for a name
    that is given twice."""
    found: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise StudyError(f"{option} {item}: write it as NAME=VALUE")
        if name.strip() in found:
            raise StudyError(f"{option} {item}: {name.strip()} is given twice")
        found[name.strip()] = value.strip()
    return found
