"""Checking a document against a pydantic model.

`Model` is the base class for all parts of a YAML file: immutable, without unknown keys, and with
suggestions for misspelt keys. `validate` checks a file and translates pydantic's error codes.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError

from netstudy.described import Described
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.other_words import other_word
from netstudy.documents.problems import Path, Problem, raise_problems
from netstudy.documents.source import Document, Written

_FAULT = "fault"
_UNKNOWN_KEY = "unknown_key"
_SHOWN = 60
"""The most characters of a wrong text that a message repeats."""

ModelT = TypeVar("ModelT", bound=BaseModel)


def fault(message: str, *at: str | int) -> PydanticCustomError:
    """An error for validators to raise; `at` is the path from the validated part to the faulty
    one."""
    return PydanticCustomError(_FAULT, "{message}", {"message": message, "at": at})


def unknown_key(key: str, known: Iterable[str]) -> PydanticCustomError:
    """An error about an unknown key of the validated part. If the key is a term of another tool,
    the message gives netstudy's key for it, else the nearest known key."""
    message = f"unknown key{other_word(key) or did_you_mean(key, known)}"
    return PydanticCustomError(_UNKNOWN_KEY, "{message}", {"message": message, "at": (key,)})


def raise_faults(faults: list[PydanticCustomError], title: str) -> None:
    """Raise several faults at once from one validator; do nothing when there are none."""
    if faults:
        details = [InitErrorDetails(type=found, loc=(), input=None) for found in faults]
        raise ValidationError.from_exception_data(title, details)


class Writes(ABC):
    """An annotation for the type of a field: knows how a file writes the field's values."""

    @abstractmethod
    def written(self, value: Any) -> Any:
        """A value as a file writes it."""


class Model(Described):
    """Base class for all parts of a YAML file: immutable, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="wrap")
    @classmethod
    def _name_the_nearest_key(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            details = [_with_nearest_key(detail, cls) for detail in error.errors()]
            raise ValidationError.from_exception_data(cls.__name__, details) from None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The schema of the values as a file writes them: defaults have units, too."""
        schema = super().__get_pydantic_json_schema__(core, handler)
        properties = handler.resolve_ref_schema(schema)["properties"]
        for name, field in cls.model_fields.items():
            key = field.alias or name
            writes = next((part for part in field.metadata if isinstance(part, Writes)), None)
            if writes is not None and properties[key].get("default") is not None:
                properties[key]["default"] = writes.written(field.default)
        return schema


def keys_of(model: type[BaseModel]) -> tuple[str, ...]:
    """The keys of this model, as a file spells them."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


def validate(document: Document, model: type[ModelT]) -> ModelT:
    """Check a document against a model. Raises DocumentError with every problem found."""
    problems = {path: _no_value(document, path) for path in _nulls(document)}
    try:
        checked = model.model_validate(document.data)
    except ValidationError as error:
        others = [_problem(document, detail, problems) for detail in error.errors()]
        raise_problems([*problems.values(), *(problem for problem in others if problem)])
        raise
    raise_problems(problems.values())
    return checked


def _no_value(document: Document, path: Path) -> Problem:
    if isinstance(path[-1], int):
        return document.problem(path, 'is null; to give the word, write "null" in quotes')
    message = "has no value; write one, or remove the key"
    return document.problem(path, message, of_key=True)


def _nulls(document: Document) -> Iterator[Path]:
    """Paths of the parts without a value."""
    pending: list[tuple[Path, Any]] = [((), document.data)]
    while pending:
        path, value = pending.pop()
        items: list[tuple[Any, Any]] = []
        if isinstance(value, dict):
            items = list(value.items())
        elif isinstance(value, list):
            items = list(enumerate(value))
        for key, child in items:
            if child is None:
                yield (*path, key)
            pending.append(((*path, key), child))


def _with_nearest_key(detail: ErrorDetails, model: type[BaseModel]) -> InitErrorDetails:
    kind: str | PydanticCustomError = detail["type"]
    context = detail.get("ctx", {})
    if kind == "extra_forbidden" and len(detail["loc"]) == 1:
        kind = unknown_key(str(detail["loc"][0]), keys_of(model))
        return InitErrorDetails(type=kind, loc=(), input=detail["input"])
    if kind in {_FAULT, _UNKNOWN_KEY}:
        kind = PydanticCustomError(detail["type"], "{message}", context)
    return InitErrorDetails(type=kind, loc=detail["loc"], input=detail["input"], ctx=context)


def _problem(
    document: Document, detail: ErrorDetails, empty: dict[Path, Problem]
) -> Problem | None:
    """The problem that reports a pydantic error; None for an empty value, which is reported
    separately."""
    path = _path_in(document.data, detail)
    if path in empty:
        if detail["type"] != _FAULT or isinstance(path[-1], int):
            return None
        del empty[path]  # the field's own message is more precise
        return document.problem(path, _message(detail), of_key=True)
    of_key = detail["type"] in {_UNKNOWN_KEY, "missing"} or detail["loc"][-1:] == ("[key]",)
    return document.problem(path, _message(detail), of_key=of_key)


def _path_in(data: Any, detail: ErrorDetails) -> Path:
    """pydantic's location of an error, without the names of union members between the keys."""
    path: list[str | int] = []
    location = [*detail["loc"], *detail.get("ctx", {}).get("at", ())]
    for part in location:
        is_key = isinstance(data, dict) and part in data
        is_item = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if is_key or is_item:
            data = data[part]
            path.append(part)
    if detail["type"] == "missing":
        path.append(location[-1])
    return tuple(path)


def _message(detail: ErrorDetails) -> str:
    kind, given, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind in {_FAULT, _UNKNOWN_KEY}:
        return str(context["message"])
    if kind == "missing":
        return "the key is missing"
    if wanted := _WANTED.get(kind):
        return f"must be {wanted}, not {describe(given)}"
    if kind == "literal_error":
        return _not_among(given, str(context["expected"]))
    return detail["msg"].replace("Input should", "must")


def _not_among(given: object, expected: str) -> str:
    words = re.findall(r"'([^']*)'", expected)
    if words and isinstance(given, str):
        return f"{describe(given)} is not known here{did_you_mean(given, words)}"
    listed = expected.replace("'", '"').replace("True", "true")
    return f"must be {listed}, not {describe(given)}"


_WANTED = {
    "model_type": "a map",
    "model_attributes_type": "a map",
    "dict_type": "a map",
    "tuple_type": "a list",
    "list_type": "a list",
}


def describe(value: object) -> str:
    """A value as messages show it: its kind, or its text in the file."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a map"
        case list():
            return "a list"
        case Written():
            return value.text
        case str() if len(value) > _SHOWN:
            return f'"{value[:_SHOWN]}…"'
        case str():
            return f'"{value}"'
    return str(value)
