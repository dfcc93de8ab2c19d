"""Exact spectra of the Fisher information: against covariance (F4.4b), width (F4.5a) and the bounds of row 23."""

from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance import population
from lemmata.theories.group_imbalance.bounds import Constants
from lemmata.theories.group_imbalance.data import Mixture, World, draw_truth, draw_world, rotated_covariance
from lemmata.theories.group_imbalance.setting import Setting
from lemmata.theories.group_imbalance.studies import study

SPECTRUM = (
    lm.Variable("least", (), "λ_min(F)", "least eigenvalue of the Fisher information"),
    lm.Variable("largest", (), "λ_max(F)", "largest eigenvalue of the Fisher information"),
    lm.Variable("second_moment", (), "M₂", "Σ_l λ_l (‖μ_l‖ + ‖Σ_l^{1/2}‖)²"),
)


def _spectrum(world: World, setting: Setting) -> dict[str, Any]:
    share, each = world.mixture.weights, population.fishers(*world.parts, setting.phi)
    values = np.linalg.eigvalsh(population.average_fisher(share, each))
    return {"least": values[0], "largest": values[-1], "second_moment": np.float64(world.mixture.moment(2))}


@study(*SPECTRUM)
def spectrum(setting: Setting, seed: int) -> dict[str, Any]:
    """The spectrum of F at the ground truth of one draw."""
    return _spectrum(draw_world(setting, seed), setting)


def random_world(setting: Setting, seed: int) -> World:
    """Row 23: d in 2..4, K up to 2, two groups with rotated covariances of eigenvalues in [1/4, 4], means of scale
    `first_mean`, orthogonal W* of scale log-uniform in [0.1, 3]. mixture=single: d = 3, K = 2, one standard Gaussian,
    orthogonal W* of scale `truth_scale`."""
    rng = lm.generator(seed, "world")
    if setting.mixture == "single":
        truth = draw_truth(rng, "orthogonal", 3, 2, setting.truth_scale)
        return World(Mixture([1.0], np.zeros((1, 3)), np.eye(3)[None]), truth)  # pyright: ignore[reportArgumentType]
    d, share = int(rng.integers(2, 5)), rng.uniform(0.1, 0.9)
    K = int(rng.integers(1, 3))
    truth = draw_truth(rng, "orthogonal", d, K, float(np.exp(rng.uniform(np.log(0.1), np.log(3)))))
    spreads = np.stack([rotated_covariance(rng, np.exp(rng.uniform(-np.log(4), np.log(4), d))) for _ in range(2)])
    means = setting.first_mean * rng.standard_normal((2, d))
    return World(Mixture(np.array([1 - share, share]), means, spreads), truth)


@study(
    *SPECTRUM,
    lm.Variable("lower", (), "4h/K²", "lower bound of the paper on λ_min(F)"),
    lm.Variable("upper", (), "λ_max(E xxᵀ)/4K", "upper bound on λ_max(F)"),
    lm.Variable("upper_moment", (), "M₂/4K", "upper bound on that"),
)
def convexity(setting: Setting, seed: int) -> dict[str, Any]:
    """The spectrum of F of a random problem beside the bounds of Lemma C.4.4."""
    world = random_world(setting, seed)
    K, mixture = world.truth.shape[1], world.mixture
    found = _spectrum(world, setting)
    return {
        **found,
        "lower": np.float64(4 / K**2 * Constants(mixture, world.truth).convexity),
        "upper": np.linalg.eigvalsh(mixture.second_moment())[-1] / (4 * K),
        "upper_moment": found["second_moment"] / (4 * K),
    }
