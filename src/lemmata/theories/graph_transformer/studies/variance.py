"""How the mean of the initial masses p_n varies (B.49, P17): each depends on few others, so the mean is concentrated.

The implied bound is Var(mean of p_n) <= 2 (1 + sum_z δ_z²)/|L|. Since 0 <= p_n <= 1 gives 1/4 already, it says
something only where shells are small: on a ring, but not on the chapter's graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.graph_transformer import data
from lemmata.theories.graph_transformer.graphs import ring
from lemmata.theories.graph_transformer.setting import Setting

REDRAWS = 200


def largest_shells(setting: Setting, seed: int) -> list[int]:
    """δ_z, z = 1 .. Z - 1."""
    _, table = data.draw(setting, seed)
    return [int((table == z).sum(axis=1).max()) for z in range(1, setting.bins)]


def initial_logits(setting: Setting, draws: np.random.Generator) -> np.ndarray:
    """<W_K μ_i, W_Q μ_j> of an initial network (3.2) without feature noise."""
    mu = np.linalg.qr(draws.normal(size=(setting.dimension, setting.dimension)))[0][:, : setting.patterns]
    wide = max(setting.key_width, setting.dimension)
    shared = np.linalg.qr(draws.normal(size=(wide, wide)))[0][: setting.key_width, : setting.dimension]

    def near() -> np.ndarray:
        noise = draws.normal(size=shared.shape)
        return (shared + setting.key_error * noise / np.linalg.norm(noise @ mu, axis=0).max()) @ mu

    return near().T @ near()


def ring_masses(setting: Setting, logits: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """p_n(0) of every node of a ring with fresh patterns, distances 1 .. Z - 1 as keys."""
    pattern, own = ring.draw_patterns(setting, draws)
    shifts = (*range(1 - setting.bins, 0), *range(1, setting.bins))
    keys = np.stack([np.roll(pattern, shift) for shift in shifts], axis=1)
    mass = np.exp(logits[keys, pattern[:, None]])
    return (mass * (keys == own[:, None])).sum(axis=1) / mass.sum(axis=1)


@lm.simulation(
    lm.Variable("bound", (), "", "2 (1 + sum_z δ_z²)/|L| of (B.49)"),
    lm.Variable("mass_mean", ("redraw",), "", "mean of p_n(0) over all nodes, patterns redrawn (ring)", True),
    lm.Variable("coin_mean", ("redraw",), "", "the same if one common coin decided all p_n (ring)", True),
    host=True,
)
def vary_masses(setting: Setting, seed: int) -> dict[str, Any]:
    """The bound, and on a ring the means of p_n(0) whose variance it bounds."""
    bound = 2 * (1 + sum(delta**2 for delta in largest_shells(setting, seed))) / setting.labelled
    means, coins = np.full((2, REDRAWS), np.nan)
    if setting.generator == "ring":
        draws = lm.generator(seed, "graph")
        logits = initial_logits(setting, draws)
        means = np.array([ring_masses(setting, logits, draws).mean() for _ in range(REDRAWS)])
        coins = draws.integers(0, 2, REDRAWS)
    return {"bound": np.float32(bound), "mass_mean": means.astype(np.float32), "coin_mean": coins.astype(np.float32)}
