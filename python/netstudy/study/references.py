"""References, `${name}`, in a study: finds them, and replaces them by the levels of a treatment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar, cast

from pydantic import BaseModel

from netstudy.documents.fields import Ref
from netstudy.documents.problems import Path
from netstudy.wire import Level

ModelT = TypeVar("ModelT", bound=BaseModel)
ValueT = TypeVar("ValueT")


def concrete(value: ValueT | Ref) -> ValueT:
    """The value of a field of a resolved model, which contains no references any more."""
    assert not isinstance(value, Ref), f"{value} was not resolved"
    return value


def references(part: object, path: Path = ()) -> Iterator[tuple[Path, Ref]]:
    """Every reference inside a part of a study, with the path that leads to it."""
    if isinstance(part, Ref):
        yield path, part
    elif isinstance(part, BaseModel):
        for name, field in type(part).model_fields.items():
            yield from references(getattr(part, name), (*path, field.alias or name))
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from references(value, (*path, key))
    elif isinstance(part, tuple):
        for index, value in enumerate(part):
            yield from references(value, (*path, index))


def resolve(model: ModelT, levels: Mapping[str, Level]) -> ModelT:
    """A copy in which every reference is replaced by its level, converted like any other value of
    the field. Raises KeyError for a name without a level and ValueError for a level that the field
    does not allow. Both are already reported when the study is loaded.
    """
    return cast("ModelT", _resolved(model, levels))


def _resolved(part: object, levels: Mapping[str, Level]) -> object:
    if isinstance(part, Ref):
        return part.scalar.parse(levels[part.name])
    if isinstance(part, BaseModel):
        changed = {
            name: new
            for name in type(part).model_fields
            if (new := _resolved(old := getattr(part, name), levels)) is not old
        }
        return part.model_copy(update=changed) if changed else part
    if isinstance(part, Mapping):
        new_map = {key: _resolved(value, levels) for key, value in part.items()}
        return new_map if any(new_map[key] is not part[key] for key in part) else part
    if isinstance(part, tuple):
        items = tuple(_resolved(value, levels) for value in part)
        return items if any(a is not b for a, b in zip(items, part, strict=True)) else part
    return part
