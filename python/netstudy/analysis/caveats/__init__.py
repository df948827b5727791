"""Caveats: reasons for caution before a result is trusted. Each kind has one file here, and one of
the same name, with its sentence, in the report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from netstudy.analysis.caveats.assumed_costs import AssumedCosts, BuiltInApplication
from netstudy.analysis.caveats.base import Analysed, Caveat, Planned
from netstudy.analysis.caveats.failed_runs import EmptyCells, FailedRuns, RepeatedRuns, RunsSetAside
from netstudy.analysis.caveats.few_repetitions import FewRepetitions
from netstudy.analysis.caveats.few_runs import DependentRuns, FewRuns, IdenticalRuns, SingleRuns
from netstudy.analysis.caveats.few_samples import FewSamples, FewSamplesExpected
from netstudy.analysis.caveats.marking import NeverMarks, NobodyListens, NoMark, NothingMarks
from netstudy.analysis.caveats.never_filled import CannotFill, NeverFilled
from netstudy.analysis.caveats.never_triggered import NoLoss, NoSignal, NoTimeout
from netstudy.analysis.caveats.no_queue import NoQueue
from netstudy.analysis.caveats.not_measured import NotMeasured
from netstudy.analysis.caveats.not_sampled import NotSampled, TooSeldom
from netstudy.analysis.caveats.not_shown import LeftOut, NotShown
from netstudy.analysis.caveats.pause import NoPause
from netstudy.analysis.caveats.published_data import (
    ContradictedOrder,
    ContradictoryValue,
    UncomparedTotal,
    UnreadReference,
)
from netstudy.analysis.caveats.run_order import Drift, LevelsInTurn, Sessions, UnknownOrder
from netstudy.analysis.caveats.same_levels import SameLevels, SameProgram, SameProgramDiffers
from netstudy.analysis.caveats.service_demand import OffDemand
from netstudy.analysis.caveats.short_phase import ShortPhase, UnsettledMean
from netstudy.analysis.caveats.size_law import OffLaw
from netstudy.analysis.caveats.testbed_limits import DisagreeingInstruments, ExceededLimit
from netstudy.analysis.caveats.unanswered import MeanOfAllUsers, StarvedUsers, Unanswered
from netstudy.analysis.caveats.unexplained_waits import UnexplainedWaits
from netstudy.analysis.caveats.warm_up import OnlyAtFirst, ShortWarmUp
from netstudy.analysis.claims import Claim

__all__ = ["KINDS", "Analysed", "Caveat", "Planned", "forbidding", "foreseen", "found", "in_answer"]

KINDS: Final[tuple[type[Caveat], ...]] = (
    Drift,
    LevelsInTurn,
    UnknownOrder,
    Sessions,
    DependentRuns,
    BuiltInApplication,
    AssumedCosts,
    FailedRuns,
    RepeatedRuns,
    RunsSetAside,
    EmptyCells,
    FewRuns,
    IdenticalRuns,
    OnlyAtFirst,
    ShortWarmUp,
    UnexplainedWaits,
    OffLaw,
    OffDemand,
    ContradictoryValue,
    UncomparedTotal,
    Unanswered,
    StarvedUsers,
    MeanOfAllUsers,
    UnsettledMean,
    SameLevels,
    SameProgram,
    NothingMarks,
    NobodyListens,
    NeverMarks,
    CannotFill,
    NotSampled,
    TooSeldom,
    FewRepetitions,
    SameProgramDiffers,
    NeverFilled,
    NoTimeout,
    NoLoss,
    NoSignal,
    NoMark,
    NoPause,
    NotMeasured,
    FewSamples,
    UnreadReference,
    ContradictedOrder,
    ExceededLimit,
    DisagreeingInstruments,
    NotShown,
    LeftOut,
    FewSamplesExpected,
    SingleRuns,
    ShortPhase,
    NoQueue,
)
"""Every kind of caveat, in the order of the report."""


def foreseen(planned: Planned) -> tuple[Caveat, ...]:
    """The caveats that a plan shows before its runs."""
    return tuple(one for kind in KINDS for one in kind.in_plan(planned))


def found(analysed: Analysed) -> tuple[Caveat, ...]:
    """The caveats of a study after its runs."""
    return tuple(one for kind in KINDS for one in kind.in_results(analysed))


def forbidding(claims: Iterable[Claim], caveats: Iterable[Caveat]) -> tuple[Caveat, ...]:
    """The caveats that forbid one of the claims."""
    made = tuple(claims)
    return tuple(one for one in caveats if any(map(one.forbids, made)))


def in_answer(claims: Iterable[Claim], caveats: Iterable[Caveat]) -> tuple[Caveat, ...]:
    """The caveats of the answer's box: a caveat in it forbids one of the claims that the answer
    could make, or holds for all of its figures. The others are only listed."""
    made = tuple(claims)
    return tuple(one for one in caveats if one.is_in_answer or any(map(one.forbids, made)))
