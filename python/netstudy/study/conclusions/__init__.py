"""The conclusions that a study may ask for: keys and checks, one file per kind.

Only `KINDS` lists the kinds; other modules use the base class `Conclusion`.
"""

from __future__ import annotations

from typing import Annotated, Final

from netstudy.documents.shapes import ByKey
from netstudy.study.conclusions.base import Conclusion
from netstudy.study.conclusions.bottleneck import Bottleneck
from netstudy.study.conclusions.bypasses_the_wire import BypassesTheWire
from netstudy.study.conclusions.compare import Comparison
from netstudy.study.conclusions.equivalent import Equivalence
from netstudy.study.conclusions.extrapolate import Extrapolation
from netstudy.study.conclusions.first_repetition import FirstRepetition
from netstudy.study.conclusions.knee import Knee
from netstudy.study.conclusions.limit import Limit
from netstudy.study.conclusions.loss_against_ideal import ScalingLoss
from netstudy.study.conclusions.plateau import Plateau
from netstudy.study.conclusions.substitution import Substitution
from netstudy.study.conclusions.where_time_goes import WhereTimeGoes

__all__ = ["KINDS", "AnyConclusion", "Conclusion"]

KINDS: Final[tuple[type[Conclusion], ...]] = (
    Bottleneck,
    Plateau,
    BypassesTheWire,
    FirstRepetition,
    Substitution,
    Limit,
    Comparison,
    Extrapolation,
    Equivalence,
    Knee,
    ScalingLoss,
    WhereTimeGoes,
)
"""Every kind, in the order of the documentation."""

AnyConclusion = Annotated[Conclusion, ByKey(**{kind.key(): kind for kind in KINDS})]
