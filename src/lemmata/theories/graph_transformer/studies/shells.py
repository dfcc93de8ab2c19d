"""Without training: what the proofs assume of shells (P18, P20, 9.5, 9.32), of patterns and initial weights (3.2), and
how initial masses vary (B.49, P17).

Each mass p_n depends on few others, so their mean is concentrated. The implied bound is Var(mean of p_n) <= 2 (1 +
sum_z δ_z²)/|L|. Since 0 <= p_n <= 1 gives 1/4 already, it says something only where shells are small: on a ring, but
not on the paper's graph.
"""

from typing import Any

import jax
import numpy as np
from jaxtyping import Int

import lemmata as lm
from lemmata.theories.graph_transformer import data, margins
from lemmata.theories.graph_transformer.graphs import ring
from lemmata.theories.graph_transformer.network import initialise
from lemmata.theories.graph_transformer.setting import Setting

REDRAWS, FRESH = 200, 20
"""How often patterns are redrawn on a ring, and how many fresh graphs stand in for that elsewhere."""


def exchange_values(
    shells: margins.Shells, label: np.ndarray, sizes: np.ndarray
) -> Int[np.ndarray, "node distance pattern"]:
    """|D_* ∩ N_z||D_i \\ N_z| - |D_i ∩ N_z||D_* \\ N_z| for every node, distance and pattern i >= 3 (B.199)."""
    own = (1 - label) // 2
    relevant = np.take_along_axis(shells.members, own[:, None, None], axis=2)
    plain = shells.members[:, :, 2:]
    return relevant * (sizes[2:] - plain) - plain * (sizes[own][:, None, None] - relevant)


@lm.simulation(
    lm.Variable("count_margin", ("bin",), "Δ̄(z)", "mean winning margin"),
    lm.Variable("normalised_margin", ("bin",), "", "mean winning margin relative to the size of the shell"),
    lm.Variable("core_distance", (), "z_m", "distance with the largest mean margin"),
    lm.Variable("positive_first", (), "", "share of nodes with a positive margin at distance 1"),
    lm.Variable("relevant_share", (), "E[p_n]", "mean share of class-relevant nodes among the nodes at distance 1"),
    lm.Variable("least_exchange", ("bin",), "", "(B.200): smallest value at z_m less that at z, over nodes, patterns"),
    lm.Variable("mean_exchange", ("bin",), "", "its mean over nodes and patterns"),
    lm.Variable("marked_share_error", ("bin",), "", "mean of | |(D_1 ∪ D_2) ∩ N_z|/|N_z| - γ_d |", True),
    lm.Variable("plain_share_error", ("bin",), "", "mean of | |D_i ∩ N_z|/|D_i| - |N_z|/N |, i >= 3", True),
    host=True,
)
def examine_shells(setting: Setting, seed: int) -> dict[str, Any]:
    """The margins of a graph, and how uniform its shells are (probe 13); bins beyond Z are 0. It needs M >= 3."""
    drawn, table, _ = data.draw(setting, seed)
    cap, bins = data.depth(setting), setting.bins
    everything = [(np.arange(setting.nodes), table)]
    by_pattern = margins.count_shells(everything, drawn.pattern, setting.patterns, cap).lumped(bins)
    shells = data.shells_of(table, drawn.pattern, cap).lumped(bins)
    delta, relative = margins.winning_margins(shells, (1 - drawn.label) // 2)
    mean, share = margins.mean_margins(delta, relative)
    core = margins.core_distance(mean, bins)
    sizes = np.bincount(drawn.pattern, minlength=setting.patterns)
    values = exchange_values(by_pattern, drawn.label, sizes)
    gain = values[:, [core]] - values
    own = np.take_along_axis(shells.members, ((1 - drawn.label) // 2)[:, None, None], axis=2)[:, :, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        near = own[:, 1] / shells.size[:, 1]
        marked = np.abs(shells.members.sum(axis=2) / shells.size - setting.discriminative)
        plain = np.abs(by_pattern.members[:, :, 2:] / sizes[2:] - (shells.size / setting.nodes)[:, :, None])

    by_bin = {
        "count_margin": mean,
        "normalised_margin": share,
        "least_exchange": gain.min(axis=(0, 2)),
        "mean_exchange": gain.mean(axis=(0, 2)),
        "marked_share_error": margins.mean_margins(marked, marked)[1],
        "plain_share_error": plain.mean(axis=(0, 2)),
    }
    facts = {"core_distance": core, "positive_first": np.mean(delta[:, 1] > 0), "relevant_share": np.nanmean(near)}
    return {
        **{name: data.padded(values, setting.bin_room) for name, values in by_bin.items()},
        **{name: np.float32(value) for name, value in facts.items()},
    }


@lm.simulation(
    lm.Variable("pattern_distance", (), "κ", "smallest distance of two patterns"),
    lm.Variable("pattern_product", (), "λ", "largest inner product of two patterns"),
    lm.Variable("spectral_norm", ("matrix",), "‖W‖", "largest singular value of the initial matrix"),
    labels={"matrix": ("W_K", "W_Q", "W_V")},
    host=True,
)
def examine_start(setting: Setting, seed: int) -> dict[str, Any]:
    """How far the patterns are apart, and whether the initial matrices have spectral norms of at most 1 (3.2)."""
    mu = data.draw_patterns(setting, np.zeros(1, int), seed)[1].astype(np.float32)
    network = initialise(setting.problem(), jax.random.key(seed), jax.numpy.asarray(mu))[0].network
    products = mu.T @ mu
    square = np.diag(products)[:, None] + np.diag(products) - 2 * products
    apart = ~np.eye(len(products), dtype=bool)
    norms = [np.linalg.norm(matrix, 2) for matrix in (network.key, network.query, network.value)]
    distance, product = np.sqrt(square[apart].min()), products[apart].max()
    measured = {"pattern_distance": distance, "pattern_product": product, "spectral_norm": norms}
    return {name: np.float32(value) for name, value in measured.items()}


def largest_shells(setting: Setting, seed: int) -> list[int]:
    """δ_z, z = 1 .. Z - 1."""
    table = data.draw(setting, seed).table
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


def graph_masses(setting: Setting, logits: np.ndarray, seed: int) -> np.ndarray:
    """p_n(0) of every node of a fresh graph, distances 1 .. Z - 1 as keys."""
    drawn, table, _ = data.draw(setting, seed)
    near = (table >= 1) & (table < setting.bins)
    mass = near * np.exp(logits[drawn.pattern][:, drawn.pattern]).T
    relevant = drawn.pattern == ((1 - drawn.label) // 2)[:, None]
    return (mass * relevant).sum(axis=1) / mass.sum(axis=1)


@lm.simulation(
    lm.Variable("bound", (), "", "2 (1 + sum_z δ_z²)/|L| of (B.49)"),
    lm.Variable("mass_mean", ("redraw",), "", "mean of p_n(0) over all nodes, redrawn", True),
    lm.Variable("coin_mean", ("redraw",), "", "the same if one common coin decided all p_n (ring)", True),
    host=True,
)
def vary_masses(setting: Setting, seed: int) -> dict[str, Any]:
    """The bound, and the means of p_n(0) whose variance it bounds: patterns redrawn on a ring, else fresh graphs."""
    bound = 2 * (1 + sum(delta**2 for delta in largest_shells(setting, seed))) / setting.labelled
    means, coins = np.full((2, REDRAWS), np.nan)
    draws = lm.generator(seed, "graph")
    logits = initial_logits(setting, draws)
    if setting.generator == "ring":
        means[:] = [ring_masses(setting, logits, draws).mean() for _ in means]
        coins[:] = draws.integers(0, 2, REDRAWS)
    else:
        fresh = draws.integers(0, 2**31, FRESH)
        means[:FRESH] = [graph_masses(setting, logits, int(each)).mean() for each in fresh]
    return {"bound": np.float32(bound), "mass_mean": np.float32(means), "coin_mean": np.float32(coins)}
