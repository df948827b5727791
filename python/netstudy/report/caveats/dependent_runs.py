"""The sentence on replicates that depend on the replicates before them."""

from __future__ import annotations

from netstudy.analysis.caveats.dependent_runs import DependentRuns
from netstudy.analysis.verdict import ALPHA
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.cellrefs import count, plain
from netstudy.report.refs import Sentence, say


@caveat_sentence.register
def dependent_runs(caveat: DependentRuns) -> Sentence:
    """How unlikely the order of the replicates is, and what would help."""
    found = caveat.found
    return say(
        "The runs depend on the runs before them: only {p} of all orders of the {n} replicates "
        "would make neighbours as alike. Verdicts and intervals assume independent runs, so "
        "differences may be false and their error rate of {alpha} does not hold. Restart "
        "everything between replicates, or repeat the study on other days.",
        p=plain(100 * found.p, 1, "%", "p of the order of the replicates, by permutation"),
        n=count(found.replicates, "replicates in order"),
        alpha=plain(100 * ALPHA, 0, "%", "level of all tests"),
    )
