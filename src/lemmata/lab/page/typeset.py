"""Setting the page: templates, their filters, and the style sheet and script with their digests.

Everything that comes from data is escaped by the templates. The page's security policy allows one style sheet and one
script, by digest: whatever else found its way into a page would not run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lemmata.lab.page import numbers
from lemmata.lab.page.formulas import prose, show

FOLDER = Path(__file__).parent / "templates"
FIRST = 'document.documentElement.classList.add("js")'
"""The script that runs before anything is laid out, so that what is folded is never drawn."""


@functools.cache
def environment() -> Environment:
    """The templates with what they may call."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {
        "prose": prose,
        "formula": show,
        "duration": numbers.duration,
        "measured": numbers.measured,
        "short": lambda address: address.split("://", 1)[-1].removeprefix("www."),
        "sentences": lambda note: [numbers.in_words(part) for part in note.split("; ") if part],
    }
    style, script = (_file(name) for name in ("page.css", "page.js"))
    made.globals |= {
        "first": Markup(FIRST),
        "first_digest": _digest(FIRST),
        "style": Markup(style),
        "script": Markup(script),
        "style_digest": _digest(style),
        "script_digest": _digest(script),
    }
    return made


def set_page(template: str, **content: Any) -> str:
    """A template with its content."""
    return environment().get_template(template).render(**content)


def style_of(name: str) -> Markup:
    """A style sheet, as it stands in a page."""
    return Markup(_file(name))


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8").strip()


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
