"""Sentences on published rows with an outlying CPU time per unit served."""

from __future__ import annotations

from netstudy.analysis.caveats.service_demand import OffDemand
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.cellrefs import count, plain
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def off_demand(found: OffDemand) -> Sentence:
    """A published row that differs from the others, and the number of CPUs with which it would
    fit."""
    one = found.demand
    fits = NOTHING
    if one.cpus != found.fitting_cpus:
        taken = one.cpus != one.taken_cpus and one.taken_cpus == found.fitting_cpus
        fits = say(
            "; with {cpus} CPUs the row would fit the others{taken}",
            cpus=count(found.fitting_cpus, "CPUs printed ÷ ratio to the other rows"),
            taken=Name(", and the study uses this number" if taken else ""),
        )
    source = f"CPU % × CPUs ÷ throughput, {one.row}"
    return say(
        "The published row {row} does not fit the others: with its {cpus} CPUs, {host} takes {ms} "
        "of CPU time for each unit of throughput, {ratio} times the median of the {n} other rows "
        "({others}){fits}.",
        row=Name(one.row, code=True),
        cpus=plain(one.cpus, 0, "", f"CPUs of {one.host}, {one.row}"),
        host=Name(one.host),
        ms=plain(one.ms, 2, "ms", source),
        ratio=plain(found.ratio, 2, "", f"{source} ÷ median of the other rows"),
        n=count(found.rows, "other published rows"),
        others=plain(found.others_ms, 2, "ms", "median of the other published rows"),
        fits=fits,
    )
