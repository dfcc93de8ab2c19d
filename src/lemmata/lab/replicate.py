"""Replication: claims judged again on further blocks of seeds. In which share of them do they come out as expected?

Block b is `lemmata verify --seed 1000000+10000*b`, in a folder of its own under `DIR/replicate`; the blocks share no
seed with each other nor with what is shown elsewhere. The table `DIR/replicate.json` grows by a block at a time, so
that an interrupted replication goes on. Each theory ships the table of its last replication.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.errors import UserError
from lemmata.lab.files import lock, write_json
from lemmata.lab.intervals import share_interval
from lemmata.lab.rows import Row
from lemmata.lab.runner import Options
from lemmata.lab.sweep import OnProgress
from lemmata.lab.verify import Selection, verify

FOLDER, TABLE, SHIPPED = "replicate", "replicate.json", "replication.json"
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


def first_seed(block: int) -> int:
    """The first seed of a block, counted from 1."""
    return 1_000_000 + 10_000 * block


def replicate(
    selection: Selection,
    blocks: int,
    options: Options,
    progress: Callable[[str], OnProgress | None] = lambda name: None,
    say: Callable[[str], None] = lambda sentence: None,
    engine: str | Engine = "local",
) -> tuple[list[Replication], bool]:
    """Judge the claims on every block and keep the table; whether a cell failed or a value was lost on the way.

    One engine serves all blocks, and so do its compiled programs; nothing is drawn.
    """
    lost, found, rows = False, list[Replication](), dict[str, dict[int, Row]]()
    with lock(options.directory / FOLDER), open_engine(engine) as opened:
        for block in range(1, blocks + 1):
            seed = first_seed(block)
            say(f"block {block} of {blocks}, seeds from {seed}")
            here = replace(
                options, seed=seed, out=options.directory / FOLDER / str(seed), recompute_stale=True, draw=False
            )
            for row in verify(selection, here, progress, say, opened).rows:
                rows.setdefault(row.name, {})[seed] = row
                lost |= row.lost
            found = [Replication.of(of_claim) for of_claim in rows.values()]
            kept = {each.name: each for each in read_table(options.directory / TABLE)}
            kept |= {each.name: each for each in found}
            write_json(options.directory / TABLE, [asdict(each) for each in kept.values()])
    return found, lost


def read_table(path: Path) -> list[Replication]:
    """The replications that a table holds; none if there is no such file."""
    try:
        listed = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return [Replication(**{field.name: row[field.name] for field in fields(Replication)}) for row in listed]
    except (ValueError, KeyError, TypeError, OSError):
        raise UserError(f"{path} cannot be read as a table of replications; remove it and replicate again.") from None


def known_replications(theory: str, directory: Path | None = None) -> dict[str, Replication]:
    """By claim: what a results folder says, and what the theory ships where that says nothing."""
    from lemmata.lab import registry

    shipped = read_table(registry.folder_of(theory) / SHIPPED) if registry.has(theory) else []
    own = read_table(directory / TABLE) if directory is not None else []
    return {each.claim: each for each in (*shipped, *own) if each.theory == theory}
