"""Examples of the keys of a study whose runs were measured elsewhere."""

from __future__ import annotations

from tests.study.keys.effects import changed, examples, in_measured_plan

_FILES = {
    "study": "files",
    "question": "Which driver is faster?",
    "factors": {"driver": ["old", "new"]},
    "measured": {"files": [{"files": ["lab/{day}-{driver}-*.json"]}]},
    "metrics": {"goodput_mbps": {"better": "higher"}},
}
_AT = changed(
    _FILES, {"measured.files": [{"files": ["lab/mon-old-*.json"], "at": {"driver": "old"}}]}
)
_TABLE = {
    "study": "table",
    "question": "How long does it take?",
    "factors": {"servers": [2, 4]},
    "measured": {
        "tables": [
            {
                "file": "turns.csv",
                "factors": {"servers": "servers"},
                "columns": {"ms": {"metric": "completion_ms_mean"}},
            }
        ]
    },
}
_HELD = changed(
    _TABLE,
    {
        "measured.tables": [
            {
                "file": "turns.csv",
                "at": {"servers": 2},
                "rows": {"servers": "2"},
                "columns": {"ms": {"metric": "completion_ms_mean"}},
            }
        ]
    },
)

FILES = {
    "Study": {
        **examples(
            in_measured_plan, _FILES, "",
            {
                "measured": {"files": "lab/mon-{driver}-*.json"},
                "metrics": {"goodput_mbps": {"better": "lower"}},
            },
        ),
    },
    "DeclaredMetric": examples(
        in_measured_plan, _FILES, "metrics.goodput_mbps",
        {"better": "lower", "unit": "Mb/s", "decimals": 4, "label": "speed"},
    ),
    "FilesAt": examples(
        in_measured_plan, _AT, "measured.files.0",
        {"files": ["lab/tue-old-*.json"], "at": {"driver": "new"}},
    ),
    "MeasuredRuns": examples(
        in_measured_plan, _FILES, "measured",
        {
            "files": "lab/mon-{driver}-*.json",
            "hosts": {"sender": ["lab/sender.nstat-*"]},
            "tables": [
                {
                    "file": "rates.csv",
                    "factors": {"driver": "driver"},
                    "columns": {"rate": {"metric": "goodput_mbps"}},
                }
            ],
            "block": "day",
        },
    ),
    "MeasuredTable": {
        **examples(
            in_measured_plan, _TABLE, "measured.tables.0",
            {
                "file": "other.csv",
                "repetition": "turn",
                "factors": {"servers": {"column": "servers", "names": {"2": 4, "4": 2}}},
                "columns": {"ms": {"metric": "completion_ms_p50"}},
            },
        ),
        **examples(
            in_measured_plan, _HELD, "measured.tables.0",
            {"at": {"servers": 4}, "rows": {"servers": "4"}},
        ),
    },
}  # fmt: skip
