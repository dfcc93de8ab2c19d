"""Exact spectra of the Fisher information (F4.4b, F4.5a, row 23), and how far empirical derivatives are from their
population's, and how smooth they are (rows 24-28)."""

from functools import cache
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance import data, network, population
from lemmata.theories.group_imbalance.bounds import Constants
from lemmata.theories.group_imbalance.setting import Setting
from lemmata.theories.group_imbalance.studies import study

SPECTRUM = (
    lm.Variable("least", (), "λ_min(F)", "least eigenvalue of the Fisher information"),
    lm.Variable("largest", (), "λ_max(F)", "largest eigenvalue of the Fisher information"),
    lm.Variable("second_moment", (), "M₂", "Σ_l λ_l (‖μ_l‖ + ‖Σ_l^{1/2}‖)²"),
    lm.Variable("lower", (), "4h/K²", "lower bound of the paper on λ_min(F)"),
    lm.Variable("upper", (), "λ_max(E xxᵀ)/4K", "upper bound on λ_max(F)"),
    lm.Variable("upper_moment", (), "M₂/4K", "upper bound on that"),
)


def _spectrum(world: data.World, setting: Setting) -> dict[str, Any]:
    """The spectrum of F at the ground truth, beside the bounds of Lemma C.4.4."""
    mixture, K = world.mixture, world.truth.shape[1]
    values = np.linalg.eigvalsh(
        population.average_fisher(mixture.weights, population.fishers(*world.parts, setting.phi))
    )
    return {
        "least": values[0],
        "largest": values[-1],
        "second_moment": np.float64(mixture.moment(2)),
        "lower": np.float64(4 / K**2 * Constants(mixture, world.truth).convexity),
        "upper": np.linalg.eigvalsh(mixture.second_moment())[-1] / (4 * K),
        "upper_moment": np.float64(mixture.moment(2) / (4 * K)),
    }


@study(*SPECTRUM)
def spectrum(setting: Setting, seed: int) -> dict[str, Any]:
    """F at the ground truth of one draw."""
    return _spectrum(data.draw_world(setting, seed), setting)


@study(*SPECTRUM)
def convexity(setting: Setting, seed: int) -> dict[str, Any]:
    """F of a random problem (row 23): d in 2..4, K up to 2, two groups with rotated covariances of eigenvalues in
    [1/4, 4], means of scale `first_mean`, orthogonal W* of scale log-uniform in [0.1, 3]; mixture=single: of a draw."""
    if setting.mixture == "single":
        return _spectrum(data.draw_world(setting, seed), setting)
    rng = lm.generator(seed, "world")
    d, share = int(rng.integers(2, 5)), rng.uniform(0.1, 0.9)
    K = int(rng.integers(1, 3))
    truth = data.draw_truth(rng, "orthogonal", d, K, float(np.exp(rng.uniform(np.log(0.1), np.log(3)))))
    spreads = np.stack([data.rotated_covariance(rng, np.exp(rng.uniform(-np.log(4), np.log(4), d))) for _ in range(2)])
    means = setting.first_mean * rng.standard_normal((2, d))
    return _spectrum(data.World(data.Mixture(np.array([1 - share, share]), means, spreads), truth), setting)


Array = np.ndarray
BLOCK = 100_000
DISTANCES = (1e-6, 1e-4, 1e-2, 1.0, 3.0)
DIRECTIONS = 10
AWAY = 0.5
REFERENCE = 4_000_000
"""Samples behind the population derivatives away from W*."""
LIPSCHITZ = 6 * 3**0.5
RADII = ("0", "r", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5")


def expansion(W: Array, x: Array, y: Array, setting: Setting) -> tuple[Array, Array]:
    """∇f_n and ∇²f_n."""
    at = network.expand(W, x, y, phi=setting.phi)
    return network.flatten(at.gradient), at.hessian


def moved(world: data.World, distance: float, seed: int, direction: int = 0) -> Array:
    """W* moved by `distance` in a random direction."""
    noise = lm.generator(seed, "direction", str(direction)).standard_normal(world.truth.shape)
    return world.truth + distance * noise / np.linalg.norm(noise)


@cache
def reference(setting: Setting, samples: int) -> tuple[Array, Array, Array]:
    """W at distance 0.5 of W*, and the population derivatives there from many samples."""
    world = data.draw_world(setting, setting.data_seed)
    W = moved(world, AWAY, setting.data_seed)
    gradient, curvature = 0.0, 0.0
    blocks = max(1, samples // BLOCK)
    for block in range(blocks):
        many = data.draw_sample(world.mixture, world.truth, BLOCK, setting.data_seed, "reference", str(block))
        found = expansion(W, many.x, many.y, setting)
        gradient, curvature = gradient + found[0] / blocks, curvature + found[1] / blocks
    return W, np.asarray(gradient), np.asarray(curvature)


@study(
    lm.Variable("hessian_error", ("place",), "‖∇²f_n - ∇²f̄‖", "spectral distance of the Hessians"),
    lm.Variable("gradient_error", ("place",), "‖∇f_n - ∇f̄‖", "distance of the gradients"),
    labels={"place": ("truth", "away")},
)
def concentration(setting: Setting, seed: int) -> dict[str, Any]:
    """Rows 26, 27: at W* against the exact F and the gradient 0, away from it against many samples."""
    world = data.draw_world(setting, seed)
    sample = data.draw_data(setting, world, seed)
    fixed = setting.replace(samples=1, samples_per_dimension=0, defect="none", data_seed=data.data_seed(setting, seed))
    known = population.average_fisher(world.mixture.weights, population.fishers(*world.parts, setting.phi))
    W, *at_distance = reference(fixed, min(REFERENCE, 400 * setting.test_points))
    places = ((world.truth, (0.0, known)), (W, at_distance))
    pairs = [(expansion(at, sample.x, sample.y, setting), exact) for at, exact in places]
    return {
        "hessian_error": np.array([np.linalg.norm(found[1] - true[1], 2) for found, true in pairs]),
        "gradient_error": np.array([np.linalg.norm(found[0] - true[0]) for found, true in pairs]),
    }


@study(
    lm.Variable("ratio", ("lemma", "distance"), "", "left side over right side of the inequality"),
    labels={"lemma": ("population", "samples", "gradient"), "distance": tuple(f"{each:g}" for each in DISTANCES)},
)
def smoothness(setting: Setting, seed: int) -> dict[str, Any]:
    """Rows 24, 25 and the companion for the gradient, on common samples: the largest ratio over ten directions.

    The Hessian of one sample is ξ ⊗ xxᵀ, so that its change has at most the norm ‖ξ - ξ'‖_F ‖x‖².
    """
    world = data.draw_world(setting, seed)
    mixture, (d, K) = world.mixture, world.truth.shape
    x, n, phi = data.draw_data(setting, world, seed).x, setting.count, setting.phi
    flat, quartic = (mixture.moment(m, order=np.inf) for m in (2, 4))
    whole = LIPSCHITZ * K**1.5 * (mixture.moment(4) * mixture.moment(8)) ** 0.25
    limits = np.array([whole, LIPSCHITZ * d**1.5 * K**2.5 * np.sqrt(flat * quartic), 2 * d * flat])
    points = [[moved(world, distance, seed, direction) for direction in range(DIRECTIONS)] for distance in DISTANCES]
    changes = np.zeros((len(DISTANCES), DIRECTIONS, d * K, d * K))
    largest = np.zeros((2, len(DISTANCES)))
    for rows in network.chunks(x):
        part = np.tile(x[rows], (2, 1))  # once for each label
        y, p = np.repeat([1.0, 0.0], len(part) // 2), np.concatenate(network.sides(world.truth, x[rows], phi))
        xx, lengths = network.products(part), np.linalg.norm(part, axis=1)
        before = network.factors(world.truth, part, y, phi)
        for i, around in enumerate(points):
            most = np.zeros((2, len(part) // 2))
            for k, W in enumerate(around):
                found = network.factors(W, part, y, phi)
                tilted, bent = (new - old for new, old in zip(found, before, strict=True))
                changes[i, k] += network.assemble(p * bent, xx) / n
                sizes = np.linalg.norm(bent, axis=(0, 1)) * lengths**2, np.linalg.norm(tilted, axis=0) * lengths
                most = np.maximum(most, (p * np.stack(sizes)).reshape(2, 2, -1).sum(1))
            largest[:, i] += most.sum(1) / n
    most = np.linalg.norm(changes, 2, axis=(2, 3)).max(1)
    return {"ratio": np.stack([most, *largest]) / limits[:, None] / np.array(DISTANCES)}


@study(
    lm.Variable("least", ("radius",), "λ_min(∇²f_n)", "least eigenvalue over ten directions", optional=True),
    lm.Variable("ball", (), "r", "radius of local convexity, C₃ = 4/(6√3), ε₀ = 0.2"),
    labels={"radius": RADII},
)
def radius(setting: Setting, seed: int) -> dict[str, Any]:
    """Row 28: the least eigenvalue of ∇²f_n at W* and around it."""
    world = data.draw_world(setting, seed)
    sample = data.draw_data(setting, world, seed)
    broken = setting.defect == "equal_columns"
    ball = 0.0 if broken else Constants(world.mixture, world.truth).convexity_radius(epsilon=0.2, C=4 / LIPSCHITZ)
    sizes = [ball if word == "r" else float(word) for word in RADII[: 1 if broken else None]]
    points = [moved(world, size, seed, k) for size in sizes for k in range(DIRECTIONS if size else 1)]
    curvatures = np.zeros((len(points), world.truth.size, world.truth.size))
    for part in network.chunks(sample.x):
        few, xx = (sample.x[part], sample.y[part], setting.phi), network.products(sample.x[part])
        curvatures += [network.assemble(network.factors(W, *few)[1], xx) for W in points]
    values = np.linalg.eigvalsh(curvatures / setting.count)[:, 0]
    least = np.full(len(RADII), np.nan)
    least[: len(sizes)] = [values[0], *values[1:].reshape(-1, DIRECTIONS).min(1)]
    return {"least": least, "ball": np.float64(ball)}
