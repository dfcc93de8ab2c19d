"""Score tensors of a Gaussian mixture and the moments Q_j = E[y S_j(x)] of Subroutine 1, sampled and exact (4.3).

S_m = (-1)^m ∇^m p / p. The third one is never formed: it is contracted with a direction, or projected on a subspace,
sample by sample. By Stein's identity Q_j = (1/K) Σ_i E[φ^(j)(w_i*ᵀx)] w_i*^⊗j, which gives the exact moments.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lemmata.theories.group_imbalance.data import Mixture
from lemmata.theories.group_imbalance.network import SIGMOID, Activation, Inputs, Labels, Matrix, Vector, Weights

Array = np.ndarray
Samples = Iterable[tuple[Array, Array]]
"""Chunks of inputs and centred labels."""
CHUNK = 50_000
NODES = np.linspace(-9, 9, 4001)
DENSITY = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
"""The trapezoid rule for a standard normal: exponentially accurate while the integrand is wider than 0.02."""


class Terms(NamedTuple):
    """What scores are made of: a_l = Σ_l⁻¹(x - μ_l) and the responsibilities γ_l, group by group; and log p(x)."""

    a: Float[Array, "groups samples dimension"]
    responsibility: Float[Array, "groups samples"]
    log_density: Labels


def terms(mixture: Mixture, x: Inputs) -> Terms:
    """In the log domain, so that far points have responsibilities too;
    the normaliser of p is (2π)^{-d/2} |Σ|^{-1/2} (E7)."""
    roots = np.linalg.cholesky(mixture.covariances)
    a, logs = [], []
    for weight, mean, root in zip(mixture.weights, mixture.means, roots, strict=True):
        inverse = np.linalg.inv(root)
        z = (x - mean) @ inverse.T
        a.append(z @ inverse)
        logs.append(np.log(weight) - np.log(np.diag(root)).sum() - (z**2).sum(1) / 2)
    logs = np.stack(logs)
    top = logs.max(0)
    shares = np.exp(logs - top)
    total = shares.sum(0)
    return Terms(np.stack(a), shares / total, top + np.log(total) - x.shape[1] / 2 * np.log(2 * np.pi))


@dataclass(frozen=True)
class Sampled:
    """Means over three disjoint parts of the samples: D1 for the subspace, D2 for the tensor, D3 for the magnitudes."""

    mixture: Mixture
    parts: tuple[Callable[[], Samples], Callable[[], Samples], Callable[[], Samples]]

    def _mean(self, part: int, term: Callable[[Array, Array, Array], Any]) -> Array:
        """The mean over a part of the sum over groups of term(a_l, t γ_l, Σ_l⁻¹)."""
        total, count = 0.0, 0
        inverse = np.linalg.inv(self.mixture.covariances)
        for x, t in self.parts[part]():
            at = terms(self.mixture, x)
            for a, share, precision in zip(at.a, t * at.responsibility, inverse, strict=True):
                total = total + term(a, share, precision)
            count += len(t)
        return np.asarray(total) / count

    def second(self) -> Matrix:
        """Q_2."""
        return self._mean(0, lambda a, share, precision: (a * share[:, None]).T @ a - share.sum() * precision)

    def contracted(self, directions: Float[Array, "count dimension"]) -> Float[Array, "count dimension dimension"]:
        """Q_3(I, I, α) for several α."""

        def term(a: Array, share: Array, precision: Array) -> Array:
            mean, found = share @ a, []
            for alpha in directions:
                along, turned = a @ alpha, np.outer(mean, precision @ alpha)
                found.append((a * (share * along)[:, None]).T @ a - (share @ along) * precision - turned - turned.T)
            return np.stack(found)

        return self._mean(0, term)

    def projected(self, U: Weights) -> Float[Array, "neurons neurons neurons"]:
        """Q_3(U, U, U), which is symmetric: with sym(v ⊗ M)_ijk = v_i M_jk + v_j M_ik + v_k M_ij."""

        def term(a: Array, share: Array, precision: Array) -> Array:
            b = a @ U
            pairs = (b[:, :, None] * b[:, None, :]).reshape(len(b), -1)
            cubes = (pairs.T @ (b * share[:, None])).reshape((U.shape[1],) * 3)
            sym = np.einsum("i,jk->ijk", share @ b, U.T @ precision @ U)
            return cubes - sym - sym.transpose(1, 0, 2) - sym.transpose(1, 2, 0)

        return self._mean(1, term)

    def first(self) -> Vector:
        """Q_1."""
        return self._mean(2, lambda a, share, precision: share @ a)


def chunks(x: Array, y: Array, centre: float = 0.5) -> Callable[[], Iterator[tuple[Array, Array]]]:
    """The samples in chunks, their labels less `centre`: E[S_j] = 0, so that the moments stay and their noise falls."""

    def produce() -> Iterator[tuple[Array, Array]]:
        for begin in range(0, len(y), CHUNK):
            yield x[begin : begin + CHUNK], y[begin : begin + CHUNK] - centre

    return produce


def sampled(mixture: Mixture, x: Array, y: Array, rng: np.random.Generator, centre: float = 0.5) -> Sampled:
    """The moments of a sample, cut into random thirds."""
    first, second, third = (chunks(x[part], y[part], centre) for part in np.array_split(rng.permutation(len(y)), 3))
    return Sampled(mixture, (first, second, third))


def averages(
    mixture: Mixture, directions: Float[Array, "dimension count"], phi: Activation = SIGMOID, order: int = 1
) -> Float[Array, " count"]:
    """E[φ^(order)(wᵀx)] for every column w, by one-dimensional quadrature group by group."""
    centres = mixture.means @ directions
    widths = np.sqrt(np.einsum("ik,lij,jk->lk", directions, mixture.covariances, directions))
    return mixture.weights @ (phi.derivatives(centres[..., None] + widths[..., None] * NODES, order)[order] @ DENSITY)


@dataclass(frozen=True)
class Exact:
    """The moments of the population, by Stein's identity."""

    mixture: Mixture
    truth: Weights
    phi: Activation = SIGMOID

    def _weights(self, order: int) -> Array:
        return averages(self.mixture, self.truth, self.phi, order) / self.truth.shape[1]

    def second(self) -> Array:
        return (self.truth * self._weights(2)) @ self.truth.T

    def contracted(self, directions: Array) -> Array:
        along = directions @ self.truth
        return np.einsum("ik,ck,jk->cij", self.truth, along * self._weights(3), self.truth)

    def projected(self, U: Array) -> Array:
        v = U.T @ self.truth
        return np.einsum("ai,bi,ci->abc", v * self._weights(3), v, v)

    def first(self) -> Array:
        return self.truth @ self._weights(1)


Moments = Sampled | Exact
"""What the tensor start asks for."""


def assumption_report(mixture: Mixture, truth: Weights, phi: Activation = SIGMOID) -> dict[str, Array]:
    """E φ'_i, E φ''_i and E φ'''_i of every neuron: where one is near zero, the tensor start must fail."""
    return {name: averages(mixture, truth, phi, order) for order, name in enumerate(("first", "second", "third"), 1)}
