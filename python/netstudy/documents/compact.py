"""Shortens the JSON Schema of a file's models: each kind of value is defined once. Pydantic repeats
the definition of a kind of value at each key, gives each key its own name as a title, and allows
null for an optional key, which `validate` refuses."""

from __future__ import annotations

from typing import Any, Final

DEFINITION: Final = "$definition"
"""Temporary key in the schema of a kind of value, with the name that the definition will have."""
_AT_THE_KEY: Final = ("description", "default")
"""Parts of a schema that belong to the key and not to the kind of value."""


def compacted(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with one definition for each named kind of value, without titles and without null.
    Only the title of the whole schema stays."""
    definitions: dict[str, Any] = {}
    made = {key: _compact(part, definitions) for key, part in schema.items() if key != "$defs"}
    for name, part in schema.get("$defs", {}).items():
        definitions[name] = _compact(part, definitions)
    return {**made, "$defs": dict(sorted(definitions.items()))}


def _compact(part: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_compact(one, definitions) for one in part]
    if not isinstance(part, dict):
        return part
    part = _without_null(part)
    if "propertyNames" in part:  # Pydantic has only a part of the definition there
        names = {key: one for key, one in part["propertyNames"].items() if key != DEFINITION}
        part = {**part, "propertyNames": names}
    inside = {
        key: _compact(one, definitions)
        for key, one in part.items()
        # A "title" that is not text is the schema of a file's key with this name.
        if key != "title" or not isinstance(one, str)
    }
    name = inside.pop(DEFINITION, None)
    return inside if name is None else _referred(name, inside, definitions)


def _referred(name: str, value: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A reference to the definition, which is added when it is first needed."""
    kind = {key: one for key, one in value.items() if key not in _AT_THE_KEY}
    known = definitions.setdefault(name, kind)
    assert known == kind, f"two kinds of value are called {name}: {known}, {kind}"
    own = {key: one for key, one in value.items() if key in _AT_THE_KEY}
    return {"$ref": f"#/$defs/{name}", **own}


def _without_null(part: dict[str, Any]) -> dict[str, Any]:
    if {"type": "null"} not in part.get("anyOf", ()):
        return part
    kinds = [one for one in part["anyOf"] if one != {"type": "null"}]
    rest = {key: one for key, one in part.items() if key != "anyOf"}
    if "default" in rest and rest["default"] is None:
        del rest["default"]
    if len(kinds) == 1:
        return {**kinds[0], **rest}
    return {"anyOf": kinds, **rest}
