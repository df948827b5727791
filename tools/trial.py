"""Simulates the incast study, and compares it with the published values.

Used by the fit of the profiles, the cross-validation and the ablation of mechanisms. The ablation
also changes settings directly in a plan, since some settings are not part of any profile. Runs are
simulated as in `netstudy calibrate`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netstudy import wire
from netstudy.analysis.metrics import Metric
from netstudy.analysis.workloads.incast import COMPLETION, DROPS, RETRANSMISSIONS
from netstudy.calibration import Length, Model, Shown, Target, library_of, published_targets
from netstudy.plan_lines import RUN
from netstudy.report.cellrefs import count
from netstudy.report.markdown import replace_between, text
from netstudy.report.refs import Name, say
from netstudy.study import apply_overrides, load
from netstudy.wire import Level

ROOT = Path(__file__).parents[1]
STUDY = ROOT / "studies/incast"
PAGE = STUDY / "accuracy.md"
CONFIGURATIONS = JUMBO, LARGE, STRIPED = "4 MB", "8 MB", "10 MB striped"
"""Configurations of the study, each with a published table."""
SWITCHES = ARISTA, NEXUS = "arista-7124s", "nexus-5010"
SHOWN = (COMPLETION, DROPS, RETRANSMISSIONS)

Run = dict[str, Any]
Change = Callable[[Run], Mapping[str, Any]]
"""Changes to a run, as path -> new value; empty if nothing changes."""
Said = Mapping[Shown, float]
"""Simulated values."""


def model(
    iterations: int,
    servers: Sequence[int],
    configurations: Iterable[str] = CONFIGURATIONS,
    replicates: int = 1,
) -> Model:
    """A model of the study with this number of iterations and replicates, and only these levels."""
    study = apply_overrides(load(STUDY), {"workload.incast.iterations": str(iterations)})
    only: Mapping[str, Sequence[Level]] = {
        "servers": servers,
        "configuration": tuple(configurations),
    }
    return Model(study, library_of(study), Length(replicates=replicates), only=only)


def targets(of: Model) -> list[Target]:
    """The published values of the metrics in `SHOWN`, as far as the model has runs for them."""
    names = {metric.name for metric in SHOWN}
    return [one for one in published_targets(of.study, of.planned()) if str(one.metric) in names]


def shown(aims: Iterable[Target]) -> list[Shown]:
    """The runs and metrics that correspond to the published values."""
    return [(one.run, one.metric) for one in aims]


def by_configuration(aims: Iterable[Target]) -> dict[str, list[Target]]:
    """The published values of each configuration's table."""
    found: dict[str, list[Target]] = {}
    for one in aims:
        found.setdefault(str(one.treatment["configuration"]), []).append(one)
    return found


@dataclass(frozen=True)
class Accuracy:
    """Says how close the simulated values are to the published table of one configuration."""

    median_abs_pct: Mapping[tuple[Metric, str], float]
    ratio: float
    """Ratio between the completion times of the two switches, with the most servers."""

    @classmethod
    def of(cls, aims: Sequence[Target], said: Said) -> Accuracy:
        """Medians are taken over all rows whose published value is not 0."""
        errors = {
            (metric, switch): [
                abs(100 * (said[one.run, one.metric] - one.value) / one.value)
                for one in aims
                if (str(one.metric), one.treatment["switch"]) == (metric.name, switch) and one.value
            ]
            for metric in SHOWN
            for switch in SWITCHES
        }
        medians = {key: statistics.median(found) for key, found in errors.items() if found}
        times = [one for one in aims if str(one.metric) == COMPLETION.name]
        last = max(int(one.treatment["servers"]) for one in times)
        at_end = {
            one.treatment["switch"]: said[one.run, one.metric]
            for one in times
            if one.treatment["servers"] == last
        }
        return cls(medians, at_end[ARISTA] / at_end[NEXUS])


def places(run: Run, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The places in a run to which a dotted path leads: each as a mapping and a key in it. If the
    path leads through a list, it is followed in each item."""
    *way, last = path.split(".")
    found: list[Any] = [run]
    for step in way:
        nexts = [one[step] for one in found if isinstance(one, dict) and step in one]
        found = [item for one in nexts for item in (one if isinstance(one, list) else [one])]
    yield from ((one, last) for one in found if isinstance(one, dict) and last in one)


def always(values: Mapping[str, Any]) -> Change:
    """A change that sets the same values in every run."""
    return lambda _run: values


def changed(base: wire.Plan, changes: Change) -> wire.Plan:
    """A copy of the plan with the changes made in each run, as far as the run has the paths."""
    copies = [RUN.dump_python(run, mode="json") for run in base.runs]
    for run in copies:
        for path, value in changes(run).items():
            for place, key in places(run, path):
                place[key] = value
    return base.with_runs(map(RUN.validate_python, copies))


def write(
    tool: str, servers: Sequence[int], iterations: int, seed: int, found: Iterable[str], page: Path
) -> None:
    """Write the result of a tool between its markers in the page."""
    said = say(
        "{n} iterations a cell after the warm-up, one run each, seed {seed}; servers {servers},"
        " where a table has them.",
        n=count(iterations, "iterations"),
        seed=Name(str(seed)),
        servers=Name(", ".join(map(str, servers))),
    )
    replace_between(page, *markers(tool), "\n\n".join((text(said), *found)))


def markers(tool: str) -> tuple[str, str]:
    """The markers around a tool's part of the page: the lines before and after it."""
    name = tool.replace("_", "-")
    return f"<!-- {name}: written by python -m tools.{tool} -->", f"<!-- end of {name} -->"


def main(
    tool: str, iterations: int, servers: Sequence[int], find: Callable[[int, int], Iterable[str]]
) -> None:
    """Run a tool from the command line: simulate, write the page, print its path."""
    parser = argparse.ArgumentParser(prog=f"python -m tools.{tool}")
    parser.add_argument("--iterations", type=int, default=iterations)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found = find(asked.iterations, asked.seed)
    write(tool, servers, asked.iterations, asked.seed, found, PAGE)
    print(PAGE.relative_to(ROOT))
