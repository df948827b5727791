"""A link inside the repository leads somewhere: to a file, and to a heading that the file has."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.pages import ROOT, pages, prose

LINK = re.compile(r"\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6} +(?P<text>.+?) *#*$", re.M)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, spelled as GitHub spells them."""
    found: list[str] = []
    for heading in HEADING.finditer(prose(page)):
        slug = re.sub(r"[^\w\- ]", "", heading["text"].lower()).replace(" ", "-")
        repeated = found.count(slug)
        found.append(f"{slug}-{repeated}" if repeated else slug)
    return set(found)


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    targets = (match["target"] for match in LINK.finditer(prose(page)))
    inner = [target for target in targets if not re.match(r"[a-z]+:", target)]
    return [target for target in inner if not leads_somewhere(page, target)]


def leads_somewhere(page: Path, target: str) -> bool:
    """Whether a relative link's file exists and has the heading that is meant."""
    name, _, anchor = unquote(target).partition("#")
    aim = (page.parent / name).resolve() if name else page
    if not aim.is_relative_to(ROOT) or not aim.exists():
        return False
    return not anchor or anchor in anchors(aim)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_every_page_of_the_docs_can_be_reached_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        targets = (match["target"].partition("#")[0] for match in LINK.finditer(prose(page)))
        linked = ((page.parent / target).resolve() for target in targets if target.endswith(".md"))
        ahead += [path for path in linked if path.exists() and path not in reached]

    docs = {page for page in pages() if page.is_relative_to(ROOT / "docs")}
    assert docs <= reached
