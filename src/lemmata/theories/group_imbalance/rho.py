"""The ρ-function of section 5, its exact limits (row 15) and its monotone minorants (row 16).

ρ bounds the curvature of the risk from below: it is the smaller of two variances of φ'(σz), z ~ N(u, 1). Both are
computed as variances, never as differences of moments, on Gauss-Legendre panels of at most unit width over all the
mass, refined around 0 at scale 1/σ; relative accuracy 10⁻⁶ for σ in [10⁻³, 10³].
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from lemmata.theories.group_imbalance.network import SIGMOID, Activation, Vector, Weights

Array = np.ndarray
NODES, SHARES = np.polynomial.legendre.leggauss(24)
"""The Gauss-Legendre rule of a panel."""
TAIL = 14.0
"""Standard deviations beyond which the normal density is left out."""
REFINED = np.array([0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64])
"""Ends of the panels around 0, in units of 1/σ."""


class Moments(NamedTuple):
    """α_q = E φ'(σz) z^q, β_q = E φ'²(σz) z^q, and the two variances of ρ for one coordinate u."""

    alpha: tuple[float, float, float]
    beta: tuple[float, float, float]
    variance: float
    """β_0 - α_0²."""
    weighted_variance: float
    """β_2 - α_2²/(1+u²)."""


def panels(u: float, sigma: float) -> tuple[Array, Array]:
    """Points and Gauss-Legendre weights that resolve φ'(σz)^k times the density of N(u, 1), u ≥ 0, k ≤ 2.

    φ' falls like e^{-σz}, so for u > 2σ the mass of φ'² sits near u - 2σ, else around 0.
    """
    low, high = max(u - 2 * sigma, 0.0) - TAIL, u + TAIL
    ends = np.append(np.arange(low, high), high)
    near = REFINED / sigma
    far = np.geomspace(near[-1], max(high, near[-1]), 2 + int(np.log2(max(high / near[-1], 1)))) if sigma > 1 else near
    around = np.concatenate([-far, -near, [0.0], near, far])
    ends = np.unique(np.concatenate([ends, around[(around > low) & (around < high)]]))
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (1 + NODES)).ravel(), (half * SHARES).ravel()


@cache
def _moments(u: float, sigma: float, phi: Activation) -> Moments:
    z, weights = panels(u, sigma)
    density = weights * np.exp(-((z - u) ** 2) / 2) / np.sqrt(2 * np.pi)
    slope, square = phi.first(-np.abs(sigma * z)), z * z  # φ' is even; this side keeps the digits of its tail
    alpha = tuple(float(density @ (slope * z**q)) for q in range(3))
    beta = tuple(float(density @ (slope * slope * z**q)) for q in range(3))
    centred = slope - alpha[0]
    weighted = slope - alpha[2] / (1 + u * u)
    return Moments(alpha, beta, float(density @ centred**2), float(density @ (square * weighted**2)))  # pyright: ignore[reportArgumentType]


def moments(u: float, sigma: float, activation: Activation = SIGMOID) -> Moments:
    """The moments of one coordinate; φ' is even, so that only α_1 and β_1 change sign with u."""
    found, sign = _moments(abs(float(u)), float(sigma), activation), 1.0 if u >= 0 else -1.0
    (a0, a1, a2), (b0, b1, b2) = found.alpha, found.beta
    return found._replace(alpha=(a0, sign * a1, a2), beta=(b0, sign * b1, b2))


def rho(u: Float[np.ndarray, " k"] | Sequence[float] | float, sigma: float, activation: Activation = SIGMOID) -> float:
    """ρ(u, σ) = min over i ≠ j of (u_j²+1)(β_0(i) - α_0(i)²) and β_2(i) - α_2(i)²/(u_i²+1); k = 1: the second alone."""
    u = np.atleast_1d(np.asarray(u, float))
    each = [moments(float(one), sigma, activation) for one in u]
    found = min(one.weighted_variance for one in each)
    for i, one in enumerate(each):
        others = np.delete(u, i)
        if others.size:
            found = min(found, float((others**2).min() + 1) * one.variance)
    return found


def group_rho(mean: Vector, scale: float, truth: Weights, activation: Activation = SIGMOID) -> float:
    """ρ_l = ρ(W*ᵀμ / (δ_K σ), δ_K σ) of a group with σ_{l,min} = scale."""
    sigma = float(np.linalg.svd(truth, compute_uv=False)[-1]) * scale
    return rho(truth.T @ mean / sigma, sigma, activation)


def vanishing_scale_limit(u: Float[np.ndarray, " k"]) -> float:
    """lim ρ(u/σ, σ) for σ → 0 (row 14): min over i ≠ j of u_j² φ''(u_i)² and u_i² φ''(u_i)²; 0 if some u_i is 0."""
    u = np.asarray(u, float)
    bend = SIGMOID.second(u) ** 2
    pairs = [u[j] ** 2 * bend[i] for i in range(len(u)) for j in range(len(u))]
    return float(min(pairs))


def small_scale_families(u: float, sigma: float) -> tuple[float, float]:
    """Both variances as σ → 0: σ⁴/256 (2+4u²) and σ⁴/256 (m_6 - m_4²/m_2) (row 15, E4)."""
    m2, m4, m6 = 1 + u**2, 3 + 6 * u**2 + u**4, 15 + 45 * u**2 + 15 * u**4 + u**6
    return sigma**4 / 256 * (2 + 4 * u**2), sigma**4 / 256 * (m6 - m4**2 / m2)


def large_scale_families(u: float, sigma: float) -> tuple[float, float]:
    """Both variances as σ → ∞: φ(u)/6σ and φ(u)/σ³ (π²/18 - 1/3), φ the normal density (row 15)."""
    density = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    return density / (6 * sigma), density / sigma**3 * (np.pi**2 / 18 - 1 / 3)


def large_mean_families(u: float, sigma: float) -> tuple[float, float]:
    """Both variances for u well above 2σ: e^{-2σu}(e^{2σ²} - e^{σ²}), and u² times it (row 15)."""
    first = np.exp(-2 * sigma * abs(u)) * (np.exp(2 * sigma**2) - np.exp(sigma**2))
    return float(first), float(u**2 * first)


def peak_scale(mean: Array, truth: Array, power: float = 0.0, low: float = 1e-2, high: float = 1e2) -> float:
    """The scale σ at which σ^power ρ(·/σ, σ) is largest along the scale path of a group, to 10⁻⁴ (relative)."""
    grid = np.geomspace(low, high, 161)
    for _ in range(3):
        values = [s**power * group_rho(mean, float(s), truth) for s in grid]
        best = int(np.argmax(values))
        grid = np.geomspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 41)
    return float(grid[20])


def mean_minorant(
    mean: Array, scale: float, truth: Array, coordinate: int = 0, basis: Array | None = None, points: int = 65
) -> float:
    """L_m: the running minimum of ρ_l as one coordinate of μ̃ = Λμ goes from 0 to its value, the others fixed.

    Rows of `basis` are the eigenvectors Λ of Σ_l; without one μ̃ = μ, as for c I.
    """
    rotation = np.eye(len(mean)) if basis is None else basis
    turned = rotation @ mean
    along = np.repeat(turned[None], points, 0)
    along[:, coordinate] = np.linspace(0.0, turned[coordinate], points)
    return min(group_rho(rotation.T @ one, scale, truth) for one in along)


def scale_minorant(mean: Array, scale: float, truth: Array, threshold: float | None = None, points: int = 65) -> float:
    """L_s: min over [ζ, σ] of ρ for σ above ζ, and σ/ζ times the minimum over [σ, ζ] below it (E4).

    ζ is the peak of ρ along the scale path unless given.
    """
    threshold = peak_scale(mean, truth) if threshold is None else threshold
    lowest = min(group_rho(mean, float(s), truth) for s in np.geomspace(threshold, scale, points))
    return lowest * min(1.0, scale / threshold)
