"""Writes the JSON Schemas of study files, hardware profiles, inventories, plans and records.

usage: python -m netstudy.study.schema [FOLDER]

Without a folder, the checkout's `schema/` is written.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from netstudy.hardware import json_schema as profile_schema
from netstudy.inventory import json_schema as inventory_schema
from netstudy.plan_lines import plan_schema
from netstudy.study.file import json_schema
from netstudy.wire import Record

_PACKAGED = Path(__file__).parents[1] / "_schema"
_CHECKOUT = Path(__file__).parents[3] / "schema"
_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def schemas() -> dict[str, str]:
    """File name -> the text of the file, byte for byte as in the repository."""
    return {
        "study.schema.json": _text(json_schema()),
        "profile.schema.json": _text(profile_schema()),
        "inventory.schema.json": _text(inventory_schema()),
        "plan.schema.json": _text(_DIALECT | plan_schema() | {"title": "PlanLine"}),
        "record.schema.json": _text(
            _DIALECT | TypeAdapter(Record).json_schema(by_alias=True) | {"title": "Record"}
        ),
    }


def schema_folder() -> Path:
    """The folder with the schemas of studies, profiles and inventories, in a checkout or in an
    installed wheel."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the schemas."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else _CHECKOUT
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schemas().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
