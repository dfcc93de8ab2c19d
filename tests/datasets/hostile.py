"""Shared by the tests of damaged files: one sentence that names the file, and no memory for a lie."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lemmata.datasets import graphs
from lemmata.lab.errors import UserError

MUCH = 100 * 2**20


@contextmanager
def little_memory() -> Iterator[None]:
    """No test may need much memory: the files are small, whatever they say."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MUCH


def sentence(path: Path) -> str:
    """The one sentence that loading gives."""
    with pytest.raises(UserError) as refused:
        graphs.load(path)
    return checked(refused.value)


def checked(error: UserError) -> str:
    said = str(error)
    assert said.endswith(".")
    assert "\n" not in said
    assert said.isprintable()
    assert len(said) < 900
    return said
