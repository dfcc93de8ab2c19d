"""How the mean of the initial masses p_n varies (B.49, P17): each depends on few others, so the mean is concentrated.

The implied bound is Var(mean of p_n) <= 2 (1 + sum_z δ_z²)/|L|. Since 0 <= p_n <= 1 gives 1/4 already, it says
something only where shells are small: on a cycle, but not on the chapter's graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lemmata.lab.setting import choice, number, size
from lemmata.lab.simulation import Variable, generator, simulation
from lemmata.theories.graph_transformer import data
from lemmata.theories.graph_transformer.setting import NetworkSetting, Setting

REDRAWS = 200


class VarianceSetting(NetworkSetting):
    """Defaults: a cycle of 1000 nodes, all of them labelled, distances 1 and 2 as keys."""

    graph: str = choice("cycle", "a cycle whose patterns are redrawn, or the chapter's graph", "cycle", "chapter")
    nodes: int = size(1000, "N", "number of nodes", low=5)
    discriminative: float = number(
        0.4, "γ_d", "fraction of nodes with a discriminative pattern", low=0, high=1, open_ends="low"
    )
    bins: int = number(3, "Z", "distances 1 .. Z - 1 are keys", low=3, high=3, integer=True)
    patterns: int = size(10, "M", "number of patterns; the first two decide the label", low=3)


def largest_shells(setting: VarianceSetting, seed: int) -> list[int]:
    """δ_z, z = 1 .. Z - 1."""
    if setting.graph == "cycle":
        return [2] * (setting.bins - 1)
    _, table = data.draw(Setting(nodes=setting.nodes, discriminative=setting.discriminative, labelled=1), seed)
    return [int((table == z).sum(axis=1).max()) for z in range(1, setting.bins)]


def initial_logits(setting: VarianceSetting, draws: np.random.Generator) -> np.ndarray:
    """<W_K μ_i, W_Q μ_j> of an initial network (3.2) without feature noise."""
    mu = np.linalg.qr(draws.normal(size=(setting.dimension, setting.dimension)))[0][:, : setting.patterns]
    wide = max(setting.key_width, setting.dimension)
    shared = np.linalg.qr(draws.normal(size=(wide, wide)))[0][: setting.key_width, : setting.dimension]

    def near() -> np.ndarray:
        noise = draws.normal(size=shared.shape)
        return (shared + setting.key_error * noise / np.linalg.norm(noise @ mu, axis=0).max()) @ mu

    return near().T @ near()


def cycle_masses(setting: VarianceSetting, logits: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """p_n(0) of every node of a cycle with fresh patterns; labels of non-discriminative nodes by coin."""
    fraction, others = setting.discriminative, setting.patterns - 2
    law = [fraction / 2, fraction / 2, *[(1 - fraction) / others] * others]
    pattern = draws.choice(setting.patterns, setting.nodes, p=law)
    own = np.where(pattern < 2, pattern, draws.integers(0, 2, setting.nodes))
    keys = np.stack([np.roll(pattern, shift) for shift in (-2, -1, 1, 2)], axis=1)
    mass = np.exp(logits[keys, pattern[:, None]])
    return (mass * (keys == own[:, None])).sum(axis=1) / mass.sum(axis=1)


@simulation(
    Variable("bound", (), "", "2 (1 + sum_z δ_z²)/|L| of (B.49)"),
    Variable("mass_mean", ("redraw",), "", "mean of p_n(0) over all nodes, patterns redrawn (cycle)", True),
    Variable("coin_mean", ("redraw",), "", "the same if one common coin decided all p_n (cycle)", True),
    host=True,
)
def vary_masses(setting: VarianceSetting, seed: int) -> dict[str, Any]:
    """The bound, and on a cycle the means of p_n(0) whose variance it bounds."""
    bound = 2 * (1 + sum(delta**2 for delta in largest_shells(setting, seed))) / setting.nodes
    means, coins = np.full((2, REDRAWS), np.nan)
    if setting.graph == "cycle":
        draws = generator(seed, "graph")
        logits = initial_logits(setting, draws)
        means = np.array([cycle_masses(setting, logits, draws).mean() for _ in range(REDRAWS)])
        coins = draws.integers(0, 2, REDRAWS)
    return {"bound": np.float32(bound), "mass_mean": means.astype(np.float32), "coin_mean": coins.astype(np.float32)}
