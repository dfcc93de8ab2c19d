"""Population quantities, exact: Fisher information, noise floors and risks of each group, and what they predict.

Everything is an expectation over x ~ N(μ_l, Σ_l) of a function of s = W*ᵀx alone (times xxᵀ), so it is an integral over
K dimensions whatever d is (section 4.1 b). With the QR decomposition Σ^½ W* = Q R and x = μ + Σ^½ (Q z + rest) the
coordinates z are standard normal, s = W*ᵀμ + Rᵀz is triangular in them, and neither G_l⁻¹ nor full rank is needed. The
trapezoid rule on a uniform grid converges exponentially; Gauss-Hermite does not once the network saturates.

Plain float64 NumPy throughout. The order of the d K parameters is w_1, ..., w_K: entry j d + i is W_ij.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lemmata.theories.group_imbalance.network import SIGMOID, Activation, Matrix, Vector, Weights, cross_entropy

REACH = 8.0
"""The grid ends this many standard deviations from the mean."""
STEP = 0.25
"""The coarsest step of the grid, in standard deviations."""
STRETCHED = 0.75
"""The coarsest step of an input s_j along one coordinate: φ' has poles at distance π of the real line."""
EXACT_NEURONS = 3
"""Up to so many neurons the Fisher information is integrated; beyond, it is sampled at POINTS."""
POINTS = 200_000
BLOCK = 1 << 15
"""Grid points that are looked at together: they fit into a core's cache."""

Array = np.ndarray
Informations = Float[np.ndarray, "groups p p"]
"""F_l of every group."""
Fractions = Float[np.ndarray, "*cells groups"] | Sequence[float]
"""λ: of one mixture, or of many along the leading dimensions."""


class Grid(NamedTuple):
    """One block of the grid: rows are points of all coordinates but the last, columns those of the last one."""

    rows: Float[np.ndarray, "rows lead"]
    row_weights: Float[np.ndarray, " rows"]
    last: Float[np.ndarray, " columns"]
    last_weights: Float[np.ndarray, " columns"]
    inputs: list[Array]
    """s_j, as [rows, 1] where it does not depend on the last coordinate and as [rows, columns] where it does."""


def square_root(covariance: Matrix) -> Matrix:
    """The symmetric root Σ^½."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(values)) @ vectors.T


def _axis(stretch: float, refine: float) -> tuple[Array, Array]:
    """Points and trapezoid weights of a standard normal coordinate along which the inputs move by `stretch`."""
    step = min(STEP, STRETCHED / max(stretch, 1e-300)) / refine
    half = int(np.ceil(REACH / step))
    z = np.arange(-half, half + 1) * step
    return z, np.exp(-z * z / 2) * step / np.sqrt(2 * np.pi)


def _blocks(centre: Array, triangle: Array, refine: float) -> Iterator[Grid]:
    """The grid of s = centre + triangleᵀ z, block by block; triangle is upper triangular, [coordinates, neurons]."""
    axes = [_axis(float(np.abs(row).max()), refine) for row in triangle]
    lead, weights = np.zeros((1, 0)), np.ones(1)
    for z, w in axes[:-1]:
        lead = np.concatenate([np.repeat(lead, len(z), 0), np.tile(z, len(lead))[:, None]], 1)
        weights = np.outer(weights, w).ravel()
    last, last_weights = axes[-1]
    size = max(1, BLOCK // len(last))
    for start in range(0, len(lead), size):
        rows = lead[start : start + size]
        fixed = centre + rows @ triangle[:-1]
        columns = zip(fixed.T[:, :, None], triangle[-1], strict=True)
        inputs = [column if moves == 0 else column + moves * last for column, moves in columns]
        yield Grid(rows, weights[start : start + size], last, last_weights, inputs)


def _reduce(mean: Vector, covariance: Matrix, weights: Weights) -> tuple[Array, Array, Array, Array]:
    """W ᵀμ, the triangle R, and how x follows from z: x = μ + lift z + a rest of covariance C (section 4.1 b)."""
    root = square_root(covariance)
    directions, triangle = np.linalg.qr(root @ weights)
    triangle = np.where(np.tri(*triangle.shape, k=-1, dtype=bool), 0.0, triangle)
    lift = root @ directions
    return weights.T @ mean, triangle, lift, covariance - lift @ lift.T


def _probabilities(phi: Activation, inputs: list[Array]) -> tuple[Array, Array, list[Array]]:
    """H, 1 - H and the slopes φ'(s_j)."""
    values, rests, slopes = zip(*(phi.parts(s) for s in inputs), strict=True)
    return sum(values) / len(inputs), sum(rests) / len(inputs), list(slopes)  # pyright: ignore[reportReturnType]


def fisher(mean: Vector, covariance: Matrix, truth: Weights, phi: Activation = SIGMOID, refine: float = 1.0) -> Array:
    """F_l = K⁻² E[vvᵀ ⊗ xxᵀ / (H(1-H))], v_j = φ'(s_j), by the reduction to K dimensions (section 4.1 b)."""
    dimension, neurons = truth.shape
    assert neurons <= dimension, "the last coordinate moves the last neuron alone"
    centre, triangle, lift, rest = _reduce(mean, covariance, truth)
    pairs = [(j, k) for j in range(neurons) for k in range(j, neurons)]
    # E[v_j v_k / H(1-H) ẑẑᵀ] with ẑ = (1, z): first over the last coordinate, to its powers 0, 1, 2, then over the rows
    moments = np.zeros((len(pairs), neurons, neurons, 3))
    tiny = np.finfo(float).tiny
    for grid in _blocks(centre, triangle, refine):
        up = np.stack([np.ones_like(grid.last), grid.last, grid.last**2], 1) * grid.last_weights[:, None]
        likely, unlikely, slopes = _probabilities(phi, grid.inputs)
        density = np.broadcast_to(1 / np.maximum(likely * unlikely, tiny), (len(grid.rows), len(grid.last)))
        steep = slopes[-1] * density
        by_power = [density @ up, steep @ up, (slopes[-1] * steep) @ up]
        affine = np.concatenate([np.ones((len(grid.rows), 1)), grid.rows], 1)
        products = (affine[:, :, None] * affine[:, None, :]).reshape(len(affine), -1)
        for place, (j, k) in enumerate(pairs):
            both = (j == neurons - 1) + (k == neurons - 1)
            factor = grid.row_weights
            for other in (j, k):
                factor = factor if other == neurons - 1 else factor * slopes[other][:, 0]
            moments[place] += (products.T @ (factor[:, None] * by_power[both])).reshape(neurons, neurons, 3)
    blocks = np.zeros((neurons, dimension, neurons, dimension))
    frame = np.concatenate([mean[:, None], lift], 1)
    for (j, k), found in zip(pairs, moments, strict=True):
        second = np.zeros((neurons + 1, neurons + 1))
        second[:-1, :-1] = found[..., 0]
        second[-1, :-1] = second[:-1, -1] = found[0, :, 1]
        second[-1, -1] = found[0, 0, 2]
        block = frame @ second @ frame.T + second[0, 0] * rest
        blocks[j, :, k] = blocks[k, :, j] = block
    return blocks.reshape(dimension * neurons, -1) / neurons**2


def sampled_fisher(
    mean: Vector, covariance: Matrix, truth: Weights, normals: Float[np.ndarray, "half d"], phi: Activation = SIGMOID
) -> Array:
    """F_l by simulation with ±z, for any number of neurons; the same normals make a sweep comparable (4.1 a)."""
    z, K = normals @ square_root(covariance), truth.shape[1]
    total = np.zeros((truth.size, truth.size))
    for part in np.array_split(np.concatenate([z, -z]), max(1, 2 * len(z) * truth.size // (1 << 21))):
        x = mean + part
        value, rest, slope = phi.parts(x @ truth)
        density = value.mean(1) * rest.mean(1)
        gradient = (slope[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        total += (gradient / np.maximum(density, np.finfo(float).tiny)[:, None]).T @ gradient
    return total / (2 * len(normals) * K**2)


@lru_cache(maxsize=8192)
def _known(quantity: Callable[..., Any], phi: Activation, *group: bytes) -> Any:
    mean, covariance, truth = (np.frombuffer(each) for each in group)
    return quantity(mean, covariance.reshape(len(mean), -1), truth.reshape(len(mean), -1), phi)


def _of_groups(quantity: Any, means: Array, covariances: Array, truth: Weights, phi: Activation) -> Array:
    """A quantity of every group, computed once for every group and ground truth: cells share them."""
    groups = [[each.tobytes() for each in (*group, truth)] for group in zip(means, covariances, strict=True)]
    return np.stack([_known(quantity, phi, *group) for group in groups])


def fishers(means: Array, covariances: Array, truth: Weights, phi: Activation = SIGMOID) -> Informations:
    """F_l of every group: exact up to three neurons, else from antithetic points, the same for all groups."""
    return _of_groups(fisher if truth.shape[1] <= EXACT_NEURONS else _common_fisher, means, covariances, truth, phi)


def _common_fisher(mean: Vector, covariance: Matrix, truth: Weights, phi: Activation) -> Array:
    normals = np.random.default_rng(0).standard_normal((POINTS // 2, truth.shape[0]))
    return sampled_fisher(mean, covariance, truth, normals, phi)


def floors(means: Array, covariances: Array, truth: Weights, phi: Activation = SIGMOID) -> Float[np.ndarray, " groups"]:
    """The noise floor f̄_l(W*) of every group."""
    return _of_groups(noise_floor, means, covariances, truth, phi)


def _expectation(mean: Vector, covariance: Matrix, weights: Weights, integrand: Callable[..., Array]) -> float:
    """E of a function of the inputs s = Wᵀx."""
    centre, triangle, _, _ = _reduce(mean, covariance, weights)
    total = 0.0
    for grid in _blocks(centre, triangle, 1.0):
        values = np.broadcast_to(integrand(grid.inputs), (len(grid.rows), len(grid.last)))
        total += float(grid.row_weights @ values @ grid.last_weights)
    return total


def noise_floor(mean: Vector, covariance: Matrix, truth: Weights, phi: Activation = SIGMOID) -> float:
    """f̄_l(W*) = E[binary entropy of H*]: the risk that no training can take away (E1)."""

    def entropy(inputs: list[Array]) -> Array:
        known = _probabilities(phi, inputs)[:2]
        return cross_entropy(known, known)

    return _expectation(mean, covariance, truth, entropy)


def excess_risk(weights: Weights, mean: Vector, covariance: Matrix, truth: Weights, phi: Activation = SIGMOID) -> float:
    """f̄_l(W) - f̄_l(W*) = E KL(Bern(H*) ‖ Bern(H)), exact; s is extended by Wᵀx, so K is at most 2."""
    count = truth.shape[1]
    assert 2 * count <= 4, "beyond K = 2 the excess risk is measured on test points"

    def divergence(inputs: list[Array]) -> Array:
        known, fit = (_probabilities(phi, part)[:2] for part in (inputs[:count], inputs[count:]))
        return cross_entropy(known, fit) - cross_entropy(known, known)

    return _expectation(mean, covariance, np.concatenate([truth, weights], 1), divergence)


def average_fisher(fractions: Fractions, each: Informations) -> Array:
    """F(Ψ) = Σ_l λ_l F_l."""
    return np.einsum("...l,lij->...ij", np.asarray(fractions, float), each)


def group_risk_factors(fractions: Fractions, each: Informations) -> Float[np.ndarray, "*cells groups"]:
    """tr(F_l F⁻¹) of every group, at one λ or along a curve of them; Σ_l λ_l tr(F_l F⁻¹) = d K."""
    inverse = np.linalg.inv(average_fisher(fractions, each))
    return np.einsum("lij,...ji->...l", each, inverse)


def predicted_excess(fractions: Fractions, each: Array, samples: float) -> Array:
    """E[excess_l] ≈ tr(F_l F⁻¹) / 2n of every group."""
    return group_risk_factors(fractions, each) / (2 * samples)


def parameter_variance(fractions: Fractions, each: Array) -> Array:
    """tr F⁻¹, where E‖Ŵ_n - W*‖² ≈ tr F⁻¹ / n."""
    return np.trace(np.linalg.inv(average_fisher(fractions, each)), axis1=-2, axis2=-1)


def spread_eigenvalues(fractions: Fractions, each: Array, group: int) -> Float[np.ndarray, " p"]:
    """The eigenvalues a_i of F^-½ F_l F^-½: 2n excess_l is distributed as Σ a_i χ²_1."""
    inverse_root = np.linalg.inv(np.linalg.cholesky(average_fisher(fractions, each)))
    return np.linalg.eigvalsh(inverse_root @ each[group] @ inverse_root.T)


def group_risk_slopes(fractions: Fractions, each: Informations) -> Float[np.ndarray, "groups groups"]:
    """d tr(F_l F⁻¹) / dλ_g, [l, g], as group g grows and the others shrink in proportion (section 5).

    F moves by (F_g - F)/(1-λ_g), so it is -tr(F_l F⁻¹ (F_g - F) F⁻¹)/(1-λ_g); on the diagonal -(tr A² - tr A)/(1-λ_l).
    """
    fractions = np.asarray(fractions, float)
    relative = np.linalg.solve(average_fisher(fractions, each), each)  # F⁻¹ F_l
    both = np.einsum("lij,gji->lg", relative, relative)
    return -(both - np.trace(relative, axis1=1, axis2=2)[:, None]) / (1 - fractions)[None, :]


def more_samples(fractions: Fractions, each: Informations, samples: float) -> Float[np.ndarray, "groups groups"]:
    """d E[excess_l] / dn_g, [l, g]: what one more sample of group g, on top of the others, does to group l.

    With N = Σ n_g F_g the predictor is tr(F_l N⁻¹)/2, so it is -tr(F_l N⁻¹ F_g N⁻¹)/2: never positive.
    """
    relative = np.linalg.solve(average_fisher(fractions, each), each)
    return -np.einsum("lij,gji->lg", relative, relative) / (2 * samples**2)
