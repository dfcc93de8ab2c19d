"""The data of the paper: a mixture of L Gaussian groups, a ground truth W*, labels y ~ Bernoulli(H(W*, x)).

Every purpose (truth, rotation, groups, inputs, labels) has its own stream of the seed on the host, so that a seed has
the same W* and the same standard normals in every cell, and sample i depends on the seed and i alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

import lemmata as lm
from lemmata.theories.group_imbalance.network import (
    SIGMOID,
    Activation,
    Inputs,
    Labels,
    Matrix,
    Vector,
    Weights,
    output,
)
from lemmata.theories.group_imbalance.setting import Setting

Array = np.ndarray
SUM = 1e-8
"""How far the weights of a mixture may sum from 1."""


@dataclass(frozen=True)
class Mixture:
    """Ψ = {λ_l, μ_l, Σ_l}: weights, means and covariances of the groups."""

    weights: Array
    """[groups]"""
    means: Array
    """[groups, dimension]"""
    covariances: Array
    """[groups, dimension, dimension]"""

    def __post_init__(self) -> None:
        for name in ("weights", "means", "covariances"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        for sentence in refusals(self.weights, self.means, self.covariances):
            raise lm.UserError(sentence)

    @property
    def groups(self) -> int:
        return len(self.weights)

    @property
    def dimension(self) -> int:
        return self.means.shape[1]

    def minorities(self) -> list[int]:
        """The groups with λ_l < 1/L."""
        return np.flatnonzero(self.weights < 1 / self.groups).tolist()

    def is_symmetric(self, tolerance: float = 1e-9) -> bool:
        """Whether Σ_l λ_l δ_(μ_l, Σ_l) is unchanged by μ -> -μ: as much weight at every component as at its mirror."""
        alike = abs(self.covariances[:, None] - self.covariances).max((2, 3)) <= tolerance
        away = [abs(self.means[:, None] - sign * self.means).max(2) for sign in (1, -1)]
        same, mirrored = (alike & (each <= tolerance) for each in away)
        return bool(abs((same * 1.0 - mirrored) @ self.weights).max() <= tolerance)

    def moment(self, power: float, order: float = 2) -> float:
        """M_m = Σ_l λ_l (‖μ_l‖ + ‖Σ_l^{1/2}‖)^m; order=inf: M'_m, with ‖μ_l‖_∞."""
        sizes = np.linalg.norm(self.means, ord=order, axis=1)
        return float(self.weights @ (sizes + np.sqrt(np.linalg.eigvalsh(self.covariances)[:, -1])) ** power)

    def second_moment(self) -> Matrix:
        """E[xxᵀ]."""
        spread = self.covariances + self.means[:, :, None] * self.means[:, None, :]
        return np.einsum("l,lij->ij", self.weights, spread)


def refusals(weights: Array, means: Array, covariances: Array) -> Iterator[str]:
    """Sentences for what is no mixture."""
    L = len(weights) if weights.ndim == 1 else 0
    d = means.shape[-1] if means.ndim == 2 else 0
    if not L or means.shape != (L, d) or covariances.shape != (L, d, d) or not d:
        yield (
            f"A mixture has weights (L), means (L, d) and covariances (L, d, d), not {weights.shape}, {means.shape} "
            f"and {covariances.shape}."
        )
        return
    for name, values in (("weights", weights), ("means", means), ("covariances", covariances)):
        if not np.isfinite(values).all():
            yield f"The {name} of a mixture must be finite numbers."
            return
    if weights.min() <= 0 or abs(weights.sum() - 1) > SUM:
        yield f"The weights of a mixture are positive and sum to 1, not {weights.tolist()}."
    for group, covariance in enumerate(covariances, 1):
        if abs(covariance - covariance.T).max() > 1e-10 * max(abs(covariance).max(), 1e-300):
            yield f"The covariance of group {group} is not symmetric."
        elif np.linalg.eigvalsh(covariance)[0] <= 0:
            yield f"The covariance of group {group} is not positive definite."


def rotated_covariance(rng: np.random.Generator, diagonal: Array) -> Matrix:
    """ΛᵀDΛ with Λ the left singular vectors of a standard Gaussian matrix."""
    left = np.linalg.svd(rng.standard_normal((len(diagonal), len(diagonal))))[0]
    turned = left.T @ (diagonal[:, None] * left)
    return (turned + turned.T) / 2


def spread_of(dimension: int) -> Vector:
    """D = diag(1, 1.1, 1.2, ...)."""
    return 1 + 0.1 * np.arange(dimension)


def draw_truth(rng: np.random.Generator, law: str, dimension: int, neurons: int, scale: float = 1.0) -> Weights:
    """W*: `gaussian` N(0, scale²), `uniform` on [-scale, scale], `orthogonal` scale times orthonormal columns."""
    if law == "uniform":
        return rng.uniform(-scale, scale, (dimension, neurons))
    entries = rng.standard_normal((dimension, neurons))
    return scale * (np.linalg.qr(entries)[0] if law == "orthogonal" else entries)


def draw_groups(rng: np.random.Generator, weights: Array, count: int, stratified: bool = False) -> Int[Array, " count"]:
    """g ~ Cat(λ); stratified: round(λ_l n) of each, the largest group taking what rounding leaves, in random order."""
    if not stratified:
        drawn = rng.random(count)
        return sum((drawn >= edge).astype(int) for edge in np.cumsum(weights)[:-1]) + np.zeros(count, int)
    counts = np.round(weights * count).astype(int)
    counts[np.argmax(counts)] += count - counts.sum()
    return rng.permutation(np.repeat(np.arange(len(weights)), counts))


def draw_inputs(rng: np.random.Generator, mixture: Mixture, groups: Array) -> Inputs:
    """x = μ_g + Σ_g^{1/2} z."""
    z = rng.standard_normal((len(groups), mixture.dimension))
    roots = np.linalg.cholesky(mixture.covariances)
    x = np.empty_like(z)
    for group in range(mixture.groups):
        mine = groups == group
        x[mine] = mixture.means[group] + z[mine] @ roots[group].T
    return x


class Sample(NamedTuple):
    """Inputs, labels in {0, 1}, and the groups, which training never sees."""

    x: Inputs
    y: Labels
    groups: Int[Array, " samples"]


def draw_sample(
    mixture: Mixture,
    truth: Weights,
    count: int,
    seed: int,
    *purpose: str,
    phi: Activation = SIGMOID,
    group: int | None = None,
    stratified: bool = False,
) -> Sample:
    """(x, y, g) from the streams of this seed and purpose; of one group alone where `group` says so."""
    if count < 1:
        raise lm.UserError(f"samples = {count} is not allowed: at least 1 is drawn.")
    members, inputs, labels = (lm.generator(seed, *purpose, word) for word in ("groups", "inputs", "labels"))
    drawn = group is None
    groups = draw_groups(members, mixture.weights, count, stratified) if drawn else np.full(count, group)
    x = draw_inputs(inputs, mixture, groups)
    return Sample(x, (labels.random(count) < output(truth, x, phi)).astype(float), groups)


def check_labels(y: Any) -> Labels:
    """Labels as numbers, refused unless all are 0 or 1."""
    y = np.asarray(y, float)
    if not np.isin(y, (0, 1)).all():
        raise lm.UserError("Labels must be 0 or 1.")
    return y


class World(NamedTuple):
    """What a run draws before its data: the mixture Ψ and the ground truth W*."""

    mixture: Mixture
    truth: Weights

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        """μ, Σ and W*: what population quantities are of."""
        return self.mixture.means, self.mixture.covariances, self.truth


def data_seed(setting: Setting, seed: int) -> int:
    """The seed of Ψ and W*: that of the run, unless the setting fixes it for all runs."""
    return seed if setting.data_seed < 0 else setting.data_seed


def draw_world(setting: Setting, seed: int) -> World:
    """Ψ and W* of a run."""
    seed = data_seed(setting, seed)
    d, K = setting.dimension, setting.neurons
    if setting.truth == "given":
        truth = np.asarray(setting.true_weights, float)
    else:
        truth = draw_truth(lm.generator(seed, "truth"), setting.truth, d, K, setting.truth_scale)
    if setting.defect == "equal_columns":
        truth = np.repeat(truth[:, :1], K, axis=1)
    if setting.mixture == "given":
        return World(Mixture(setting.mixture_weights, setting.mixture_means, setting.mixture_covariances), truth)
    base = np.eye(d)
    if setting.covariance == "rotated":
        base = rotated_covariance(lm.generator(seed, "rotation"), spread_of(d))
    groups = slice(0, 1 if setting.mixture == "single" else 2)
    weights = np.array([1.0] if setting.mixture == "single" else [1 - setting.fraction, setting.fraction])
    means = np.array([setting.first_mean, setting.second_mean])[groups, None] * np.ones(d)
    scales = np.array([setting.first_scale, setting.second_scale])[groups]
    return World(Mixture(weights, means, scales[:, None, None] ** 2 * base), truth)


def draw_data(setting: Setting, world: World, seed: int) -> Sample:
    """The training sample of a run."""
    count = setting.count
    teacher = world.truth
    if setting.defect == "other_teacher":
        teacher = draw_truth(lm.generator(seed, "other"), "gaussian", *teacher.shape)
    how = {"phi": setting.phi, "stratified": setting.stratified}
    if setting.defect == "repeated":
        few = draw_sample(world.mixture, teacher, min(500, count), seed, **how)
        again = np.arange(count) % len(few.y)
        return Sample(*(part[again] for part in few))
    return draw_sample(world.mixture, teacher, count, seed, **how)


def draw_tests(setting: Setting, world: World, seed: int) -> Float[Array, "groups points dimension"]:
    """Test points of every group, without labels."""
    streams = [lm.generator(seed, "test", str(group), "inputs") for group in range(world.mixture.groups)]
    points = [np.full(setting.test_points, group) for group in range(world.mixture.groups)]
    return np.stack([draw_inputs(rng, world.mixture, each) for rng, each in zip(streams, points, strict=True)])
