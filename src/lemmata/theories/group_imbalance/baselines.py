"""Baselines that see the groups, which training by the paper's algorithm never does: group-DRO, weights, sub-sampling.

All of them minimise Σ_l q_l f_{n,l}: up-weighting with equal q, down-sampling on as many samples of every group as the
smallest has, group-DRO with the q that makes the worst group's risk least (exponentiated gradient on q).
"""

from typing import Any

import numpy as np
from jaxtyping import Float

import lemmata as lm
from lemmata.theories.group_imbalance.data import Sample, draw_data, draw_world
from lemmata.theories.group_imbalance.minimum import Minimum, minimise
from lemmata.theories.group_imbalance.network import SIGMOID, Activation, Labels, losses
from lemmata.theories.group_imbalance.setting import Setting
from lemmata.theories.group_imbalance.studies import study
from lemmata.theories.group_imbalance.studies.limits import risks

Array = np.ndarray
METHODS = ("erm", "up-weighting", "down-sampling", "group-dro")


def group_weights(groups: Array, shares: Float[Array, " groups"]) -> Labels:
    """A weight for every sample, so that group l counts `shares[l]` in all."""
    counts = np.bincount(groups, minlength=len(shares))
    return (shares / np.maximum(counts, 1))[groups]


def up_weighted(sample: Sample, start: Array, count: int, phi: Activation = SIGMOID) -> Minimum:
    """Every group counts the same."""
    shares = np.full(count, 1 / count)
    return minimise(sample.x, sample.y, start, phi, group_weights(sample.groups, shares))


def down_sampled(sample: Sample, start: Array, count: int, rng: np.random.Generator, phi: Activation) -> Minimum:
    """As many samples of every group as the smallest has."""
    members = [rng.permutation(np.flatnonzero(sample.groups == g)) for g in range(count)]
    kept = np.concatenate([mine[: min(map(len, members))] for mine in members])
    return minimise(sample.x[kept], sample.y[kept], start, phi)


def group_dro(
    sample: Sample, start: Array, count: int, phi: Activation = SIGMOID, rounds: int = 40, rate: float = 2.0
) -> tuple[Minimum, Float[Array, " groups"]]:
    """min over W of the worst group's risk: q_l grows with the risk of group l, W follows by Newton's method."""
    q = np.full(count, 1 / count)
    found = Minimum(start, False)
    for _ in range(rounds):
        found = minimise(sample.x, sample.y, found.weights, phi, group_weights(sample.groups, q), start)
        each = losses(found.weights, sample.x, sample.y, phi)
        risk = np.array([each[sample.groups == g].mean() for g in range(count)])
        q = q * np.exp(rate * (risk - risk.max()))
        q /= q.sum()
    return found, q


@study(
    lm.Variable("excess", ("method", "group"), "f̄_l - f̄_l(W*)", "excess risk of the group"),
    lm.Variable("raw_risk", ("method", "group"), "f̄_l", "cross entropy of the group"),
    lm.Variable("shares", ("group",), "q", "shares of the groups that group-DRO ends with"),
    labels={"method": METHODS, "group": ("first", "second")},
)
def baselines(setting: Setting, seed: int) -> dict[str, Any]:
    """Training without groups beside the three methods that see them."""
    world = draw_world(setting, seed)
    sample, phi, count = draw_data(setting, world, seed), setting.phi, world.mixture.groups
    robust, shares = group_dro(sample, world.truth, count, phi)
    found = [
        minimise(sample.x, sample.y, world.truth, phi),
        up_weighted(sample, world.truth, count, phi),
        down_sampled(sample, world.truth, count, lm.generator(seed, "kept"), phi),
        robust,
    ]
    measured = [risks(setting, world, each.weights, seed) for each in found]
    return {name: np.stack([each[name] for each in measured]) for name in ("excess", "raw_risk")} | {"shares": shares}
