"""Where a key of a study may show: each effect holds a study against the same with one more change.

An example names the first of these that applies: the plan, a refusal by name, what `netstudy plan`
says, the report, `netstudy compare`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from netstudy.analysis.comparison import comparison
from netstudy.analysis.related import cell_table
from netstudy.analysis.study_result import analyse
from netstudy.cli._prepare import Asked, Prepared, prepare
from netstudy.cli.plan import _summary
from netstudy.errors import StudyError
from netstudy.plan_lines import RUN
from netstudy.report.charts import Chart
from netstudy.report.comparison import sentences
from netstudy.report.document import document
from netstudy.report.pages import render_markdown
from netstudy.study.agreement import Bands
from tests.formats.made import iperf3_file
from tests.report.results import from_text, results

Tree = dict[str, Any]
"""A study, or a part of one, as its file would have it."""
Effect = Callable[["Example"], None]
"""Asserts that the change of an example shows."""

DATA = """\
servers,switch,statistic,turn,ms,other_ms
two,nexus-5010,mean,1,31.0,32.0
two,nexus-5010,median,1,30.0,31.0
four,nexus-5010,mean,1,70.0,71.0
four,nexus-5010,median,1,69.0,70.0
"""
REPEATED = """\
servers,turn,ms
2,1,31.0
4,1,70.0
"""
TABLES = {
    "data.csv": DATA,
    "repeated.csv": REPEATED,
    "turns.csv": "servers,turn,ms\n2,2,31.0\n4,2,70.0\n",
    "other.csv": REPEATED.replace("31.0", "33.0"),
    "lte.down": "1\n1\n3\n",
    "lte.up": "1\n4\n",
    "rates.csv": "driver,rate\nold,10.0\nnew,11.0\n",
}
"""Published data and traces of the studies of `bases`, in the folder of every one of them."""


@dataclass(frozen=True)
class Example:
    """A study, and what is changed in it: one key, which the last part of the path names."""

    base: Tree
    path: str
    """Keys with dots; items of lists by their number."""
    value: Any
    effect: Effect

    @property
    def key(self) -> str:
        """The key that is shown to have an effect."""
        return self.path.rpartition(".")[2]

    @property
    def before(self) -> str:
        """The text of the study."""
        return json.dumps(self.base)

    @property
    def after(self) -> str:
        """The text of the changed study."""
        return json.dumps(changed(self.base, {self.path: self.value}))


def examples(effect: Effect, base: Tree, at: str, values: Mapping[str, Any]) -> dict[str, Example]:
    """An example for each key of the part at a path, with the value that it is changed to."""
    inside = f"{at}." if at else ""
    return {key: Example(base, f"{inside}{key}", value, effect) for key, value in values.items()}


def changed(base: Tree, changes: Mapping[str, Any]) -> Tree:
    """The study with other values at some paths; parts that are not there are added."""
    made = deepcopy(base)
    for path, value in changes.items():
        *inside, key = path.split(".")
        place: Any = made
        for part in inside:
            place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
        place[key] = value
    return made


# The effects.


def in_plan(example: Example) -> None:
    """The plan is another: network, workload, phases, samplers, treatments, replicates, seed."""
    assert plan_of(example.before) != plan_of(example.after)


def in_quick_plan(example: Example) -> None:
    """There is a short form, with a plan of its own, and nothing else is another."""
    assert plan_of(example.before) == plan_of(example.after)
    _gets_a_short_form(example, "sim")


def in_variant(example: Example) -> None:
    """The plan on the testbed netns is another, and only that."""
    assert plan_of(example.before) == plan_of(example.after)
    assert plan_of(example.before, "netns") != plan_of(example.after, "netns")


def in_quick_form(example: Example) -> None:
    """There is a short form on the testbed netns, with a plan of its own, and nothing else is
    another."""
    assert plan_of(example.before, "netns") == plan_of(example.after, "netns")
    _gets_a_short_form(example, "netns")


def _gets_a_short_form(example: Example, testbed: str) -> None:
    """The study has no short form before the change, and is refused for it; after it, it has."""
    with pytest.raises(StudyError, match="no short form"):
        prepared(example.before, testbed, quick=True)
    assert plan_of(example.after, testbed, quick=True) != plan_of(example.after, testbed)


def in_published_plan(example: Example) -> None:
    """The plan of published values is another."""
    assert plan_of(example.before, "published") != plan_of(example.after, "published")


def in_measured_plan(example: Example) -> None:
    """The plan of runs that were measured elsewhere is another."""
    assert plan_of(example.before, "measured") != plan_of(example.after, "measured")


def told(example: Example) -> None:
    """`netstudy plan` says something else, for what shows in later rounds alone."""
    before, after = (list(_summary(prepared(text), 1)) for text in (example.before, example.after))
    assert before != after


def refused(example: Example) -> None:
    """The study is refused, and the message names the key with its place."""
    prepared(example.before)
    assert _is_named(example)


def not_carried_out(example: Example) -> None:
    """`plan` and `run` say that this version does not carry the key out."""
    new = missing(example.after) - missing(example.before)
    assert any(example.key in sentence for sentence in new), new


def in_report(example: Example) -> None:
    """The report of the same records is another."""
    assert report_of(example.before) != report_of(example.after)


def in_report_of_form(example: Example) -> None:
    """The report of what the testbed netns carried out is another."""
    assert report_of(example.before, "netns") != report_of(example.after, "netns")


def in_comparison(example: Example) -> None:
    """`netstudy compare` judges the same two runs by other bands."""
    before, after = map(comparison_of, (example.before, example.after))
    assert before != after


# How they are seen.


def written(text: str) -> Path:
    """The study in a folder of its own, with data beside it."""
    folder = Path(mkdtemp(prefix="key-", dir=FOLDERS[-1]))
    for name, content in {"study.yaml": text, **TABLES}.items():
        (folder / name).write_text(content)
    for number, name in enumerate(("mon-old", "mon-new", "tue-old", "tue-new")):
        iperf3_file(folder / f"lab/{name}-1.json", 100 + number, 1_795_900_000 + 60 * number)
    for when, count in (("a", 1), ("b", 3)):
        (folder / f"lab/sender.nstat-{when}").write_text(f"#kernel\nTcpRetransSegs  {count}  0.0\n")
    return folder


FOLDERS: list[Path] = []
"""Where studies are written: that of the test session."""


@cache
def prepared(text: str, testbed: str = "sim", *, quick: bool = False) -> Prepared:
    """What `plan` and `run` make of a study."""
    return prepare(Asked(written(text) / "study.yaml", testbed=testbed, quick=quick))


def plan_of(text: str, testbed: str = "sim", *, quick: bool = False) -> Tree:
    """A plan with all its rounds, without ids and seeds of runs, which its other parts decide."""
    planned = prepared(text, testbed, quick=quick).planned
    assert planned.possible is not None, "the base must be one that is carried out"
    plan = planned.whole_plan
    runs = [RUN.dump_python(run, mode="json", exclude={"id", "seed"}) for run in plan.runs]
    return {"study": plan.study, "seed": plan.seed, "runs": runs}


@cache
def missing(text: str) -> set[str]:
    """What this version does not carry out of it."""
    return set(prepared(text).unsupported())


def _is_named(example: Example) -> bool:
    """Whether the changed study is refused with the place of the key, or that of its part and the
    key in words."""
    with pytest.raises(StudyError) as caught:
        prepared(example.after)
    said, part = str(caught.value), example.path.rpartition(".")[0]
    return example.path in said or (bool(part) and f" {part}: " in said and example.key in said)


@cache
def report_of(text: str, variant: str | None = None) -> str:
    """The report of made-up records, without the appendix, which has hashes of what was asked."""
    made = results(written(text), written(text) / "study.yaml", variant=variant)
    found = document(made, analyse(made))
    drawn = [repr(one.source) for one in found.figures() if isinstance(one.source, Chart)]
    page = render_markdown(found).partition("\n## Appendix")[0]
    return "\n".join([page, *drawn])


@cache
def comparison_of(text: str) -> str:
    """What is said of a folder beside itself."""
    made = from_text(written(text), text)
    table = cell_table(made)
    found = comparison(table, table, Bands(made.study().agreement))
    return " ".join(map(str, sentences(found)))
