"""The verdicts on two results folders as JUnit XML, which CI services read.

A test case is one metric of one cell. A difference is a failure; a cell that is undecided or not
measured is skipped, with the reason. The format has no standard; elements and attributes are those
of the schema of Jenkins' xUnit plugin (junit-10.xsd).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from netstudy.characters import visible
from netstudy.report.cellrefs import treatment_text
from netstudy.report.folder_verdicts import answer, failing, verdict_sentence, verdict_text

if TYPE_CHECKING:
    from netstudy.analysis.folder_verdicts import FolderVerdict, FolderVerdicts
    from netstudy.report.folder_verdicts import FailOn

ONE_CELL = "the one cell"
"""Name of the test case if the studies have no factors."""


def junit(suite: str, found: FolderVerdicts, fail_on: FailOn) -> bytes:
    """An XML document with one suite. `fail_on` says which differences are failures."""
    failed = {id(one) for one in failing(found, fail_on)}
    skipped = [one for one in found.verdicts if one.outcome in ("undecided", "missing")]
    numbers = {
        "tests": str(len(found.verdicts)),
        "failures": str(len(failed)),
        "errors": "0",
    }
    root = ET.Element("testsuites", {"name": "netstudy compare", **numbers})
    inner = ET.SubElement(
        root, "testsuite", {"name": visible(suite), **numbers, "skipped": str(len(skipped))}
    )
    for one in found.verdicts:
        _case(inner, suite, one, is_failed=id(one) in failed)
    ET.SubElement(inner, "system-out").text = visible(str(answer(found)))
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _case(suite: ET.Element, name: str, one: FolderVerdict, *, is_failed: bool) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {
            "name": visible(treatment_text(one.treatment) or ONE_CELL),
            "classname": visible(f"{name}.{one.metric.name}"),
        },
    )
    text = visible(str(verdict_sentence(one)))
    if is_failed:
        failure = ET.SubElement(case, "failure", {"message": text, "type": verdict_text(one)})
        failure.text = text
    elif one.outcome in ("undecided", "missing"):
        ET.SubElement(case, "skipped", {"message": text})
    else:
        ET.SubElement(case, "system-out").text = text
