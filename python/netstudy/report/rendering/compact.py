"""Shortens the SVG of Vega's drawings, since a report has dozens of them, each for wide and narrow
pages.

The drawing looks the same. Vega gives every group attributes for scripts and screen readers. A
static drawing is one image with one description, so these attributes are removed. Attributes that
are the same in all children of a group are written once, at the group. Lines that look the same
become one path. Groups without any effect are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

_SVG = "http://www.w3.org/2000/svg"
_GROUP = f"{{{_SVG}}}g"
_PATH = f"{{{_SVG}}}path"
_MARKS = {"role", "aria-hidden", "aria-roledescription", "aria-label", "pointer-events"}
_KEPT_CLASSES = ("role-mark", "role-title")
"""Classes that are kept, so that a reader's style sheet or a test can find the data and the
titles."""
_DEFAULTS = {("opacity", "1"), ("x2", "0"), ("y2", "0"), ("transform", "translate(0,0)"), ("d", "")}
"""Attributes that have their default values, so they can be left out."""
_INHERITED = (
    "fill",
    "font-family",
    "font-size",
    "font-style",
    "font-weight",
    "stroke",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-miterlimit",
    "stroke-width",
    "text-anchor",
)
"""Presentation attributes that children inherit from a group (SVG 2, appendix "Property index")."""
_LINE = f"{{{_SVG}}}line"
_PLACE = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")
_CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0")
"""A path that draws a circle around the origin as two arcs."""
_OF_ONE_GROUP = {"class", "clip-path", "opacity"}
"""Attributes that apply to a group as a whole; a group with one of them is not merged with another
group."""


def compact(drawing: str) -> str:
    """The same drawing in fewer characters."""
    ET.register_namespace("", _SVG)
    root = ET.fromstring(drawing)
    root.attrib.pop("version", None)
    _share_font(root)
    for child in list(root):
        _shorten(child, root)
    _share(root)
    return ET.tostring(root, encoding="unicode", short_empty_elements=True).replace(" />", "/>")


def _share_font(root: ET.Element) -> None:
    """Name the font once, if all texts have the same one."""
    texts = [node for node in root.iter() if "font-family" in node.attrib]
    if len({node.get("font-family") for node in texts}) == 1:
        root.set("font-family", texts[0].get("font-family", ""))
        for node in texts:
            del node.attrib["font-family"]


def _shorten(node: ET.Element, parent: ET.Element) -> None:
    """Shorten an element and its descendants, or remove it if it shows nothing."""
    is_hidden = _is_hidden(node)
    _drop_marks(node)
    if circle := _CIRCLE.fullmatch(node.get("d", "")):
        node.tag = f"{{{_SVG}}}circle"
        del node.attrib["d"]
        node.set("r", circle[1])
    for child in list(node):
        _shorten(child, node)
    if is_hidden or (node.tag == _GROUP and not len(node)):
        parent.remove(node)
    elif node.tag == _GROUP:
        _unwrap_children(node)
        _share(node)
        _join_lines(node)


def _drop_marks(node: ET.Element) -> None:
    for name, value in list(node.attrib.items()):
        is_structure = name == "class" and not any(kept in value for kept in _KEPT_CLASSES)
        if name in _MARKS or is_structure or (name, value) in _DEFAULTS:
            del node.attrib[name]


def _is_hidden(node: ET.Element) -> bool:
    """Whether an element is invisible, or a group's background without fill and stroke."""
    is_bare_ground = node.get("class") == "background" and not (
        node.get("fill") or node.get("stroke")
    )
    is_unseen = node.get("display") == "none" or node.get("opacity") == "0"
    return is_unseen or is_bare_ground


def _unwrap_children(node: ET.Element) -> None:
    """Replace groups without attributes by their children. If the only child of a group is a group,
    merge both."""
    node[:] = list(_unwrapped(node))
    if len(node) != 1 or node[0].tag != _GROUP:
        return
    only = node[0]
    if _OF_ONE_GROUP & (node.attrib.keys() | only.attrib.keys()):
        return
    moves = [moved for one in (node, only) if (moved := one.get("transform"))]
    node.attrib |= only.attrib
    if moves:
        node.set("transform", " ".join(moves))
    node[:] = list(only)


def _unwrapped(node: ET.Element) -> Iterator[ET.Element]:
    for child in node:
        if child.tag == _GROUP and not child.attrib:
            yield from child
        else:
            yield child


def _share(node: ET.Element) -> None:
    """Move attributes that are equal in all children to their group."""
    for name in _INHERITED if len(node) else ():
        values = {child.get(name) for child in node}
        if len(values) == 1 and None not in values:
            node.set(name, values.pop() or "")
            for child in node:
                del child.attrib[name]


def _join_lines(node: ET.Element) -> None:
    """Write the lines of a group that differ only in their positions as one path."""
    ends = [_ends(child) for child in node]
    if len(ends) < 2 or None in ends:
        return
    path = ET.Element(_PATH, {"d": "".join(end for end in ends if end)})
    node[:] = [path]


def _ends(line: ET.Element) -> str | None:
    """A line as part of a path; None if the line has attributes in addition to its ends."""
    place = _PLACE.fullmatch(line.get("transform", "translate(0,0)"))
    if line.tag != _LINE or place is None or line.attrib.keys() - {"transform", "x2", "y2"}:
        return None
    x, y = line.get("x2", "0"), line.get("y2", "0")
    way = f"v{y}" if x == "0" else f"h{x}" if y == "0" else f"l{x},{y}"
    return f"M{place[1]},{place[2]}{way}"
