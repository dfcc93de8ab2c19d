"""How often a plurality vote is wrong (C10): exactly, or by the Gaussian of the two leaders."""

from typing import Any

import numpy as np

SPREAD = 10
"""Standard deviations of the right output's votes that are looked at: what lies beyond is below rounding."""


def plurality_error(chances: np.ndarray, voters: int, right: int = 0) -> float:
    """The probability that `right` does not win the plurality of so many votes with these chances, ties at random.

    Exact: multinomial counts are independent Poisson counts given their sum; a tie with t others is won with
    probability 1/(t+1) = ∫ y^t dy, and the sum over all counts is a coefficient of a product of polynomials, taken by
    fast Fourier transforms.
    """
    n, p = voters, float(chances[right])
    if n == 0:
        return 1 - 1 / len(chances)
    reach = SPREAD * (np.sqrt(n * p * (1 - p)) + 1)
    own, counts, points = (
        np.arange(max(0, int(n * p - reach)), min(n, int(n * p + reach)) + 1),
        np.arange(n + 1),
        n + 64,
    )
    fewer, as_many = counts < own[:, None], counts == own[:, None]
    kinds, many = np.unique(np.delete(chances, right), return_counts=True)
    nodes, weights = np.polynomial.legendre.leggauss(len(chances) // 2 + 1)
    won = 0.0
    for y, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        product = np.ones((len(own), points // 2 + 1), complex)
        for chance, times in zip(kinds, many, strict=True):  # fewer votes than `right`, or as many with weight y
            product *= np.fft.rfft(_poisson(counts, n * chance) * (fewer + y * as_many), points, axis=1) ** times
        others = np.fft.irfft(product, points, axis=1)[np.arange(len(own)), n - own]  # all other votes together
        won += weight * float(_poisson(own, n * p) @ others)
    return float(np.clip(1 - won / _poisson(n, n), 0.0, 1.0))


def _poisson(counts: Any, mean: float) -> Any:
    """The chances of these counts: e^-mean mean^count / count!"""
    from scipy.special import gammaln, xlogy  # its `stats` take four times as long to import

    return np.exp(xlogy(counts, mean) - gammaln(np.asarray(counts) + 1) - mean)


def pairwise_error(p: Any, rho: Any, voters: Any) -> Any:
    """Φ(-√n ρp / √((2-ρ)p - ρ²p²)): the right output against the runner-up alone (C10)."""
    from scipy.special import ndtr

    p, rho = np.asarray(p, float), np.asarray(rho, float)
    return ndtr(-np.sqrt(voters) * rho * p / np.sqrt((2 - rho) * p - (rho * p) ** 2))
