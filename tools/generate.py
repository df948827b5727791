"""Writes the generated pages of docs/reference, and the JSON Schemas, from definitions in the code.

usage: python -m tools.generate [--check]

With --check, nothing is written; files that are out of date are named, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from netstudy.analysis.nodes import node_metric
from netstudy.analysis.nodes.formulas import FORMULAS
from netstudy.analysis.nodes.places import Kind
from netstudy.analysis.order_statistics import fewest
from netstudy.analysis.statistics import STATISTICS
from netstudy.analysis.workloads import VOCABULARY
from netstudy.cli import app
from netstudy.formats import FORMATS
from netstudy.formats.measured import Quantity
from netstudy.hardware import HardwareLibrary
from netstudy.inventory import json_schema as inventory_schema
from netstudy.knobs import Knob, knobs
from netstudy.plan import make_plan, whole_tcp
from netstudy.plan_lines import plan_bytes, plan_schema
from netstudy.study import json_schema, load
from netstudy.study.schema import schemas
from netstudy.study.vocabulary import (
    HOST_METRICS,
    LINK_METRICS,
    MACHINE_METRICS,
    SAMPLED,
    SWITCH_METRICS,
    split_metric,
)
from netstudy.wire import Level, Record, Tcp
from tools import api_page
from tools.schema_page import tables

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs/reference"
EXAMPLES = ROOT / "schema/examples"
VERBS = """\
# Verbs

<!-- Written by `make docs`; changes here are lost. -->

The output of `netstudy --help` and `netstudy VERB --help`.
"""

RECORDS = """\
# Plan and records

<!-- Written by `make docs`; changes here are lost. -->

The contract between the front and the engine. The engine reads one plan, a JSON object, and writes
records, one JSON object per line: first `engine`, then one `run` for each run, last `end`, and on
request `progress` in between. Every number has its unit at the end of its name. The JSON Schemas
are in `schema/`. A key that is not required and has no default is `null` if there is no value.
"""

FORMATS_HEAD = """\
# Formats of files

<!-- Written by `make docs`; changes here are lost. -->

The files that `netstudy import` and `measured` in a study read
([how](../guide/files-you-have.md)). A format is recognised by the beginning of a file, never by its
name. A value that a file lacks is missing, it is never 0.

| in a file | outcome |
|---|---|
"""
TRAPS = {
    "a failed test, whatever its exit code": "a failed run, with the error in the tool's words",
    "a truncated end": "JSON: refused, with line and column; lines: read up to the last whole one, "
    "with a note",
    "`nan`, `-nan`, `inf`": "the value is left out, with a note that names it",
    "decimal commas": "refused, with the line and the command that writes points",
    "a key that occurs twice in a JSON object": "read where the tool is known to write it so "
    "(iperf3 up to 3.10.1 with `--bidir`), else refused",
    "several documents": "several runs, in the order of the file",
    "omitted seconds (`-O`)": "not in values, series or window",
    "a short last interval": "counts with its length",
    "a counter that wraps": "undone where it is certain, with a note",
    "a counter that falls": "it was reset: growth is missing, with a note",
    "`nstat -j`, which leaves zeros out": "an absent counter is 0, in this format only",
    "a 12-hour clock without AM and PM, D/M/Y against M/D/Y": "refused, with the command that "
    "writes a decidable file",
    "a law that does not hold (sums, rates, loss, percentiles, interfaces)": "an invalid run, with "
    "the figures",
}
"""Traps of files, and what becomes of each."""

QUANTITIES = """
| name | quantity | unit | better | meaning |
|---|---|---|---|---|
"""

STUDY_FILE = """\
# Study file

<!-- Written by `make docs`; changes here are lost. -->

Every key of a `study.yaml`. [Writing a study](../guide/writing-a-study.md) shows how they work
together. `${…}`, where it is allowed, is replaced by the level of a factor, or by a field of it. A
*level* is text, a number, `true` or `false`. Quantities have a unit. Editors that support JSON
Schema check a file while you write it: see `schema/study.schema.json`.
"""

HOSTS_FILE = """\
# File of hosts

<!-- Written by `make docs`; changes here are lost. -->

Every key of an inventory, the file that `--testbed hosts.yaml` names. `netstudy init --like hosts`
writes one to start from, and `netstudy validate hosts.yaml` checks it. Editors that support JSON
Schema check it while you write it: see `schema/inventory.schema.json`.
"""

TCP_PROFILES = """\
# TCP profiles

<!-- Written by `make docs`; changes here are lost. -->

The TCP profiles in `hardware/tcp/`, which a study selects with `tcp: {profile: …}`. Every figure is
also a setting of the same name in a [study](study-file.md). [TCP profiles](../concepts/tcp.md)
explains the parts. A dash means the rule of the standard, or a part that the profile does not have.
"""

TCP_SETTINGS = """
## Settings

The meaning of each figure, its name in the [plan](records.md), and its default.

| figure | in the plan | without it | meaning |
|---|---|---|---|
"""

METRICS_HEAD = """\
# Metrics

<!-- Written by `make docs`; changes here are lost. -->

The names of metrics in tables, figures, prose and exports. A name ends in its unit and its
statistic. Replicates are pooled. `agreement:` and `--band` also accept the name of a metric's
figure.

These metrics have many samples in a run: {sampled}.
Wherever a study names one of them, it can also name:

| in place of `_mean` | meaning |
|---|---|
| `_p50`, `_p90`, `_p95`, `_p99`, `_p999` | a percentile, which needs at least {fewest} samples |
| `_min`, `_max` | the smallest and the largest sample |
| `_above_150ms_pct` | the share of the samples above a limit, in percent |

A limit is a whole number of ns, us, ms or s: 1.5 ms is `completion_ms_above_1500us_pct`.
[Statistics](../concepts/statistics.md#percentiles-and-shares) describes their intervals.
"""

METRIC_HEADINGS = {
    "incast": "Incast",
    "transfer": "Transfers",
    "request": "Requests",
    "transactions": "Transactions",
    "probe": "The probe of a workload",
    "tcp": "Sampled connections",
}
METRICS_OF_NODES = """
## Hosts, interfaces, switches, links, the machine

These metrics are read at a node, which is named before the metric: `app.cpu_pct` of a host group,
`client-3.cpu_pct` of one host, `a.zone1.goodput_mbps` of a zone, `app@client.send_mbps` of the
interface towards client (or `a@ce2.send_mbps` by its name), `switch@server.port_in_mbps` of the
port to a group or another switch, `link.utilisation_pct`, `machine.softirq_pct`. A group's rate
is the sum over its hosts, its percentage their mean. The value is of the measuring phase; `
in warm-up` and the like after the name select another phase, if counters are read at both of
its edges. If an instrument samples the node (`sar` a host, `ports` a switch), `_min`, `_max`,
`_p50`, `_p90`, `_p95`, `_p99` and `_p999` are statistics of the rates between two samples. A
value that was not counted is an empty cell.

In namespaces all hosts share the machine's CPUs, soft interrupts and disks: the machine has its own
metrics for them, which are not divided among hosts. `cpu_pct` of a host there is the time of
its processes; the kernel's work for it in soft interrupts is only in `machine.softirq_pct`. A
host in namespaces sends frames to the switch program before they would have crossed its link, so
`send_mbps` between two samples may be above the line rate; the rate received at the switch is not.
"""
NODE_HEADINGS: Mapping[Kind, str] = {
    "host": "At a host, its interfaces or one of them",
    "switch": "At a switch, its ports or one of them",
    "link": "At all links",
    "machine": "At the machine that runs all hosts",
}
NODE_TABLE = """
| name | meaning | unit | formula | better | statistics | measured by |
|---|---|---|---|---|---|---|
"""
METRIC_TABLE = """
| name | figure | meaning | unit | formula | better | measured by |
|---|---|---|---|---|---|---|
"""


def verbs() -> str:
    """The help of every verb, as shown on a terminal with 100 columns."""
    names = [command.name for command in app.registered_commands if command.name]
    parts = [VERBS, _help()]
    for name in names:
        parts += [f"\n## {name}\n", _help(name)]
    return "\n".join(parts)


def _help(*verb: str) -> str:
    program = Path(sys.executable).parent / "netstudy"
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    printed = subprocess.run(
        [program, *verb, "--help"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    return "\n".join(["```text", *lines, "```", ""])


def records() -> str:
    """The plan that the engine reads and the records that it writes."""
    kinds: dict[str, Any] = TypeAdapter(Record).json_schema()
    return "\n".join([RECORDS, tables(kinds, "Record"), tables(plan_schema(), "Plan")])


def metrics() -> str:
    """The vocabulary of metrics, one table per workload."""
    carried = [fewest(one.q) for one in STATISTICS.values() if not one.is_extreme]
    sampled = ", ".join(f"`{name}`" for name in SAMPLED)
    parts = [METRICS_HEAD.format(sampled=sampled, fewest=", ".join(map(str, carried)))]
    for kind, metrics in VOCABULARY.items():
        rows = [
            f"| `{m.name}` | {m.figure} | {m.label} | {m.unit} | {m.formula} | {m.better} | "
            f"{', '.join(m.instruments)} |\n"
            for m in metrics
        ]
        parts += [f"\n## {METRIC_HEADINGS[kind]}\n", METRIC_TABLE, *rows]
    return "".join([*parts, METRICS_OF_NODES, *map(_of_nodes, FORMULAS)])


def formats_page() -> str:
    """The formats of files, each with its quantities."""
    traps = (f"| {case} | {outcome} |\n" for case, outcome in TRAPS.items())
    parts, known = [FORMATS_HEAD, *traps], dict[tuple[Quantity, ...], str]()
    for form in FORMATS:
        first = known.setdefault(form.quantities, form.name)
        same = f"\nIt has the quantities of {first}.\n"
        parts.append(f"\n## {form.name}\n{form.title}.\n")
        parts += [QUANTITIES, *map(_quantity, form.quantities)] if first == form.name else [same]
        if form.left_out:
            parts += ["\nLeft out:\n\n", *(f"- {text}\n" for text in form.left_out)]
    return "".join(parts)


def _quantity(one: Quantity) -> str:
    meaning = one.meaning.replace("|", "\\|")
    return f"| `{one.name}` | {one.label} | {one.unit} | {one.better} | {meaning} |\n"


def _of_nodes(kind: Kind) -> str:
    """The quantities that are read at each kind of node."""
    known = {
        "host": HOST_METRICS,
        "switch": SWITCH_METRICS,
        "link": LINK_METRICS,
        "machine": MACHINE_METRICS,
    }[kind]
    names = {"host": "app", "switch": "switch@app"}
    rows = [f"\n### {NODE_HEADINGS[kind]}\n", NODE_TABLE]
    for base, quantity in known.items():
        metric = node_metric(split_metric(f"{names.get(kind, kind)}.{base}"))
        statistics = "yes" if quantity.is_rate else ""
        rows.append(
            f"| `{base}` | {quantity.text} | {metric.unit} | {metric.formula} | {metric.better} | "
            f"{statistics} | {', '.join(metric.instruments)} |\n"
        )
    return "".join(rows)


def study_file() -> str:
    """Every key of a study."""
    return f"{STUDY_FILE}\n{tables(json_schema(), 'Study')}"


def hosts_file() -> str:
    """Every key of an inventory of hosts."""
    return f"{HOSTS_FILE}\n{tables(inventory_schema(), 'Inventory')}"


def tcp_profiles() -> str:
    """All TCP profiles in one table, then each with its sources."""
    library = HardwareLibrary.default()
    rows = {
        name: {row.name: row for row in library.rows("tcp", name)} for name in library.names("tcp")
    }
    figures = dict.fromkeys(figure for profile in rows.values() for figure in profile)
    lines = [TCP_PROFILES, f"| figure | {' | '.join(rows)} |", "|---" * (len(rows) + 1) + "|"]
    for figure in figures:
        found = [profile[figure].value if figure in profile else "–" for profile in rows.values()]
        lines.append(f"| `{figure}` | {' | '.join(found)} |")
    lines.append(TCP_SETTINGS + "\n".join(map(_setting, knobs(Tcp).values())))
    for name, profile in rows.items():
        title = library.tcp(name).title
        lines += [
            f"\n## {name}\n",
            f"{title}.\n",
            "| figure | value | source | from |",
            "|---" * 4 + "|",
        ]
        lines += [
            f"| `{row.name}` | {row.value} | {row.source} | {row.origin} |"
            for row in profile.values()
        ]
    return "\n".join(lines) + "\n"


def _setting(knob: Knob) -> str:
    default = "–" if knob.default is None else knob.shown(knob.default)
    told = " ".join(knob.description.split())
    return f"| `{knob.name}` | `{knob.wired}` | {default} | {told} |"


def tcp_example() -> str:
    """All TCP profiles in the form that they have in a plan, for tests of the engine."""
    library = HardwareLibrary.default()
    tcps = {name: whole_tcp(library, name).model_dump() for name in library.names("tcp")}
    return json.dumps(tcps, indent=1) + "\n"


def plan_example() -> str:
    """A plan with the two switches of the published test and two servers."""
    only: dict[str, list[Level]] = {"servers": [2], "configuration": ["4 MB"]}
    planned = make_plan(load(ROOT / "studies/incast"), only=only, traces=True).plan
    runs = tuple(run for run in planned.runs if run.replicate == 1)
    return plan_bytes(planned.with_runs(runs)).decode()


def graph_example() -> str:
    """A plan with every kind of element that a network can have."""
    return plan_bytes(make_plan(load(EXAMPLES / "study.yaml"), traces=True).plan).decode()


PAGES: dict[str, Callable[[], str]] = {
    "formats.md": formats_page,
    "hosts-file.md": hosts_file,
    "metrics.md": metrics,
    "python.md": api_page.page,
    "records.md": records,
    "study-file.md": study_file,
    "tcp-profiles.md": tcp_profiles,
    "verbs.md": verbs,
}


def generated() -> dict[Path, str]:
    """Every generated file -> its content."""
    pages = {REFERENCE / name: page() for name, page in PAGES.items()}
    examples = {
        EXAMPLES / "tcp.json": tcp_example(),
        EXAMPLES / "plan.jsonl": plan_example(),
        EXAMPLES / "graph-plan.jsonl": graph_example(),
    }
    return pages | examples | {ROOT / "schema" / name: text for name, text in schemas().items()}


def outdated() -> list[Path]:
    """The files that are out of date."""
    return [
        path for path, text in generated().items() if not path.exists() or path.read_text() != text
    ]


def main() -> int:
    """Write or check the files; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="name what is out of date")
    if parser.parse_args().check:
        for path in (found := outdated()):
            print(f"{path.relative_to(ROOT)} is out of date: make docs", file=sys.stderr)
        return 1 if found else 0
    for path, text in generated().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
