"""Models whose fields have docstrings, which JSON Schemas and references use as descriptions.

Pydantic can do this itself (`use_attribute_docstrings`), but reads the source text of each class
when the class is defined, which takes a quarter of the start time of a command. Here the source
text is read only when a description is needed.
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
    """Field of a model -> its declared description, or else its docstring; fields with neither are
    left out."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if issubclass(cls, Described):
            found |= attribute_docstrings(cls)
    declared = {name: field.description for name, field in model.model_fields.items()}
    return found | {name: text for name, text in declared.items() if text}


def attribute_docstrings(cls: type) -> Mapping[str, str]:
    """Field of the class itself, not inherited -> the docstring below it; empty if the class has no
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
    """The top-level classes of a module, by name; empty if the module has no source file.
    `inspect.getsource` of each class would parse the whole file each time."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError, KeyError):
        return {}
    return {one.name: one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)}
