"""Finds names of workloads and of kinds of conclusions outside of their files.

usage: python -m tools.one_file_a_kind

A workload has one file in the folder `workloads` of each layer, a kind of conclusion one in the
folder `conclusions`; the rest of a layer uses only the base class there. This program parses the
source, so comments and docstrings may name kinds, and looks for

- imports of a kind's file, of its classes, or of its model on the wire,
- texts that are a kind's name; for a workload also its unit of counting, or a metric of its own,
- reads of a workload's tables of samples or its keys of `workload`,
- a workload's words in texts of the layers that have files per workload.

Each place is printed with file and line; the exit code is 1 if there is one. The names come from
the product, so a new kind is included automatically.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from netstudy import wire
from netstudy.analysis import conclusions as drawn
from netstudy.plan.workloads import LOWERINGS
from netstudy.report import conclusions as pages
from netstudy.study import conclusions
from netstudy.study.file import StudyFile
from netstudy.study.vocabulary import HOST_METRICS
from netstudy.study.workloads import WORDS, Workload

CLASSES_OF_CONCLUSIONS: Final = (
    *conclusions.KINDS,
    *drawn.KINDS,
    *(type(page) for page in pages.PAGES),
)
PACKAGE: Final = Path(__file__).parents[1] / "python/netstudy"
CONTRACTS: Final = ("wire.py", "testbed/real/wire.py")
"""Files with the contracts with engine and agents, which have to name the kinds of workloads."""
DIAGNOSE: Final = ("analysis/diagnosis.py", "analysis/predictions.py")
"""Files of the verb `diagnose`, which is about one kind of conclusion."""
NAMES_OF_OTHERS: Final[Mapping[str, frozenset[str]]] = {
    "cli/init.py": frozenset({"transfer"}),
    "cli/validate.py": frozenset({"errors"}),
    "report/junit.py": frozenset({"errors"}),
    "study/vocabulary.py": frozenset({"errors"}),
    "testbed/ssh/trial.py": frozenset({"transfer"}),
}
"""File -> words in it that look like names of workloads or their metrics, but mean something else:
a template, a key of the output, an attribute of JUnit XML, an ending of names, a study."""
KEYS_OF_OTHERS: Final = frozenset({"limit", *StudyFile.model_fields})
"""Keys of conclusions that are also keys elsewhere, so that the key does not tell a kind."""
FORMATS: Final = "formats/"
"""The layer that gives measurements of other programs the vocabulary's names. It is below
studies, so that it cannot use any part of a workload."""
TELLS_WORDS: Final = ("plan", "testbed", "analysis", "report")
"""Layers whose texts must not contain words of a workload. The other layers (studies and verbs)
contain examples."""


@dataclass(frozen=True)
class Known:
    """The names by which this tool recognises the kinds of one folder."""

    folder: str
    """The folder with the files, in each layer that has them."""
    noun: str
    """The noun for the contents of a file."""
    files: frozenset[str]
    """Names of the modules."""
    texts: frozenset[str]
    """Texts that cannot mean anything but a kind."""
    classes: frozenset[str] = frozenset()
    """Names of the classes in these modules."""
    models: frozenset[str] = frozenset()
    """Names of the kinds' classes on the wire."""
    metrics: frozenset[str] = frozenset()
    """Names, without a statistic, of the metrics that only these kinds measure."""
    words: frozenset[str] = frozenset()
    """Words that are used only for a kind."""
    also: tuple[str, ...] = ()
    """Further files that are about one kind."""


@dataclass(frozen=True, order=True)
class Breach:
    """A place that names a kind."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def known() -> tuple[Known, ...]:
    """The names of this version's kinds."""
    return workloads(), kinds_of_conclusions()


def kinds_of_conclusions() -> Known:
    """The names of the kinds of conclusions."""
    keys = frozenset(kind.key() for kind in conclusions.KINDS)
    return Known(
        folder="conclusions",
        noun="kind of conclusion",
        files=frozenset(key.replace(" ", "_") for key in keys),
        texts=keys - KEYS_OF_OTHERS,
        classes=frozenset(one.__name__ for one in CLASSES_OF_CONCLUSIONS),
        also=DIAGNOSE,
    )


def workloads() -> Known:
    """The names of this version's workloads. Runs that were measured elsewhere have none. A probe
    also has requests, so a text of only these words does not prove that a workload is meant."""
    wired = get_args(wire.Traffic)
    kinds = {*Workload.kinds(), *(str(one.model_fields["kind"].default) for one in wired)}
    units = {unit for one in LOWERINGS for unit in (one.unit, one.unit.removesuffix("s"))}
    probes = {name for key in wire.Probe.model_fields for name in key.split("_")}
    shared = {word for probe in probes for word in (probe, f"{probe}s")}
    return Known(
        folder="workloads",
        noun="workload",
        files=frozenset(kinds),
        models=frozenset(one.__name__ for one in wired),
        texts=frozenset(kinds | units),
        metrics=frozenset(metric for kind in kinds & set(WORDS) for metric in WORDS[kind].metrics)
        - set(HOST_METRICS),
        words=frozenset((kinds | units) - shared),
    )


def breaches(package: Path = PACKAGE, every: Iterable[Known] | None = None) -> list[Breach]:
    """Every place of a package that names a kind outside of the folders with files per kind."""
    return sorted(
        Breach(relative, line, what)
        for names in (known() if every is None else every)
        for path in package.rglob("*.py")
        if names.folder not in path.relative_to(package).parts
        and (relative := path.relative_to(package).as_posix()) not in (*CONTRACTS, *names.also)
        and not relative.startswith(FORMATS)
        for line, what in _of_file(path.read_text(), relative, names)
    )


def _of_file(source: str, path: str, names: Known) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    docstrings = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    words = names.words if path.split("/")[0] in TELLS_WORDS else frozenset()
    others = NAMES_OF_OTHERS.get(path, frozenset())
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from ((node.lineno, what) for what in _imports(node, names))
            case ast.Attribute(value=ast.Name(id="wire"), attr=attr) if attr in names.models:
                yield node.lineno, f"wire.{attr} is one workload's"
            case ast.Attribute(value=of, attr=attr) if attr in names.texts and _holds(of):
                yield node.lineno, f".{attr} is read, which one workload has"
            case ast.Constant(value=str(text)) if node not in docstrings and text not in others:
                if text in names.texts:
                    yield node.lineno, f"'{text}' names a {names.noun}, or what it counts"
                elif text in names.metrics:
                    yield node.lineno, f"'{text}' is a metric of workloads"
                elif found := (_words(text) & words) - others:
                    yield node.lineno, f"{', '.join(sorted(found))}: a word of one workload"


def _imports(node: ast.Import | ast.ImportFrom, names: Known) -> Iterator[str]:
    base = (node.module or "").split(".") if isinstance(node, ast.ImportFrom) else []
    for alias in node.names:
        parts = [*base, *alias.name.split(".")]
        inside = parts[parts.index(names.folder) + 1 :] if names.folder in parts else []
        if names.files.intersection(inside):
            yield f"{'.'.join(parts)} is in the file of one {names.noun}"
        elif names.classes.intersection(inside):
            yield f"{'.'.join(parts)} is a class of one {names.noun}"
        elif parts[:-1] == ["netstudy", "wire"] and parts[-1] in names.models:
            yield f"wire.{parts[-1]} is one workload's"


def _holds(of: ast.expr) -> bool:
    """Whether an expression is an object with a part for each workload."""
    name = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
    return name in ("samples", "workload")


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def main(found: Iterable[Breach] | None = None) -> int:
    """Print the breaches. Returns the exit code."""
    told = list(breaches() if found is None else found)
    for one in told:
        print(f"python/netstudy/{one}: it belongs in the kind's own file", file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
