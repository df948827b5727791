"""Reads YAML 1.2 into plain data, and records the place of each part in the file.

The data are dict, list, str, int, float, bool and None. Numbers keep their written text
(`Written`), so that `1.10` can stay "1.10" as text. Some documents that YAML permits are refused
here, with positions: duplicate keys, keys that are not text, tags, several documents, text that is
not UTF-8, characters that cannot be shown, an alias that contains itself, and a file that is too
large or too deeply nested, also after its aliases are expanded.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from netstudy.characters import UNPRINTABLE, code_point
from netstudy.documents.problems import (
    DocumentError,
    Path,
    Place,
    Problem,
    dotted,
    fail,
    raise_problems,
)

_CORE = "tag:yaml.org,2002:"
_NODES_MAX = 100_000
"""The most nodes of a document: a study file has hundreds, and only aliases of aliases reach this
many."""
_DEPTH_MAX = 50
"""The most levels of nested lists and maps; a study file has about ten."""
_BYTES_MAX = 10_000_000
"""The most bytes of a file: a study file has some kilobytes, and a device or a wrong file may have
no end."""
_TOO_DEEP = f"lists and maps are nested more than {_DEPTH_MAX} levels deep"


_ALONE: dict[str | int, str] = {"probe": "every"}
"""The maps whose short form does not set `profile`: key of the map -> the key that is set."""


class Written:
    """Marks numbers; `text` is their written form in the file."""

    text: str


class WrittenInt(int, Written):
    """An integer with its text in the file."""


class WrittenFloat(float, Written):
    """A decimal with its text in the file."""


@dataclass
class Document:
    """A YAML file: its data, its exact text, and the place of each part by path."""

    name: str
    """The file's name as the user wrote it; messages begin with it."""
    text: str
    data: dict[str, Any]
    values: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path, *, of_key: bool = False) -> Place:
        """The place of the key or value at `path`, or of the deepest part of `path` that the file
        has."""
        for end in range(len(path), 0, -1):
            part = path[:end]
            if of_key and part in self.keys:
                return self.keys[part]
            if part in self.values:
                return self.values[part]
        return Place(self.name, 1, 1)

    def problem(self, path: Path, message: str, *, of_key: bool = False) -> Problem:
        """A problem at one part of this document. The part may be a missing key."""
        while path and isinstance(path[-1], int) and path not in self.values:
            path = path[:-1]  # a list of one item, written as the item
        return Problem(self.place(path, of_key=of_key), dotted(path), message)

    def overridden(self, path: Path, value: object, source: str | Place) -> Document:
        """A copy with one value set. Messages about this value give `source` as its place."""
        from_ = Place(source) if isinstance(source, str) else source
        path = _numbered(self.data, path)
        twin = Document(self.name, self.text, copy.deepcopy(self.data))
        twin.values = _outside(self.values, path)
        twin.keys = _outside(self.keys, path)
        for end in range(1, len(path) + 1):
            if end == len(path) or not isinstance(_at(self.data, path[:end]), dict | list):
                twin.values[path[:end]] = twin.keys[path[:end]] = from_
        _put(twin.data, path, value, from_)
        return twin

    def without(self, path: Path) -> Document:
        """A copy without one part; later items of a list move up. Raises KeyError if the part is
        missing."""
        *above, last = path
        inside = _at(self.data, tuple(above))
        if not _has(inside, last):
            raise KeyError(dotted(path))
        twin = Document(self.name, self.text, copy.deepcopy(self.data))
        del _at(twin.data, tuple(above))[last]
        twin.values = _moved_up(_outside(self.values, path), path)
        twin.keys = _moved_up(_outside(self.keys, path), path)
        return twin


def read(path: FilePath, name: str | None = None) -> Document:
    """Read a file. Raises DocumentError if it is missing, unreadable or malformed."""
    shown = name or str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(_BYTES_MAX + 1)
    except FileNotFoundError:
        fail(Problem(Place(shown), "", "no such file"))
    except OSError as error:
        fail(Problem(Place(shown), "", f"cannot be read: {error.strerror}"))
    if len(raw) > _BYTES_MAX:
        fail(
            Problem(Place(shown), "", f"is larger than {_BYTES_MAX // 10**6} MB, so it is not read")
        )
    return read_text(_decode(raw, shown), shown)


def read_text(text: str, name: str) -> Document:
    """Read YAML text; `name` identifies it in messages. Raises DocumentError."""
    node = _compose(text, name)
    if node is None:
        fail(Problem(Place(name, 1, 1), "", "the file is empty"))
    if not isinstance(node, MappingNode):
        message = "the file must be a map of keys, such as `study: incast`"
        fail(Problem(Place(name, 1, 1), "", message))
    builder = _Builder(Document(name, text, {}))
    builder.document.data = builder.build(node, ())
    raise_problems(builder.problems)
    return builder.document


def parse_value(text: str, name: str) -> object:
    """Read one YAML value, such as the right side of `--set path=value`. Raises DocumentError."""
    try:
        return read_text(f"value: {text}", name).data["value"]
    except DocumentError as error:
        fail(Problem(Place(name), "", error.problems[0].message))


def _compose(text: str, name: str) -> Node | None:
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        fail(_bare_reference(error, text, name) or _syntax_problem(error, name))
    except RecursionError:
        fail(Problem(Place(name, 1, 1), "", _TOO_DEEP))
    except ReaderError as error:
        message = f"the character {code_point(text[error.position])} is not allowed in YAML"
        fail(Problem(_place_at(text, error.position, name), "", message))
    except YAMLError as error:
        fail(Problem(Place(name, 1, 1), "", f"not YAML: {error}"))
    return node


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        message = f"byte 0x{raw[error.start]:02X} is not UTF-8; save the file as UTF-8"
        fail(Problem(_place_at(before, len(before), name), "", message))


def _place_at(text: str, offset: int, name: str) -> Place:
    before = text[:offset]
    return Place(name, before.count("\n") + 1, offset - before.rfind("\n"))


_HINTS = {
    "a tag": '; a value that begins with "!" must be in quotes',
    "'\\t'": "; lines are indented by spaces, not by tabs",
    "'<stream end>'": "; a bracket is not closed",
    "mapping values": '; a value with ": " in it must be in quotes',
}
"""Part of a message of the parser -> advice that is added to this message."""


_REFERENCE = re.compile(r"\$\{[^{}\s]*\}?")


def _bare_reference(error: MarkedYAMLError, text: str, name: str) -> Problem | None:
    """The problem of an unquoted `${name}` inside { } or [ ], where YAML takes its braces for a
    map; None for any other error."""
    mark = error.problem_mark
    if mark is None or mark.column == 0:
        return None
    line = text.splitlines()[mark.line] if mark.line < len(text.splitlines()) else ""
    found = _REFERENCE.match(line, mark.column - 1)
    if found is None:
        return None
    place = Place(name, mark.line + 1, mark.column)
    written = found[0] if found[0].endswith("}") else f"{found[0]}}}"
    message = f'{written} must be in quotes between braces or brackets; write "{written}"'
    return Problem(place, "", message)


def _syntax_problem(error: MarkedYAMLError, name: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = Place(name, mark.line + 1, mark.column + 1) if mark else Place(name, 1, 1)
    said = ", ".join(part for part in (error.context, error.problem) if part)
    hint = next((hint for part, hint in _HINTS.items() if part in said), "")
    return Problem(place, "", f"not YAML: {said}{hint}")


class _Builder:
    """Converts ruamel's nodes into data, and records their places."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self._ancestors: list[Node] = []
        self._nodes = 0

    def build(self, node: Node, path: Path) -> Any:
        self.document.values[path] = self._place(node)
        self._nodes += 1
        if self._nodes > _NODES_MAX or any(node is ancestor for ancestor in self._ancestors):
            fail(Problem(self._place(node), dotted(path), "aliases make the file endless"))
        if len(path) > _DEPTH_MAX:
            fail(Problem(self._place(node), dotted(path[:3]), _TOO_DEEP))
        self._ancestors.append(node)
        value = self._value(node, path)
        self._ancestors.pop()
        return value

    def _value(self, node: Node, path: Path) -> Any:
        if isinstance(node, MappingNode):
            return self._map(node, path)
        if isinstance(node, SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _map(self, node: MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._text(key_node, path)
            here = (*path, key)
            if not isinstance(key_node, ScalarNode):
                self._problem(key_node, path, "a key must be text")
            elif key in data:
                line = self.document.keys[here].line
                message = f"the key is given twice; it is in line {line} too"
                self._problem(key_node, here, message)
            else:
                self.document.keys[here] = self._place(key_node)
                data[key] = self.build(value_node, here)
        return data

    def _scalar(self, node: Node, path: Path) -> Any:
        text, tag = self._text(node, path), str(node.tag)
        if not tag.startswith(_CORE):
            shown = f"{tag} {text}".strip()
            self._problem(node, path, f'bare, {shown} is a YAML tag; write "{shown}" in quotes')
            return text
        match tag.removeprefix(_CORE):
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return _integer(text)
            case "float":
                return _decimal(text)
        return text

    def _text(self, node: Node, path: Path) -> str:
        """The text of a node. Characters that cannot be shown, which escapes may produce, are
        reported as problems."""
        text = str(node.value)
        if (found := UNPRINTABLE.search(text)) is not None:
            character = code_point(found[0])
            message = f"the character {character} is not allowed, not even as an escape"
            self._problem(node, path, message)
        return text

    def _problem(self, node: Node, path: Path, message: str) -> None:
        self.problems.append(Problem(self._place(node), dotted(path), message))

    def _place(self, node: Node) -> Place:
        mark = node.start_mark
        return Place(self.document.name, mark.line + 1, mark.column + 1)


def _integer(text: str) -> int | str:
    digits = text.replace("_", "")
    base = {"0x": 16, "0o": 8, "0b": 2}.get(digits.lstrip("+-")[:2].lower(), 10)
    try:
        value = WrittenInt(digits, base)
    except ValueError:  # thousands of digits, or none
        return text
    value.text = text
    return value


def _decimal(text: str) -> float | str:
    digits = text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan")
    try:
        value = WrittenFloat(digits)
    except ValueError:  # no digits
        return text
    value.text = text
    return value


def _outside(places: dict[Path, Place], path: Path) -> dict[Path, Place]:
    return {known: place for known, place in places.items() if known[: len(path)] != path}


def _moved_up(places: dict[Path, Place], gone: Path) -> dict[Path, Place]:
    """The places after the item `gone` was removed: later items of its list move up by one."""
    *above, last = gone
    if not isinstance(last, int):
        return places
    depth = len(above)

    def now(path: Path) -> Path:
        key = path[depth] if len(path) > depth and path[:depth] == tuple(above) else None
        return (
            (*above, key - 1, *path[depth + 1 :]) if isinstance(key, int) and key > last else path
        )

    return {now(path): place for path, place in places.items()}


def _has(inside: Any, key: str | int) -> bool:
    if isinstance(inside, list):
        return isinstance(key, int) and 0 <= key < len(inside)
    return isinstance(inside, dict) and key in inside


def _numbered(data: Any, path: Path) -> Path:
    """The path with indices of lists as integers: ("links", "0") -> ("links", 0)."""
    found: list[str | int] = []
    for key in path:
        is_item = isinstance(_at(data, tuple(found)), list) and str(key).isdigit()
        found.append(int(key) if is_item else key)
    return tuple(found)


def _at(data: Any, path: Path) -> Any:
    """The value at a path; None if there is none."""
    for key in path:
        is_item = isinstance(data, list) and isinstance(key, int) and key < len(data)
        data = data[key] if is_item else data.get(key) if isinstance(data, dict) else None
    return data


def _put(part: Any, path: Path, value: object, source: Place) -> None:
    """Set one value inside nested maps and lists; missing maps are created."""
    for depth, key in enumerate(path[:-1]):
        part = _child(part, key, path[: depth + 1], source)
    if isinstance(part, list):
        part[_index(part, path, source)] = value
    else:
        part[path[-1]] = value


def _child(part: Any, key: str | int, path: Path, source: Place) -> Any:
    if isinstance(part, list):
        return part[_index(part, path, source)]
    child = part.get(key, {})
    if isinstance(child, str):
        # The map was written in its short form, as just one of its values.
        child = {_ALONE.get(key, "profile"): child}
    if not isinstance(child, dict | list):
        fail(Problem(source, dotted(path), f"is {child}, which has nothing inside to set"))
    part[key] = child
    return child


def _index(items: list[Any], path: Path, source: Place) -> int:
    key = path[-1]
    if not isinstance(key, int) or key >= len(items):
        message = f"is a list of {len(items)} items, numbered from 0; it has no {key}"
        fail(Problem(source, dotted(path[:-1]), message))
    return key
