"""Study files: the question, the network, the load, and the contents of the report.

`load` reads and checks a study file and returns a `Study`; everything else works on this object.
"""

from __future__ import annotations

from netstudy.study.checks.network import profiles_named
from netstudy.study.file import json_schema
from netstudy.study.levels import FactorLevel, Growth, level_text
from netstudy.study.loader import apply_overrides, in_variant, load, quick_form, without_parts
from netstudy.study.model import MAIN_CASE, Case, Factor, Study
from netstudy.study.outcome import Compare, Figure, Reference, Report, Table
from netstudy.study.programs import Command, programs_of_forms
from netstudy.study.selection import parse_only, quick_only, select, variant_only

__all__ = [
    "MAIN_CASE",
    "Case",
    "Command",
    "Compare",
    "Factor",
    "FactorLevel",
    "Figure",
    "Growth",
    "Reference",
    "Report",
    "Study",
    "Table",
    "apply_overrides",
    "in_variant",
    "json_schema",
    "level_text",
    "load",
    "parse_only",
    "profiles_named",
    "programs_of_forms",
    "quick_form",
    "quick_only",
    "select",
    "variant_only",
    "without_parts",
]
