"""Replication: claims judged again on further blocks of seeds. In which share of them do they come out as expected?

Block b is `lemmata verify --seed 1000000+10000*b`, in a folder of its own under `DIR/replicate`; the blocks share no
seed with each other nor with what is shown elsewhere. The table `DIR/replicate.json` grows by a block at a time, so
that an interrupted replication goes on. Each theory ships the table of its last replication.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace

from lemmata.lab.claims import INCONCLUSIVE
from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.files import lock, write_json
from lemmata.lab.plans import Options
from lemmata.lab.replications import TABLE, Replication, read_table
from lemmata.lab.rows import Row
from lemmata.lab.sweep import OnProgress
from lemmata.lab.verify import Selection, verify

FOLDER = "replicate"


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
    with lock(options.directory / FOLDER), open_engine(engine, options.timeout) as opened:
        for block in range(1, blocks + 1):
            seed = first_seed(block)
            say(f"block {block} of {blocks}, seeds from {seed}")
            here = replace(
                options, seed=seed, out=options.directory / FOLDER / str(seed), recompute_stale=True, draw=False
            )
            for row in verify(selection, here, progress, say, opened).rows:
                rows.setdefault(row.name, {})[seed] = row
                lost |= row.lost and row.expected != INCONCLUSIVE
            found = [Replication.of(of_claim) for of_claim in rows.values()]
            kept = {each.name: each for each in read_table(options.directory / TABLE)}
            kept |= {each.name: each for each in found}
            write_json(options.directory / TABLE, [asdict(each) for each in kept.values()])
    return found, lost
