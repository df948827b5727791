"""Nothing that a study says is ignored: each key of the schema changes something, or is refused.

Each key of each definition has an example, a study and the same with that key changed; where the
change shows is the example's effect (`tests/study/keys/effects.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from netstudy.study import json_schema
from tests.study.keys import effects
from tests.study.keys.design import DESIGN
from tests.study.keys.effects import Example
from tests.study.keys.files import FILES
from tests.study.keys.load import LOAD
from tests.study.keys.network import NETWORK
from tests.study.keys.outcome import OUTCOME

STUDY = "Study"
"""What the top of a study is called here, which has no name in the schema."""
EXAMPLES = {**DESIGN, **NETWORK, **LOAD, **OUTCOME, **FILES}
EXAMPLES[STUDY] = {
    **DESIGN.get(STUDY, {}),
    **NETWORK.get(STUDY, {}),
    **LOAD.get(STUDY, {}),
    **OUTCOME.get(STUDY, {}),
    **FILES[STUDY],
}
SCHEMA = json_schema()
NAMES = {id(SCHEMA): STUDY, **{id(part): name for name, part in SCHEMA["$defs"].items()}}

Key = tuple[str, str]
"""A definition, and a key that it has."""


@pytest.fixture(scope="module", autouse=True)
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    effects.FOLDERS.append(tmp_path_factory.mktemp("keys"))
    yield
    effects.FOLDERS.clear()


def parts(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a schema that has keys, with its name."""
    if isinstance(schema, list):
        for one in schema:
            yield from parts(one)
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("properties"), dict):
        yield NAMES[id(schema)], schema["properties"]
    for one in schema.values():
        yield from parts(one)


def at_path(schema: Any, path: list[str]) -> Iterator[Key]:
    """The keys that the last part of a path may be."""
    if "$ref" in schema:
        yield from at_path(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], path)
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from at_path(one, path)
    first, rest = path[0], path[1:]
    known = schema.get("properties", {})
    if first in known and not rest:
        yield NAMES[id(schema)], first
    inside = [known[first]] if first in known else [schema.get("additionalProperties")]
    inside += [*schema.get("patternProperties", {}).values(), schema.get("items")]
    for one in inside if rest else ():
        if isinstance(one, dict):
            yield from at_path(one, rest)


KEYS = {(name, key) for name, keys in parts(SCHEMA) for key in keys}
GIVEN = {(name, key): one for name, keys in EXAMPLES.items() for key, one in keys.items()}


def test_every_key_of_a_study_has_an_example_and_no_other_key_has_one() -> None:
    assert sorted(KEYS - GIVEN.keys()) == []
    assert sorted(GIVEN.keys() - KEYS) == []


@pytest.mark.parametrize(("key", "example"), GIVEN.items(), ids=[": ".join(key) for key in GIVEN])
def test_a_key_takes_effect_or_is_refused(key: Key, example: Example) -> None:
    assert key in at_path(SCHEMA, example.path.split(".")), "the example is of another key"
    example.effect(example)
