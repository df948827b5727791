"""A JSON Schema as a Markdown page: one table per kind of object, with references as links."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from netstudy.units import format_duration, format_rate, format_size

Schema = dict[str, Any]

WORDS = {"string": "text", "object": "map"}
SCALARS = {("string", "number"): "text", ("string", "number", "boolean"): "level"}
"""YAML reads a name such as 2010 as a number, so such keys accept both; the page shows them as
text."""
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
UNITS: dict[str, Callable[[int], str]] = {
    "ns": format_duration,
    "bytes": format_size,
    "bps": format_rate,
}
"""Unit at the end of a key's name -> function that formats the key's integers for people."""
LEVEL_PATTERN = r"^\$\{"
"""Beginning of the pattern by which a study's schema describes `${factor}`."""


def tables(schema: Schema, first: str) -> str:
    """The page: first the main object, under the heading `first`, then the objects that it refers
    to, in the order in which they are mentioned."""
    whole = _values_inside(schema, schema.get("$defs", {}))
    parts = [(first, whole), *_referred(whole)]
    return "\n".join(_section(name, part) for name, part in parts if _told(part))


def _values_inside(part: Any, definitions: Schema) -> Any:
    """The part of the schema, in which references to kinds of values are replaced by the kinds
    themselves; references to objects are kept."""
    if isinstance(part, list):
        return [_values_inside(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    kind = definitions.get(part.get("$ref", "").rpartition("/")[2], {})
    if kind and not _told(kind):
        part = kind | {key: value for key, value in part.items() if key != "$ref"}
    return {key: _values_inside(value, definitions) for key, value in part.items()}


def _told(schema: Schema) -> bool:
    return "properties" in schema or "description" in schema


def _referred(root: Schema) -> Iterator[tuple[str, Schema]]:
    definitions, seen, ahead = root.get("$defs", {}), set[str](), _names(root)
    while ahead:
        name = ahead.pop(0)
        if name not in seen:
            seen.add(name)
            yield name, definitions[name]
            ahead += _names(definitions[name])


def _names(schema: Schema) -> list[str]:
    """The definitions that a schema refers to directly, in the order of its text."""
    own = {key: value for key, value in schema.items() if key != "$defs"}
    return re.findall(r'"\$ref": "#/\$defs/([^"]+)"', json.dumps(own))


def _section(name: str, schema: Schema) -> str:
    lines = [f"## {name}", ""]
    if "description" in schema:
        lines += [_one_line(schema["description"]), ""]
    if "properties" in schema:
        lines += ["| key | value | default | meaning |", "|---|---|---|---|"]
        required = schema.get("required", [])
        lines += [_row(key, part, key in required) for key, part in schema["properties"].items()]
    elif kind := _kind(schema):
        lines.append(f"Written as: {kind}.")
    return "\n".join([*lines, ""])


def _row(key: str, schema: Schema, required: bool) -> str:
    default = "required" if required else _default(key, schema)
    meaning = _one_line(schema.get("description", "")).replace("|", r"\|")
    return f"| `{key}` | {_bounds_in_units(key, _kind(schema))} | {default} | {meaning} |"


def _in_units(key: str, value: object) -> str | None:
    """The integer of a key whose name ends in a unit, written with a readable unit; None if the
    integer is readable as it is."""
    formatter = UNITS.get(key.rpartition("_")[2]) if "_" in key else None
    if formatter is None or not isinstance(value, int) or value < 1000:
        return None
    text = formatter(value)
    return None if text.startswith(str(value)) else text


def _bounds_in_units(key: str, kind: str) -> str:
    """A bound; its integers are also given in a readable unit: 60000000000 (60 s)."""

    def told(found: re.Match[str]) -> str:
        text = _in_units(key, int(found[0]))
        return f"{found[0]} ({text})" if text else found[0]

    return re.sub(r"(?<= )\d+\b", told, kind)


def _default(key: str, schema: Schema) -> str:
    """A single value, also in a readable unit if the key's name ends in a unit; an empty value or a
    whole object is not shown."""
    value = schema.get("default")
    if value is None or "const" in schema or isinstance(value, dict | list):
        return ""
    raw = f"`{json.dumps(value, ensure_ascii=False)}`"
    text = _in_units(key, value)
    return f"{text} ({raw})" if text else raw


def _kind(schema: Schema) -> str:
    """The permitted values, in words; references become links inside the page."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(filter(None, map(_kind, schema[several]))))
    return _plain(schema)


def _plain(schema: Schema) -> str:
    """A value without alternatives. `null` is left out, since it only says that a key may be
    absent."""
    kinds = schema.get("type", [])
    match [kinds] if isinstance(kinds, str) else kinds:
        case ["null"]:
            return ""
        case ["array"]:
            return _array(schema)
        case ["object"]:
            return _map(schema)
        case ["string"]:
            return _text(schema)
        case several:
            words = SCALARS.get(tuple(several)) or " or ".join(WORDS.get(k, k) for k in several)
            bounds = [
                f"{sign} {schema[bound]}" for bound, sign in BOUNDS.items() if bound in schema
            ]
            return " ".join([words, *bounds])


def _text(schema: Schema) -> str:
    if schema.get("pattern", "").startswith(LEVEL_PATTERN):
        return "`${…}`"
    if "examples" in schema:
        return f"such as `{schema['examples'][0]}`"
    return "text"


def _array(schema: Schema) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(map(_kind, schema['prefixItems']))}]"
    return f"list of {_grouped(schema.get('items', {})) or 'values'}"


def _map(schema: Schema) -> str:
    open_keys = [schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
    values = [_grouped(part) for part in open_keys if isinstance(part, dict) and part]
    return f"map of {values[0]}" if values else "map"


def _grouped(schema: Schema) -> str:
    kind = _kind(schema)
    return f"({kind})" if " or " in kind else kind


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("<", r"\<")
