"""The Python interface as a Markdown page: every public name with its signature and docstring."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import netstudy
from netstudy.described import attribute_docstrings

HEAD = """\
# Python

<!-- Written by `make docs`; changes here are lost. -->

The public interface: the names of `netstudy` itself. Everything else may change from one version
to the next. Modules are imported only when they are used; of pyarrow, pandas and polars, only the
library that a conversion needs. [Ten questions to the data](../guide/ten-questions.md) uses most
of them.

```python
import netstudy

r = netstudy.run("studies/incast", quick=True)  # or: netstudy.open("incast")
for one in r.verdicts:
    print(one.metric, dict(one.at), one.level, one.outcome, one.change_pct)
runs = r.replicates().to_pandas()
queue = r.samples("series", node="switch", interval="1s").to_polars()
```
"""
_LONGEST = 100


def page() -> str:
    """The whole page."""
    names = [name for name in netstudy.__all__ if not name.startswith("_")]
    functions = [name for name in ("run", "open") if name in names]
    types = [name for name in ("StudyData", "Table", "Verdict", "Column") if name in names]
    rest = [name for name in names if name not in (*functions, *types)]
    parts = [HEAD]
    for function in functions:
        shown = f"netstudy.{function}"
        parts += [f"## {shown}\n", *_function(getattr(netstudy, function), shown)]
    for kind in (*types, *rest):
        parts += [f"## {kind}\n", *_type(getattr(netstudy, kind))]
    return "\n".join(parts)


def _function(function: Callable[..., Any], shown: str) -> list[str]:
    return [f"```python\n{_signature(function, shown)}\n```\n{_told(function)}\n"]


def _type(cls: type) -> Iterator[str]:
    yield f"{_told(cls)}\n"
    documented = attribute_docstrings(cls)
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    public = [one for one in fields if one.repr and one.name != "folder"]
    if public:
        yield "| attribute | type | meaning |\n|---|---|---|"
        for one in public:
            kind = str(one.type).replace("|", "\\|")
            yield f"| `{one.name}` | `{kind}` | {' '.join(documented.get(one.name, '').split())} |"
        yield ""
    for name, member in vars(cls).items():
        if name.startswith("_") or isinstance(member, staticmethod | classmethod):
            continue
        if isinstance(member, property | cached_property):
            yield f"### {cls.__name__}.{name}\n\n{_told(member)}\n"
        elif inspect.isfunction(member):
            yield f"### {cls.__name__}.{name}\n"
            yield from _function(member, name)


def _signature(function: Callable[..., Any], shown: str) -> str:
    """The signature as source code, one line per parameter if one line would be too long."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    text = text.replace("(self, ", "(").replace("(self)", "()")
    if len(shown) + len(text) <= _LONGEST:
        return f"{shown}{text}"
    inside, _, returned = text[1:].rpartition(") -> ")
    lines = "\n".join(f"    {one}," for one in re.split(r", (?![^\[]*\])", inside))
    return f"{shown}(\n{lines}\n) -> {returned}"


def _told(of: object) -> str:
    return inspect.getdoc(of) or ""
