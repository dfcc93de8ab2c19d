"""Every public name completes, says what it is, and shows how it is used."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import lemmata as lm

NAMES = [name for name in dir(lm) if not name.startswith("__") and not name.isupper()]
LONG = ("vit.", "sweep", "verify", "replicate", "trained", "run(", "load", "diagnose", "raise", "warnings")
"""What an example may contain that a test does not run: whole experiments, and files that are not there."""


def examples(name: str) -> Iterator[str]:
    """The parts of a docstring that use the name and are Python: paragraphs, or words between backticks."""
    doc = inspect.getdoc(getattr(lm, name)) or ""
    paragraphs = [textwrap.dedent(each).strip() for each in re.split(r"\n\s*\n", doc)]
    for part in [*paragraphs, *re.findall(r"`([^`]+)`", doc)]:
        used = re.search(rf"\blm\.{name}\b", part)
        if used and _parses(part):
            yield part


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring_with_an_example(name: str) -> None:
    assert list(examples(name)), inspect.getdoc(getattr(lm, name))


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_unless_it_needs_data_that_are_not_there(name: str) -> None:
    known: dict[str, Any] = {"lm": lm, "np": np, "jnp": jnp, "jax": jax, "optax": optax, "Any": Any}
    for example in examples(name):
        if not any(word in example for word in LONG):
            with contextlib.suppress(NameError):
                exec(example, known)


def test_everything_completes() -> None:
    assert set(lm.__all__) | {"__version__"} == set(dir(lm))
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", lm.__version__)
    assert {"run", "verify", "sweep", "trained", "diagnose", "replicate", "Setting", "UserError"} <= set(dir(lm))
