"""Measures how much each mechanism of the simulator contributes to its agreement with the published
incast tables.

usage: python -m tools.ablation [--iterations 100] [--seed 1]

Runs the incast study with its profiles unchanged, then with one mechanism at a time removed, always
with the same random numbers. Writes the median errors into studies/incast/accuracy.md, one table
per configuration. Only some numbers of servers are simulated. Nothing is fitted again: a row shows
how accurate the model is without the removed mechanism. Mechanisms that the profiles do not use are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netstudy import wire
from netstudy.calibration import Trial
from netstudy.documents.source import read
from netstudy.report.cellrefs import plain
from netstudy.report.markdown import pipe_table
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table, Value, bare_percent
from tools import trial
from tools.trial import SHOWN, SWITCHES, Accuracy, Change, Run

SERVERS = (2, 4, 8, 12, 16, 20, 23)

PATHS = {
    "tcp": "network.groups.tcp.",
    "nic": "network.groups.nic.",
    "switch": "network.nodes.",
    "buffer": "network.nodes.buffer.",
    "workload": "workload.",
}
"""Part of the settings -> where that part is in a run, as a path."""


@dataclass(frozen=True)
class Mechanism:
    """A mechanism of the model: its name, the name of what replaces it, and the change that does
    so."""

    name: str
    instead: str
    change: Change


def settings(sections: Mapping[str, Mapping[str, Any]]) -> Change:
    """A change that sets the same values in every run that has these settings."""
    values = {
        PATHS[part] + key: value for part, own in sections.items() for key, value in own.items()
    }
    return trial.always(values)


def only(kind: str, change: Change) -> Change:
    """The given change, but only in runs whose switch has a buffer of this kind."""
    return lambda run: change(run) if switch_of(run)["buffer"]["kind"] == kind else {}


def switch_of(run: Run) -> Run:
    """The only switch of a run."""
    (found,) = (node for node in run["network"]["nodes"] if node["kind"] == "switch")
    return dict(found)


def divided_memory(run: Run) -> Mapping[str, Any]:
    """The shared memory divided into equal parts, one per port."""
    switch = switch_of(run)
    own = switch["buffer"]
    return queue_of(own["pool_bytes"] // switch["ports"] + own["port_reserve_bytes"])


def queue_at_the_egress(run: Run) -> Mapping[str, Any]:
    """An egress queue as large as the memory of one ingress port and the egress stage together."""
    own = switch_of(run)["buffer"]
    return queue_of(own["ingress_buffer_bytes"] + own["egress_buffer_bytes"])


def queue_of(each_port_bytes: int) -> Mapping[str, Any]:
    """A separate queue for each egress port."""
    return {PATHS["buffer"][:-1]: {"kind": "output-queued", "port_buffer_bytes": each_port_bytes}}


def _listed() -> Iterator[Mechanism]:
    for name, one in read(Path(__file__).with_name("mechanisms.yaml")).data.items():
        change = settings({part: one[part] for part in PATHS if part in one})
        kind = one.get("only_of")
        yield Mechanism(name, one["instead"], only(kind, change) if kind else change)


MECHANISMS = (
    Mechanism(
        "packet memory shared by all ports",
        "equal private parts",
        only("shared-memory", divided_memory),
    ),
    Mechanism(
        "virtual output queues at the ingress",
        "one queue at the egress",
        only("ingress-queued", queue_at_the_egress),
    ),
    *_listed(),
)


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    name: str
    instead: str
    found: Mapping[str, Accuracy]
    """By configuration."""

    def worse_than(self, whole: Row) -> float:
        """By how much the median errors grew, summed over configurations, metrics and switches."""
        return sum(
            error - whole.found[name].median_abs_pct[key]
            for name, found in self.found.items()
            for key, error in found.median_abs_pct.items()
        )


def without(mechanism: Mechanism, base: wire.Plan) -> wire.Plan:
    """The plan with a mechanism removed.

    Raises ValueError if no run has the settings of the mechanism.
    """
    is_found = False

    def change(run: Run) -> Mapping[str, Any]:
        nonlocal is_found
        changes = mechanism.change(run)
        if changes and all(any(trial.places(run, path)) for path in changes):
            is_found = True
        return changes

    found = trial.changed(base, change)
    if not is_found:
        raise ValueError(f"no run has the settings of {mechanism.name}")
    return found


def rows(iterations: int, seed: int) -> list[Row]:
    """The rows: the full model, the full model with other random numbers, and the model without
    each mechanism, starting with the largest growth of errors."""
    model = trial.model(iterations, SERVERS)
    aims = trial.targets(model)

    def accuracies(plan: wire.Plan) -> dict[str, Accuracy]:
        said = {one: value for one, (value,) in model.replicates(plan, trial.shown(aims)).items()}
        tables = trial.by_configuration(aims)
        return {name: Accuracy.of(own, said) for name, own in tables.items()}

    base = model.plan_with(Trial({}), seed)
    whole = Row("nothing", "", accuracies(base))
    again = accuracies(model.plan_with(Trial({}), seed + 1))
    taken = []
    for mechanism in MECHANISMS:
        plan = without(mechanism, base)
        if plan != base:
            row = Row(mechanism.name, mechanism.instead, accuracies(plan))
            taken.append(row)
            print(f"{row.worse_than(whole):+8.1f}  {mechanism.name}", flush=True)
    taken.sort(key=lambda row: row.worse_than(whole), reverse=True)
    return [whole, Row("nothing", "other random numbers", again), *taken]


def table(found: Sequence[Row], configuration: str) -> Table:
    """Median errors by metric and switch, and the ratio between the completion times of the
    switches."""
    groups = (
        Group("Taken away"),
        Group("In its place"),
        *(Group(metric.title, "%", columns=SWITCHES) for metric in SHOWN),
        Group("Ratio"),
    )
    lines = tuple(_cells(row, row.found[configuration]) for row in found)
    return Table("ablation", say("Median errors"), groups, lines, stub=2)


def _cells(row: Row, found: Accuracy) -> tuple[Value, ...]:
    errors = (found.median_abs_pct.get((m, s)) for m in SHOWN for s in SWITCHES)
    return (
        Name(row.name),
        Name(row.instead),
        *(None if e is None else bare_percent(e, f"median of |error|, {row.name}") for e in errors),
        plain(found.ratio, 2, "", f"ratio of completion times, {row.name}"),
    )


def parts(found: Sequence[Row]) -> Iterator[str]:
    """A table for each configuration."""
    for configuration in found[0].found:
        yield f"### Without: {configuration}"
        yield pipe_table(table(found, configuration))


if __name__ == "__main__":
    trial.main("ablation", 100, SERVERS, lambda *asked: parts(rows(*asked)))
