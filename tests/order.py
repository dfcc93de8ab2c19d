"""In which order workers are handed the groups of tests: what takes long comes first, and groups that start processes
and wait for them come between groups that compute, so that the cores are busy while a worker waits."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

WAITS = ("faults/", "lab/test_engine", "lab/test_interrupts", "lab/test_resume", "test_cli", "test_types")
"""How the paths of files begin whose tests start processes."""
WEIGHT = 10
"""So many usual tests take as long as one of theirs, about."""


def in_order(tests: Iterable[tuple[str, str]]) -> list[str]:
    """The groups of some tests, each given as its group and the path of its file in the folder of tests.

    Groups that compute are started by two workers; from then on a group that waits follows one that computes.
    """
    sizes: dict[str, int] = {}
    waits: dict[str, bool] = {}
    for group, path in tests:
        waits[group] = path.startswith(WAITS)
        sizes[group] = sizes.get(group, 0) + (WEIGHT if waits[group] else 1)
    longest = sorted(sizes, key=lambda group: -sizes[group])
    computing = [group for group in longest if not waits[group]]
    return [*computing[:1], *_in_turn(computing[1:], [group for group in longest if waits[group]])]


def _in_turn(first: Iterable[str], second: Iterable[str]) -> Iterator[str]:
    """One of the first, one of the second and so on; at the end what is left of the longer."""
    pairs = itertools.zip_longest(first, second)
    return (each for pair in pairs for each in pair if each is not None)
