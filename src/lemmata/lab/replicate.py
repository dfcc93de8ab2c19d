"""Replication: claims judged again on further blocks of seeds. In which share of them do they come out as expected?

Block b is `lemmata verify --seed 1000000+10000*b`, in a folder of its own under `DIR/replicate`; the blocks share no
seed with each other nor with what is shown elsewhere. The table `DIR/replicate.json` grows by a block at a time, so
that an interrupted replication goes on. Each theory ships the table of its last replication.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from rich.console import Group, RenderableType
from rich.text import Text

from lemmata.lab.claims import INCONCLUSIVE
from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.files import lock, write_json
from lemmata.lab.page.numbers import interval, number
from lemmata.lab.plans import Options
from lemmata.lab.replications import ENOUGH, TABLE, Replication, read_table
from lemmata.lab.rows import Row
from lemmata.lab.sweep import OnProgress
from lemmata.lab.terminal import BAD, GOOD, NAME, indent, line
from lemmata.lab.verify import Selection, verify

FOLDER = "replicate"
MOST_BLOCKS = 400_000
"""Beyond them there are no fresh seeds."""


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
    lost, found, rows, table = False, list[Replication](), dict[str, dict[int, Row]](), options.directory / TABLE
    with lock(options.directory / FOLDER) as held, open_engine(engine, options.timeout) as opened:
        kept = {each.name: each for each in read_table(table)}
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
            kept |= {each.name: each for each in found}
            if held:
                write_json(table, [asdict(each) for each in kept.values()])
        if not held:
            say(f"{options.directory} can only be read: the table {TABLE} is not made anew.")
    return found, lost


def replication_text(found: Sequence[Replication], options: Options) -> RenderableType:
    """What `lemmata replicate` prints: how often each claim came out as expected, and what was measured."""
    told = []
    for each in found:
        sure = f"95 % interval {each.share_low:.2f} to {each.share_high:.2f}"
        share = f"{each.as_expected} of {each.blocks} as expected ({sure})"
        numbers = f"{number(each.median)}, {interval(each.low, each.high)}"
        spread = "" if each.median is None else f"; median {numbers} over blocks"
        mark, style = ("✓", GOOD) if each.repeats else ("!", BAD)
        told += [line((mark, style), " ", (each.name, NAME)), indent(Text(share + spread), 4)]
    repeated = sum(each.repeats for each in found)
    end = f"{repeated} of {len(found)} as expected in at least {ENOUGH:.0%}. Table: {options.directory / TABLE}"
    return Group(*told, Text(), Text(end))
