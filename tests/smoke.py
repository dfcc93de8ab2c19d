"""What a theory gives at the preset smoke: the results folder of `verify`, its rows, and how many programs it took."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import pytest
import xarray as xr

from lemmata.lab import programs
from lemmata.lab.registry import cards, load
from lemmata.lab.rows import Row
from lemmata.lab.runner import Options, run
from lemmata.lab.theory import Theory
from lemmata.lab.verify import verify

THEORIES = [card["name"] for card in cards()]


def each_theory(*chosen: str) -> list[Any]:
    """All theories, or these, as parameters of a test: each runs where the other tests of its theory do."""
    return [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in chosen or THEORIES]


@dataclass(frozen=True, eq=False)
class Smoke:
    """`rows` of all claims in order, `page` and data in `folder`, `count` of compiled programs by piece."""

    theory: Theory
    folder: Path
    rows: Sequence[Row]
    page: Path
    count: programs.Count

    @staticmethod
    def of(name: str, folder: Path) -> Smoke:
        theory = load(name)
        jax.clear_caches()  # so that every program counts
        with programs.counting() as count:
            done = verify([(theory, list(theory.claims.values()))], Options("smoke", out=folder, recompute_stale=True))
        return Smoke(theory, folder, done.rows, done.page, count)

    def row(self, claim: str) -> Row:
        return next(row for row in self.rows if row.claim == claim)

    @functools.cache  # noqa: B019
    def data(self, experiment: str) -> xr.Dataset:
        """The data of an experiment; one that no claim reads is computed now."""
        return run(self.theory, experiment, Options("smoke", out=self.folder)).data.load()
