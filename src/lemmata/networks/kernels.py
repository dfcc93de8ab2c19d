"""Neural tangent kernels of two-layer networks: infinite-width limits, spectra, and how far a kernel moves.

For F(x) = sum_r a_r phi(<w_r, x>) with a_r = ±1 fixed and w_r ~ N(0, sigma² I), the kernel of the hidden weights per
neuron is H_ij = <x_i, x_j> E phi'(<w, x_i>) phi'(<w, x_j>). The limits below are exact; the finite-width kernel of any
network is `lemmata.networks.tangent.empirical_kernel`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

Points = Float[Array, "points dimension"]
Others = Float[Array, "others dimension"]
Kernel = Float[Array, "points others"]


class Geometry(NamedTuple):
    """What the closed forms read off two sets of points: inner products, squared norms of sums and differences."""

    inner: Kernel
    sums: Kernel
    differences: Kernel
    angle: Kernel
    norms: Kernel
    other_norms: Kernel


def geometry(x: Points, others: Others | None = None) -> Geometry:
    """The pairwise geometry; angles by 2 atan2(|u - v|, |u + v|) of the unit vectors (arccos loses half the digits)."""
    other = x if others is None else others
    square, other_square = jnp.sum(x**2, axis=1)[:, None], jnp.sum(other**2, axis=1)[None, :]
    sums = jnp.sum((x[:, None] + other[None]) ** 2, axis=-1)
    differences = jnp.sum((x[:, None] - other[None]) ** 2, axis=-1)
    unit, other_unit = _unit(x), _unit(other)
    apart = jnp.linalg.norm(unit[:, None] - other_unit[None], axis=-1)
    together = jnp.linalg.norm(unit[:, None] + other_unit[None], axis=-1)
    return Geometry(x @ other.T, sums, differences, 2 * jnp.arctan2(apart, together), square, other_square)


def _unit(x: Points) -> Points:
    norm = jnp.linalg.norm(x, axis=1, keepdims=True)
    return x / jnp.where(norm > 0, norm, 1.0)


def _exp(g: Geometry, variance: float | Array) -> tuple[Kernel, Kernel]:
    mean = jnp.exp(variance * g.sums / 2)
    return mean, jnp.exp(2 * variance * g.sums)


def _hyperbolic(sign: int) -> Callable[[Geometry, float | Array], tuple[Kernel, Kernel]]:
    """cosh has phi' = sinh (sign -1), sinh has phi' = cosh (sign +1)."""

    def moments(g: Geometry, variance: float | Array) -> tuple[Kernel, Kernel]:
        mean = (jnp.exp(variance * g.sums / 2) + sign * jnp.exp(variance * g.differences / 2)) / 2
        fourth = (jnp.exp(2 * variance * g.sums) + jnp.exp(2 * variance * g.differences)) / 2
        own = jnp.exp(2 * variance * g.norms) + jnp.exp(2 * variance * g.other_norms)
        return mean, (fourth + sign * own + 1) / 4

    return moments


def _relu(g: Geometry, variance: float | Array) -> tuple[Kernel, Kernel]:
    both = (jnp.pi - g.angle) / (2 * jnp.pi)
    return both, both


_MOMENTS = {"exp": _exp, "cosh": _hyperbolic(-1), "sinh": _hyperbolic(1), "relu": _relu}
"""First and second moment of phi'(<w, x>) phi'(<w, x'>) by activation."""


def limit_kernel(activation: str, x: Points, sigma: float | Array = 1.0, others: Others | None = None) -> Kernel:
    """The kernel of infinite width, per neuron: with G = <x, x'>, s_± = |x ± x'|² and theta the angle between them,

    exp: G e^{sigma² s_+/2}; cosh: G (e^{sigma² s_+/2} - e^{sigma² s_-/2}) / 2; sinh: the same with +;
    relu: G (pi - theta) / (2 pi).
    """
    g = geometry(x, others)
    return g.inner * _MOMENTS[activation](g, sigma**2)[0]


def kernel_variance(activation: str, x: Points, sigma: float | Array = 1.0, others: Others | None = None) -> Kernel:
    """The exact variance, entry by entry, of the kernel of one random neuron; of m independent ones it is this / m."""
    g = geometry(x, others)
    mean, second = _MOMENTS[activation](g, sigma**2)
    return g.inner**2 * (second - mean**2)


def output_variance(activation: str, x: Points, sigma: float | Array = 1.0) -> Float[Array, " points"]:
    """E phi(<w, x>)², the variance of the initial output per neuron with independent signs, q = |x|²:

    exp e^{2 sigma² q}; cosh (e^{2 sigma² q} + 1) / 2; sinh (e^{2 sigma² q} - 1) / 2; relu sigma² q / 2.
    """
    exponent = 2 * sigma**2 * jnp.sum(x**2, axis=1)
    forms = {
        "exp": jnp.exp(exponent),
        "cosh": (jnp.exp(exponent) + 1) / 2,
        "sinh": jnp.expm1(exponent) / 2,
        "relu": exponent / 4,
    }
    return forms[activation]


class Spectrum(NamedTuple):
    """Eigenvalues in ascending order and what is read off them."""

    values: Float[Array, " points"]
    vectors: Float[Array, "points points"]

    @property
    def least(self) -> Array:
        return self.values[0]

    @property
    def largest(self) -> Array:
        return self.values[-1]

    @property
    def condition(self) -> Array:
        """lambda_max / lambda_min; inf where the kernel is singular to rounding."""
        return jnp.where(self.singular, jnp.inf, self.largest / jnp.where(self.singular, 1.0, self.least))

    @property
    def singular(self) -> Array:
        """lambda_min <= 1e-12 lambda_max: singular, or too crowded for float64 to tell."""
        return self.least <= SINGULAR * self.largest


SINGULAR = 1e-12


def spectrum(kernel: Float[Array, "points points"]) -> Spectrum:
    """The spectrum of a symmetric kernel."""
    return Spectrum(*jnp.linalg.eigh(kernel))


def kernel_drift(now: Kernel, start: Kernel) -> Array:
    """|H(t) - H(0)|_F: how far training has moved the kernel. Zero in the lazy limit."""
    return jnp.linalg.norm(now - start)
