"""Tables of replications: how often each claim came out as expected on further blocks of seeds."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lemmata.lab import registry
from lemmata.lab.errors import UserError
from lemmata.lab.intervals import share_interval
from lemmata.lab.looks import in_notebook
from lemmata.lab.rows import Row

TABLE, SHIPPED = "replicate.json", "replication.json"
ENOUGH = 0.95
"""A claim repeats if it comes out as expected in this share of the blocks."""


@dataclass(frozen=True)
class Replication:
    """How often a claim and its control came out as expected; `low` and `high` are the range of `measured`."""

    theory: str
    claim: str
    expected: str
    control_expected: str
    preset: str
    blocks: int
    seeds: Sequence[int]
    as_expected: int
    share: float
    share_low: float
    share_high: float
    measured: Sequence[float | None]
    median: float | None
    low: float | None
    high: float | None
    odd: Sequence[Mapping[str, Any]]
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.theory}/{self.claim}"

    def _repr_html_(self) -> str:
        return in_notebook("replications", [self])

    @property
    def repeats(self) -> bool:
        return self.share >= ENOUGH

    def words(self) -> str:
        """How often, in a sentence."""
        return f"as expected in {self.as_expected} of {self.blocks} blocks of fresh seeds"

    @classmethod
    def of(cls, rows: Mapping[int, Row]) -> Replication:
        """The replication of a claim from its row in every block, by the block's first seed."""
        first = next(iter(rows.values()))
        share = share_interval(sum(row.as_expected for row in rows.values()), len(rows))
        numbers = [row.measured for row in rows.values() if row.measured is not None]
        return cls(
            theory=first.theory,
            claim=first.claim,
            expected=first.expected,
            control_expected=first.control_expected,
            preset=first.preset,
            blocks=len(rows),
            seeds=list(rows),
            as_expected=sum(row.as_expected for row in rows.values()),
            share=share.value,
            share_low=share.low,
            share_high=share.high,
            measured=[row.measured for row in rows.values()],
            median=statistics.median(numbers) if numbers else None,
            low=min(numbers, default=None),
            high=max(numbers, default=None),
            odd=[_odd(seed, row) for seed, row in rows.items() if not row.as_expected],
            seconds=round(sum(row.seconds for row in rows.values()), 3),
        )


def _odd(seed: int, row: Row) -> dict[str, Any]:
    return {"seed": seed} | {name: getattr(row, name) for name in ("outcome", "control", "measured", "note")}


def read_table(path: Path) -> list[Replication]:
    """The replications that a table holds; none if there is no such file."""
    try:
        listed = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return [Replication(**{field.name: row[field.name] for field in fields(Replication)}) for row in listed]
    except (ValueError, KeyError, TypeError, OSError):
        raise UserError(f"{path} cannot be read as a table of replications; remove it and replicate again.") from None


def known_replications(theory: str, directory: Path | None = None) -> dict[str, Replication]:
    """By claim: what a results folder says, and what the theory ships where that says nothing."""
    shipped = read_table(registry.folder_of(theory) / SHIPPED) if registry.has(theory) else []
    own = read_table(directory / TABLE) if directory is not None else []
    return {each.claim: each for each in (*shipped, *own) if each.theory == theory}
