"""The exported JSON Schemas: current, and the judges of the examples and of the five studies."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from netstudy import wire
from netstudy.documents.source import read
from netstudy.plan import make_plan, unsupported
from netstudy.plan_lines import plan_bytes, read_plan
from netstudy.study import load, quick_only
from netstudy.study.schema import schemas

ROOT = Path(__file__).parents[2]
STUDIES = ("incast", "ethernet", "zones", "gigabit", "trade")


@cache
def judge(name: str) -> jsonschema.Draft202012Validator:
    """The validator of an exported schema, which is itself held against the standard."""
    schema = json.loads((ROOT / "schema" / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", sorted(schemas()))
def test_the_schema_in_the_repository_is_current(name: str) -> None:
    written = (ROOT / "schema" / name).read_text(encoding="utf-8")
    assert written == schemas()[name], "run: python -m netstudy.study.schema"


def test_the_parameters_of_a_queue_discipline_have_the_defaults_of_tc() -> None:
    """Those of tc-codel(8) and, as values of RFC 8033, of tc-pie(8)."""
    kinds = json.loads(schemas()["study.schema.json"])["$defs"]
    defaults = {
        kind: {key: part.get("default") for key, part in kinds[kind]["properties"].items()}
        for kind in ("CoDel", "Pie")
    }
    codel = {"limit": 1000, "target": "5 ms", "interval": "100 ms", "ecn": False}
    assert defaults["CoDel"] == {"discipline": None, **codel}
    pie = {"limit": 1000, "target": "15 ms", "tupdate": "15 ms", "ecn": False}
    assert defaults["Pie"] == {"discipline": None, "alpha": 2 / 16, "beta": 20 / 16, **pie}


@pytest.mark.parametrize(
    "name", ["study.schema.json", "profile.schema.json", "inventory.schema.json"]
)
def test_each_default_of_a_file_may_be_written_in_it(name: str) -> None:
    """An editor that fills defaults in must not write `1000000000` where `1 s` is meant."""
    schema = json.loads((ROOT / "schema" / name).read_text(encoding="utf-8"))
    definitions = schema["$defs"]
    defaults = [
        (f"{model}.{key}", part)
        for model, told in {"the file": schema, **definitions}.items()
        for key, part in told.get("properties", {}).items()
        if part.get("default") is not None and not isinstance(part["default"], dict | list)
    ]
    for place, part in defaults:
        own = jsonschema.Draft202012Validator({**part, "$defs": definitions})
        assert own.is_valid(part["default"]), place


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_of_the_repository_holds_to_the_schema_and_loads(name: str) -> None:
    folder = ROOT / "studies" / name
    judge("study.schema.json").validate(read(folder / "study.yaml").data)
    study = load(folder)
    assert study.study == name
    assert study.question.endswith("?")
    assert study.expectation


PROFILES = sorted((ROOT / "hardware").rglob("*.yaml"))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_each_profile_of_the_repository_holds_to_the_schema(path: Path) -> None:
    judge("profile.schema.json").validate(read(path).data)


def test_the_profiles_are_those_of_all_kinds() -> None:
    kinds = {read(path).data["kind"] for path in PROFILES}
    assert {"switch", "host", "tcp"} <= kinds


@pytest.mark.parametrize(
    ("figure", "key", "value"),
    [
        ("min_rot", "value", "1 s"),
        ("min_rto", "value", "1 sec"),
        ("min_rto", "source", "guessed"),
        ("recovery", "value", "tahoe"),
        ("ack_every", "value", 0),
    ],
)
def test_the_schema_refuses_a_tcp_profile_that_the_loader_refuses(
    figure: str, key: str, value: object
) -> None:
    data = read(ROOT / "hardware/tcp/rfc.yaml").data
    data["figures"].setdefault(figure, {"source": "assumed", "from": "an example"})[key] = value
    with pytest.raises(jsonschema.ValidationError):
        judge("profile.schema.json").validate(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("delai",), 1),
        (("topology", "link", "rate"), "10 Gbps"),
        (("topology", "link", "rate"), 10),
        (("workload", "incast", "iterations"), 0),
        (("cases", "8 MB", "factors", "servers"), []),
        (("cases", "8 MB", "factors", "servers"), "few"),
        (("report", "figures"), ["complet"]),
        (("compare", "noise"), 2),
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(path: tuple[str, ...], value: object) -> None:
    data = read(ROOT / "studies/incast/study.yaml").data
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        judge("study.schema.json").validate(data)


def test_every_key_of_a_study_is_explained() -> None:
    """An editor shows the description while a study is written."""
    unexplained = []
    pending: list[Any] = [judge("study.schema.json").schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            for key, said in part.get("properties", {}).items():
                if isinstance(said, dict) and not {"description", "$ref"} & said.keys():
                    unexplained.append(key)
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
    assert unexplained == []


def validate(plan: bytes) -> None:
    """Check each line of a plan."""
    lines = judge("plan.schema.json")
    for line in plan.splitlines():
        lines.validate(json.loads(line))


def plan_in(path: Path) -> wire.Plan:
    """The plan in a file, whose lines hold to the schema."""
    validate(path.read_bytes())
    return read_plan(path.read_bytes().splitlines())


def test_the_example_plan_is_a_plan() -> None:
    plan = plan_in(ROOT / "schema/examples/plan.jsonl")
    profiles = [switch.profile for run in plan.runs for switch in run.network.switches]
    assert profiles == ["arista-7124s", "nexus-5010"]


def test_the_example_of_a_graph_has_a_node_of_each_kind() -> None:
    judge("study.schema.json").validate(read(ROOT / "schema/examples/study.yaml").data)
    run = plan_in(ROOT / "schema/examples/graph-plan.jsonl").runs[0]
    assert {node.kind for node in run.network.nodes} == {"host", "zone", "switch"}
    assert {phase.until.kind if phase.until else None for phase in run.phases} == {"time", None}
    assert {one.kind for one in run.instruments} == {"host", "tcp", "ports"}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "studies/conformance").glob("*.yaml")), ids=lambda path: path.stem
)
def test_each_conformance_study_holds_to_the_schema_and_can_be_carried_out(path: Path) -> None:
    judge("study.schema.json").validate(read(path).data)
    study = load(path)
    assert unsupported(study, "sim") == []
    plan = make_plan(study, only={**quick_only(study)}).plan
    validate(plan_bytes(plan))


def test_a_plan_that_is_made_holds_to_the_schema() -> None:
    planned = make_plan(load(ROOT / "studies/incast"), only={"servers": [1, 23]})
    validate(plan_bytes(planned.plan))
