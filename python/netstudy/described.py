"""Models whose fields are described by the docstrings below them, in JSON Schemas and references.

Pydantic can do so itself (`use_attribute_docstrings`), but reads the source text of each class when
the class is made, which takes a quarter of the time that a command needs to start. Here the text is
read when a description is asked for.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic_core import CoreSchema


class Described(BaseModel):
    """Base of models with described fields."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema)["properties"]
        described = descriptions(cls)
        for name, field in cls.model_fields.items():
            key = field.alias or name
            if name in described and key in properties:  # a flag may be left out of the schema
                properties[key].setdefault("description", described[name])
        return schema


@cache
def descriptions(model: type[BaseModel]) -> Mapping[str, str]:
    """Field of a model -> its docstring, or the description that it is declared with, if it has
    one."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if issubclass(cls, Described):
            found |= attribute_docstrings(cls)
    declared = {name: field.description for name, field in model.model_fields.items()}
    return found | {name: text for name, text in declared.items() if text}


def attribute_docstrings(cls: type) -> Mapping[str, str]:
    """Field that a class declares itself -> the docstring below it; empty if the class has no
    source file."""
    declared = _classes(cls.__module__).get(cls.__qualname__)
    found = {}
    for field, below in pairwise(declared.body if declared else ()):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = inspect.cleandoc(text)
    return found


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    """The classes at the top of a module by name; none if it has no source. `inspect.getsource` of
    each class would parse the whole file each time."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError, KeyError):
        return {}
    return {one.name: one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)}
