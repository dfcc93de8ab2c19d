"""Random numbers of host work: graphs, ground truths, splits. It needs no JAX, so that a calculator may draw."""

from __future__ import annotations

import zlib

import numpy as np


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """An independent stream of the run for every purpose of its host work.

    lm.generator(seed, "graph").permutation(10)
    """
    return np.random.default_rng([seed, *(zlib.crc32(word.encode()) for word in purpose)])
