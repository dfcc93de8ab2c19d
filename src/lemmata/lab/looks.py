"""The door to `lemmata.lab.notebook`, by name: how something looks in a notebook is no source of its results."""

from __future__ import annotations

import importlib
from typing import Any


def in_notebook(what: str, *shown: Any) -> str:
    """The HTML of something, made by the function of this name."""
    return getattr(importlib.import_module("lemmata.lab.notebook"), what)(*shown)
