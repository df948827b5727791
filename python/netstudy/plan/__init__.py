"""The plan: the runs of a study, their order and their seeds. Planning has no side effects.

Treatments are in the study's order; in the tables, each is a row. Runs come in randomised blocks,
one for each replicate, so that a drift of the testbed does not affect only one level. A run's id is
a hash of its treatment and replicate; a run's seed is a hash of both and the plan's seed. Leaving
runs out (`--only`) or changing a value (`--set`) therefore changes no other run. The same study and
seed give the same plan, byte for byte; the order comes from hashes too, not from a library's random
generator.

A study with a growing factor has rounds: the first plan has the runs that are needed whatever the
results are, and `make_round` plans each further round: the levels that earlier records make
necessary.
"""

from __future__ import annotations

from netstudy.plan.estimate import is_per_hop, useful_packets
from netstudy.plan.identity import run_id, run_seed
from netstudy.plan.loops import OuterLoop, outer_loops
from netstudy.plan.make import make_plan, make_round
from netstudy.plan.measured.files import measured_plan
from netstudy.plan.measured.tables import not_published, published_plan
from netstudy.plan.network import described_tcp, whole_tcp
from netstudy.plan.planned import Cell, Estimate, PlannedStudy
from netstudy.plan.programs import programs_of_runs
from netstudy.plan.support import stated, unsupported
from netstudy.study import parse_only

__all__ = [
    "Cell",
    "Estimate",
    "OuterLoop",
    "PlannedStudy",
    "described_tcp",
    "is_per_hop",
    "make_plan",
    "make_round",
    "measured_plan",
    "not_published",
    "outer_loops",
    "parse_only",
    "programs_of_runs",
    "published_plan",
    "run_id",
    "run_seed",
    "stated",
    "unsupported",
    "useful_packets",
    "whole_tcp",
]
