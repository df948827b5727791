"""Examples of the keys of a study's own: what varies, test cases, short form, forms of testbeds."""

from __future__ import annotations

from tests.study.keys.bases import (
    ASKED,
    CASES,
    GROWING,
    INCAST,
    TABLE,
    TIMED,
)
from tests.study.keys.effects import (
    changed,
    examples,
    in_comparison,
    in_plan,
    in_quick_form,
    in_quick_plan,
    in_report,
    in_report_of_form,
    in_variant,
    refused,
    told,
)

_PAIRED = changed(
    INCAST, {"factors": {"servers": [2, 4], "mtu": [1500, 9000]}, "topology.link.mtu": "${mtu}"}
)
_HELD = changed(INCAST, {"topology.link.mtu": "${mtu}", "fixed": {"mtu": 1500}})
_FORM = changed(INCAST, {"testbeds": {"netns": {}}})
_LEVELS = changed(
    ASKED, {"factors.servers": [{"name": "two", "servers": 2}, {"name": "four", "servers": 4}]}
)
_LEVELS = changed(_LEVELS, {"topology.server.count": "${servers.servers}"})

_COMPARED = changed(ASKED, {"compare": {"factor": "switch", "base": "nexus-5010"}})
_REFERENCE = {
    "file": "repeated.csv",
    "source": "A. Writer, 1999",
    "at": {"switch": "nexus-5010"},
    "factors": {"servers": "servers"},
    "columns": {"ms": {"metric": "completion_ms_mean"}},
}

DESIGN = {
    "Study": {
        **examples(
            in_plan,
            INCAST,
            "",
            {
                "study": "other",
                "factors": {"servers": [2, 4, 8]},
                "topology": INCAST["topology"] | {"link": {"rate": "2 Gbit/s"}},
                "workload": {"incast": {"block": "1 MB", "iterations": 9}},
                "instruments": [{"sar": "client"}],
                "replicates": 2,
                "seed": 2,
            },
        ),
        **examples(in_plan, TIMED, "", {"procedure": {"measure": "2 s"}}),
        **examples(in_plan, _HELD, "", {"fixed": {"mtu": 9000}}),
        **examples(in_plan, _PAIRED, "", {"zip": [["servers", "mtu"]]}),
        **examples(in_plan, _PAIRED, "", {"holes": [{"servers": 2, "mtu": 9000}]}),
        **examples(in_plan, CASES, "", {"cases": {"few": CASES["cases"]["few"]}}),
        **examples(
            in_report,
            ASKED,
            "",
            {
                "question": "How long does it last?",
                "expectation": "Long.",
                "expect": ["completion_ms_mean < 1"],
                "author": "A. Writer",
                "compare": _COMPARED["compare"],
                "report": {"title": "Time"},
                "tables": TABLE["tables"],
                "figures": ["drops"],
                "require": ["completion_ms_mean < 1"],
                "conclude": ["bottleneck"],
            },
        ),
        **examples(in_report, _COMPARED, "", {"noise": "50 %"}),
        **examples(in_report, CASES, "", {"description": "Blocks of one size."}),
        **examples(in_comparison, ASKED, "", {"agreement": {"completion_ms_mean": "5 %"}}),
        **examples(in_report, ASKED, "", {"reference": _REFERENCE}),
        **examples(in_quick_plan, INCAST, "", {"quick": {"only": {"servers": [2]}}}),
        **examples(in_variant, INCAST, "", {"testbeds": {"netns": {"only": {"servers": [2]}}}}),
    },
    "Design": {
        **examples(
            in_plan,
            CASES,
            "cases.few",
            {
                "factors": {"servers": [2], "mtu": [1500]},
                "fixed": {"rate": "2 Gbit/s"},
                "zip": [["servers", "mtu"]],
                "holes": [{"servers": 2, "mtu": 1500}],
            },
        ),
        **examples(in_report, CASES, "cases.few", {"description": "Few servers."}),
    },
    "NamedLevel": {
        **examples(in_plan, _LEVELS, "factors.servers.0", {"name": "deux"}),
        **examples(in_report, _LEVELS, "factors.servers.0", {"description": "Two of them."}),
        **examples(in_report, _LEVELS, "factors.servers.0", {"bundle": "kernel, compiler"}),
    },
    "Growth": {
        **examples(in_plan, GROWING, "factors.servers", {"grow": "2..", "at most": 5}),
        **examples(told, GROWING, "factors.servers", {"confirm": 2, "of": "fairness_index"}),
        **examples(refused, GROWING, "factors.servers", {"until": "dawn"}),
    },
    "Quick": examples(
        in_quick_plan,
        changed(INCAST, {"quick": {}}),
        "quick",
        {"only": {"servers": [2]}, "set": {"workload.incast.iterations": 5}},
    ),
    "Variant": {
        **examples(
            in_variant,
            _FORM,
            "testbeds.netns",
            {
                "only": {"servers": [2]},
                "set": {"workload.incast.iterations": 5},
                "scale": "1/10",
                "factors": {"servers": [8]},
            },
        ),
        **examples(in_report_of_form, _FORM, "testbeds.netns", {"description": "It is slow."}),
        **examples(
            in_report_of_form,
            changed(_FORM, {"figures": ["drops", "goodput"]}),
            "testbeds.netns",
            {"without": ["figures[1]"]},
        ),
        **examples(in_quick_form, _FORM, "testbeds.netns", {"quick": {"only": {"servers": [2]}}}),
    },
}
