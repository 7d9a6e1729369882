"""A picture as a part of an HTML page: its elements only, with names that no other picture on the page has."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

from perflog.plot.drawing import INK

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]*)\)")


def inline(svg: bytes, name: str, described: str) -> Any:
    """The ``svg`` element of a picture that matplotlib made, as markup that Jinja2 does not escape again.

    ``name`` begins every id; ``described`` is what those hear who do not see it. Metadata goes (it holds
    addresses), and so does the picture's style sheet, which would apply to the whole page; the page has its rule. Text
    and axes take the colour of the page's text.
    """
    from markupsafe import Markup

    ET.register_namespace("", _SVG)
    root = ET.fromstring(svg)
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    used = {reference[1:] for element in root.iter() if (reference := element.get(_LINK, "")).startswith("#")}
    values = [value for element in root.iter() for value in element.attrib.values()]
    used |= {name for value in values for name in _REFERENCE.findall(value)}
    for element in root.iter():
        if element.tail:
            element.tail = element.tail.strip() or None
        if element.text and element.tag != f"{{{_SVG}}}text":
            element.text = element.text.strip() or None
        _rename(element, name, used)
    width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
    root.attrib.pop("version", None)
    root.set("width", f"{width:g}")
    root.set("height", f"{height:g}")
    root.set("role", "img")
    root.set("aria-label", described)
    markup = ET.tostring(root, encoding="unicode").replace(" \n", " ").replace("\n", " ")
    return Markup(markup.replace(INK, "currentColor"))


def _rename(element: ET.Element, name: str, used: set[str]) -> None:
    own = element.attrib.pop("id", None)
    if own in used:
        element.set("id", f"{name}-{own}")
    for key, value in list(element.attrib.items()):
        if key == _LINK:
            del element.attrib[key]
            element.set("href", f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))
