"""Short forms and alternatives of maps, for all kinds of file."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema, core_schema

from netstudy.documents.nearest import did_you_mean
from netstudy.documents.validation import describe, fault, keys_of, unknown_key


class Short:
    """Lets a map be written as its one essential value: `nexus-5010` for `{profile:
    nexus-5010}`."""

    def __init__(self, key: str, alone: str = "a word") -> None:
        """`key` is the key that the single value sets; messages describe this value by the text in
        `alone`."""
        self.key = key
        self.alone = alone

    def _expanded(self, value: object) -> object:
        if not isinstance(value, str | dict):
            raise fault(f"must be {self.alone} or a map, not {describe(value)}")
        return {self.key: value} if isinstance(value, str) else value

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Expand text before the model reads it."""
        return core_schema.no_info_before_validator_function(self._expanded, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The schema of the key's value, or of the whole map."""
        whole = handler(schema)
        alone = dict(handler.resolve_ref_schema(whole)["properties"][self.key])
        alone.pop("default", None)
        return {"anyOf": [alone, whole]}


class Word(Short):
    """Lets one word be written in place of a map. The model has a flag with the word's name: the
    word sets it, and a map cannot."""

    def __init__(self, word: str, otherwise: str) -> None:
        """`otherwise` describes the alternatives, for the message about an unknown word."""
        super().__init__(word)
        self.otherwise = otherwise

    def _expanded(self, value: object) -> object:
        if isinstance(value, str) and value != self.key:
            raise fault(f'"{value}" is not known here; write {self.key}, or {self.otherwise}')
        if isinstance(value, dict) and self.key in value:
            raise fault(f"is written as the word alone, or {self.otherwise}", self.key)
        return {self.key: True} if value == self.key else value

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The word, or the map."""
        return {"anyOf": [{"const": self.key}, handler(schema)]}


WordFlag = SkipJsonSchema[Annotated[bool, Field(exclude=True)]]
"""The flag of a model with a `Word`: whether the file has the word in place of the map."""


class OneOrMore:
    """Lets a list of one item be written as just the item."""

    def _listed(self, value: object) -> object:
        if value == []:
            raise fault("needs at least one")
        return value if isinstance(value, list) else [value]

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Put a single item into a list before the list is read."""
        return core_schema.no_info_before_validator_function(self._listed, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """An item or a list of them."""
        listed = {**handler(schema), "minItems": 1}
        return {"anyOf": [listed["items"], listed]}


class ByKey:
    """Selects the model of a map by a key that only this model has: `{limit: …}`, `{knee: …}`. If
    true is the only value of such a key, the key may be written without the value: `bottleneck`.
    """

    def __init__(self, **models: type[BaseModel]) -> None:
        """Keyword arguments: each distinguishing key, with `_` for a space, and its model."""
        self.models = {key.replace("_", " "): model for key, model in models.items()}
        self.words = [key for key, model in self.models.items() if _is_flag(model, key)]

    def _spelt_out(self, value: object) -> object:
        if isinstance(value, str):
            value = {self._word(value): True}
        if not isinstance(value, dict):
            raise fault(f"must be a word or a map, not {describe(value)}")
        if not self._tag(value):
            raise self._untold(value)
        return value

    def _tag(self, value: dict[str, Any]) -> str | None:
        """The tag of the value's model in the union; the `=` distinguishes tags from keys."""
        return next((f"={key}" for key in value if key in self.models), None)

    def _word(self, text: str) -> str:
        if text in self.words:
            return text
        if text in self.models:
            raise fault(f"needs a value: {{{text}: …}}")
        raise fault(f"{describe(text)} is not known here{did_you_mean(text, self.models)}")

    def _untold(self, value: dict[str, Any]) -> Exception:
        others = {key for model in self.models.values() for key in keys_of(model)}
        strange = [key for key in value if key not in others]
        if strange:
            return unknown_key(strange[0], self.models)
        return fault(f"needs one of the keys {', '.join(self.models)}")

    def __get_pydantic_core_schema__(
        self, _source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Read a map with the model that its key selects."""
        models = {f"={key}": handler.generate_schema(model) for key, model in self.models.items()}
        union = core_schema.tagged_union_schema(models, self._tag)
        return core_schema.no_info_before_validator_function(self._spelt_out, union)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """A word or one of the maps."""
        words = [{"enum": self.words}] if self.words else []
        return {"anyOf": [*words, *handler(schema)["oneOf"]]}


def _is_flag(model: type[BaseModel], key: str) -> bool:
    """Whether true is the only value that the key allows."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    return get_args(fields[key].annotation) == (True,)
