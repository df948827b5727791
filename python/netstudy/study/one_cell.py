"""A study of one cell of another study, with some values changed.

It keeps the network, the workload and the procedure. Each factor keeps one level, so that a run has
the treatment, and with it the random numbers, of the run that it is compared with.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final

from ruamel.yaml import YAML

from netstudy.documents.problems import Path
from netstudy.documents.source import parse_value
from netstudy.study.model import Study
from netstudy.wire import Level, Treatment

_KEPT: Final = (
    "question",
    "topology",
    "workload",
    "procedure",
    "instruments",
    "replicates",
    "seed",
    "noise",
)
"""Keys of a study that decide how it is run and how large a difference counts."""


def one_cell(study: Study, treatment: Treatment, values: Mapping[str, str], name: str) -> str:
    """The text of a study with this name, of the cell with this treatment. `values`: path -> value,
    written as for `--set`. Raises StudyError for a value without a place."""
    document = study.document
    for path, value in values.items():
        source = f"--set {path}={value}"
        document = document.overridden(tuple(path.split(".")), parse_value(value, source), source)
    kept = {key: document.data[key] for key in _KEPT if key in document.data}
    factors = {factor: [_level(study, factor, level)] for factor, level in treatment.items()}
    text = io.StringIO()
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    # Keys stay in the order of the study.
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.dump({"study": name, **_plain(kept), "factors": _plain(factors)}, text)
    return text.getvalue()


def _level(study: Study, factor: str, level: Level) -> object:
    """A level as the file writes it, with its fields; its name if it has none."""
    for case in study.cases:
        varied = case.factor(factor)
        found = None if varied is None else varied.level(level)
        if varied is not None and found is not None and found.says_more:
            return _at(study.document.data, varied.path_of(found))
    return level


def _at(data: Any, path: Path) -> object:
    for key in path:
        data = data[key]
    return data


def _plain(part: Any) -> Any:
    """Data without the notes on how the file writes them."""
    if isinstance(part, Mapping):
        return {str(key): _plain(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_plain(one) for one in part]
    if isinstance(part, bool) or part is None:
        return part
    kinds: tuple[type, ...] = (int, float, str)
    return next(kind(part) for kind in kinds if isinstance(part, kind))
