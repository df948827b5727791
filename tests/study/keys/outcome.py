"""Examples of the keys that say what to show: report, tables, conclusions, references."""

from __future__ import annotations

from tests.study.keys.bases import ASKED, CASES, TABLE
from tests.study.keys.effects import (
    Example,
    Tree,
    changed,
    examples,
    in_published_plan,
    in_report,
    refused,
)

_PIVOT = changed(
    ASKED, {"tables": [{"rows": "servers", "columns": "switch", "cell": "completion_ms_mean"}]}
)
_COMPARED = changed(ASKED, {"compare": {"factor": "switch", "base": "nexus-5010"}})
_ALIKE = changed(
    ASKED,
    {
        "factors": {"servers": [2, 4], "ahead": [2, 4]},
        "topology.switch.profile": "nexus-5010",
        "workload.incast.warmup": "${ahead}",
        "compare": {"factor": "servers", "base": 2},
    },
)
_HOLED = changed(
    changed(_PIVOT, {"tables.0.cell": ["completion_ms_mean", "goodput_mbps"]}),
    {
        "holes": [{"switch": "nexus-5010", "servers": 2}],
        "tables.0.empty": [{"because": "broken"}],
    },
)
_NORMAL = changed(TABLE, {"tables.0.normalise": {"completion_ms_mean": {"row": "first row"}}})
_FIGURE = changed(ASKED, {"figures": [{"name": "completion"}]})
_AXES = changed(
    ASKED, {"figures": [{"x": "servers", "y": "completion_ms_mean", "series": "switch"}]}
)
_ALONG_X = changed(ASKED, {"figures": [{"x": "servers", "y": "completion_ms_mean"}]})
_PANELS = changed(_ALONG_X, {"figures.0.panel": "switch"})
_REQUIRED = changed(ASKED, {"require": [{"that": "completion_ms_mean < 1"}]})
_EXPECTED = changed(ASKED, {"expect": [{"that": "completion_ms_mean < 1"}]})
_EXPECTED_LESS = changed(
    ASKED,
    {
        "expect": [
            {
                "lower": "completion_ms_mean",
                "with": {"switch": "nexus-5010"},
                "than": {"switch": "arista-7124s"},
            }
        ]
    },
)
_TWO_CASES = changed(CASES, {"tables": [{"rows": "servers", "columns": "completion_ms_mean"}]})
_CASE_FIGURE = changed(CASES, {"figures": [{"name": "completion"}]})

_REFERENCE = {
    "file": "data.csv",
    "source": "A. Writer, 1999",
    "rows": {"statistic": "mean"},
    "factors": {
        "switch": {"column": "switch"},
        "servers": {"column": "servers", "names": {"two": 2, "four": 4}},
    },
    "columns": {"ms": {"metric": "completion_ms_mean"}},
}
_PUBLISHED = changed(ASKED, {"reference": _REFERENCE})
_TOTAL = changed(_PUBLISHED, {"reference.columns.ms.metric": "switch@client.port_drops"})
_EXPLAINED = changed(_PUBLISHED, {"reference.explained": [{"because": "Other cables."}]})
_BY_ROW = changed(
    _PUBLISHED,
    {
        "reference.rows": {},
        "reference.columns.ms.metric": {
            "by": "statistic",
            "names": {"mean": "completion_ms_mean", "median": "completion_ms_p50"},
        },
    },
)
_PLAIN = changed(
    ASKED,
    {
        "reference": {
            "file": "repeated.csv",
            "source": "A. Writer, 1999",
            "at": {"switch": "nexus-5010"},
            "factors": {"servers": "servers"},
            "columns": {"ms": {"metric": "completion_ms_mean"}},
        }
    },
)
_OF_CASES = changed(
    CASES,
    {
        "cases.many.factors.servers": [2, 5],
        "reference": {
            "file": "repeated.csv",
            "source": "A. Writer, 1999",
            "at": {"mtu": 1500, "rate": "1 Gbit/s"},
            "rows": {"servers": 2},
            "factors": {"servers": "servers"},
            "columns": {"ms": {"metric": "completion_ms_mean"}},
        },
    },
)

_CONCLUSIONS = {
    "Bottleneck": ("bottleneck", True, "no"),
    "Plateau": ("plateau", True, "no"),
    "BypassesTheWire": ("bypasses the wire", True, "no"),
    "FirstRepetition": ("first repetition", True, "no"),
    "ScalingLoss": ("loss against ideal", True, "no"),
    "Substitution": ("substitution", "switch", "router"),
    "Comparison": ("compare", "switch", "router"),
    "Extrapolation": ("extrapolate", "clients per link", "all"),
    "Equivalence": ("equivalent", "goodput_mbps", "good_mbps"),
    "Knee": ("knee", "servers", "clients"),
    "Limit": ("limit", "goodput_mbps", "good_mbps"),
    "WhereTimeGoes": ("where time goes", True, "no"),
}
"""Definition -> its own key, a value that makes sense, and one that does not."""
_FURTHER: Tree = {
    "Substitution": {"base": "catalyst"},
    "Comparison": {"base": "catalyst", "on": ["good_mbps"]},
    "Limit": {"while": "good_mbps < 5"},
    "Bottleneck": {"near": "much", "candidates": {"it": "good_mbps < 5"}},
}


def _conclusion(name: str) -> dict[str, Example]:
    key, sense, nonsense = _CONCLUSIONS[name]
    own = {key: sense, **({"while": "completion_ms_mean < 99999"} if name == "Limit" else {})}
    values = {"case": "none", "at": {"servers": 99}, key: nonsense, **_FURTHER.get(name, {})}
    base = changed(ASKED, {"conclude": [own]})
    return {
        **examples(refused, base, "conclude.0", values),
        **examples(in_report, base, "conclude.0", {"at": {"servers": 4}}),
    }


OUTCOME = {
    **{name: _conclusion(name) for name in _CONCLUSIONS},
    "Compare": examples(in_report, _ALIKE, "compare", {"factor": "ahead"})
    | examples(
        in_report,
        _COMPARED,
        "compare",
        {
            "base": "arista-7124s",
            "noise": "50 %",
            "on": ["goodput_mbps"],
        },
    ),
    "Report": examples(
        in_report,
        ASKED,
        "report",
        {"title": "Time", "tables": TABLE["tables"], "figures": ["drops"]},
    ),
    "Table": {
        **examples(
            in_report,
            TABLE,
            "tables.0",
            {
                "title": "Time",
                "rows": ["servers", "switch"],
                "columns": ["goodput_mbps"],
                "show": "every replicate",
                "heads": {"Both": ["completion_ms_mean", "goodput_mbps"]},
                "titles": {"goodput_mbps": "rate"},
                "normalise": {"goodput_mbps": "first row"},
                "decimals": {"goodput_mbps": 5},
                "significant": {"goodput_mbps": 2},
            },
        ),
        **examples(in_report, _TWO_CASES, "tables.0", {"case": "few"}),
        **examples(in_report, _PIVOT, "tables.0", {"cell": "goodput_mbps"}),
        **examples(in_report, _HOLED, "tables.0", {"empty": [{"because": "lost"}]}),
    },
    "EmptyCell": examples(
        in_report,
        _HOLED,
        "tables.0.empty.0",
        {"because": "lost", "at": {"servers": 4}, "column": "goodput_mbps"},
    ),
    "Normal": examples(
        in_report,
        _NORMAL,
        "tables.0.normalise.completion_ms_mean",
        {"row": {"switch": "arista-7124s", "servers": 4}, "by": "goodput_mbps"},
    ),
    "Figure": {
        **examples(in_report, _FIGURE, "figures.0", {"name": "drops", "title": "Time"}),
        **examples(in_report, _CASE_FIGURE, "figures.0", {"case": "few"}),
        **examples(in_report, _ALONG_X, "figures.0", {"x": "switch"}),
        **examples(in_report, _PANELS, "figures.0", {"series": "switch"}),
        **examples(
            in_report,
            _AXES,
            "figures.0",
            {
                "kind": "bars",
                "y": "goodput_mbps",
                "y2": "goodput_mbps",
                "panel": "switch",
                "fit": "linear",
                "ideal": True,
                "line rate": True,
                "beside": "goodput_mbps",
            },
        ),
    },
    "Requirement": examples(
        in_report,
        _REQUIRED,
        "require.0",
        {"that": "completion_ms_mean < 99999", "at": {"servers": [2]}},
    ),
    "Expectation": {
        **examples(
            in_report,
            _EXPECTED,
            "expect.0",
            {"that": "completion_ms_mean < 99999", "at": {"servers": [2]}},
        ),
        **examples(
            in_report,
            _EXPECTED_LESS,
            "expect.0",
            {"lower": "drops_per_iteration"},
        ),
        # A level that is not there; and that of the other side.
        **examples(
            refused,
            _EXPECTED_LESS,
            "expect.0",
            {"with": {"switch": "nexus"}, "than": {"switch": "nexus-5010"}},
        ),
        **examples(refused, _EXPECTED, "expect.0", {"higher": "good_mbps", "same": "good_mbps"}),
    },
    "Reference": {
        **examples(in_report, _TOTAL, "reference", {"measured": "6 s", "counted": 1000}),
        **examples(
            in_published_plan,
            _PUBLISHED,
            "reference",
            {
                "source": "B. Writer, 2001",
                "rows": {"statistic": "median"},
                "columns": {"other_ms": {"metric": "completion_ms_mean"}},
            },
        ),
        **examples(refused, _PUBLISHED, "reference", {"file": "none.csv"}),
        **examples(in_published_plan, _PLAIN, "reference", {"at": {"switch": "arista-7124s"}}),
        **examples(refused, _PLAIN, "reference", {"factors": {"servers": "hosts"}}),
        **examples(refused, _PLAIN, "reference", {"repetition": "round"}),
        **examples(in_report, _PUBLISHED, "reference", {"fitted": [{"servers": 2}]}),
        **examples(
            in_report, _PUBLISHED, "reference", {"explained": [{"because": "Other cables."}]}
        ),
        **examples(in_published_plan, _OF_CASES, "reference", {"case": "few"}),
    },
    "Explained": {
        **examples(in_report, _EXPLAINED, "reference.explained.0", {"because": "Other hosts."}),
        **examples(in_report, _EXPLAINED, "reference.explained.0", {"at": {"servers": 4}}),
        **examples(in_report, _EXPLAINED, "reference.explained.0", {"metric": "goodput_mbps"}),
    },
    "ReferenceLevels": {
        **examples(refused, _PUBLISHED, "reference.factors.switch", {"column": "none"}),
        **examples(
            in_published_plan,
            _PUBLISHED,
            "reference.factors.servers",
            {"names": {"two": 4, "four": 2}},
        ),
    },
    "ReferenceColumn": {
        **examples(
            in_published_plan,
            _PUBLISHED,
            "reference.columns.ms",
            {"metric": "completion_ms_p50"},
        ),
        **examples(refused, _PUBLISHED, "reference.columns.ms", {"at": {"servers": 99}}),
    },
    "ReferenceMetric": {
        **examples(
            in_published_plan,
            changed(_PUBLISHED, {"reference.columns.ms.metric": {"name": "completion_ms_mean"}}),
            "reference.columns.ms.metric",
            {"name": "completion_ms_p50"},
        ),
        **examples(refused, _BY_ROW, "reference.columns.ms.metric", {"by": "none"}),
        **examples(
            in_published_plan,
            _BY_ROW,
            "reference.columns.ms.metric",
            {"names": {"mean": "completion_ms_p90", "median": "completion_ms_p50"}},
        ),
    },
}
