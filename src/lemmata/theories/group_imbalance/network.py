"""The network of the paper and its derivatives: H(W, x) = (1/K) Σ_j φ(w_jᵀx), cross entropy of a Bernoulli label (4.1).

With t = (2y - 1) Wᵀx and P = (1/K) Σ_j φ(t_j), the probability of the label that was seen, the loss is -log P: since
1 - φ(s) = φ(-s), one formula serves both labels and nothing is lost where neurons saturate. The same functions take
NumPy arrays (host work in float64) and JAX arrays (compiled training).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lemmata.lab.arrays import library_of as namespace

Array = Any
"""An array of NumPy or of JAX."""
Inputs = Float[Array, "samples dimension"]
Labels = Float[Array, " samples"]
Weights = Float[Array, "dimension neurons"]
Vector = Float[Array, " dimension"]
Matrix = Float[Array, "dimension dimension"]


class Activation(NamedTuple):
    """φ(t) = base(scale t + shift), base the logistic function or the normal distribution function."""

    base: str
    scale: float = 1.0
    shift: float = 0.0

    def _inside(self, t: Array) -> Array:
        return self.scale * t + self.shift

    def value(self, t: Array) -> Array:
        """φ(t)."""
        t = self._inside(t)
        if self.base == "logistic":
            with np.errstate(over="ignore"):
                return 1 / (1 + namespace(t).exp(-t))
        return _special(t).ndtr(t)

    def derivatives(self, t: Array, order: int) -> list[Array]:
        """φ, φ', ... up to this order, at most 3: each is scale times bend, φ''/φ', times the one before, and what bend
        itself changes."""
        found, inside = [self.value(t)], self._inside(t)
        if self.base == "logistic":
            first, bend = self.scale * found[0] * (1 - found[0]), 1 - 2 * found[0]
        else:
            first, bend = self.scale * namespace(t).exp(-(inside**2) / 2) / np.sqrt(2 * np.pi), -inside
        found.append(first)
        if order > 1:
            found.append(self.scale * bend * first)
        if order > 2:
            change = -2 * first if self.base == "logistic" else -self.scale
            found.append(self.scale * (bend * found[2] + change * first))
        return found

    def first(self, t: Array) -> Array:
        """φ'(t)."""
        return self.derivatives(t, 1)[1]

    def second(self, t: Array) -> Array:
        """φ''(t)."""
        return self.derivatives(t, 2)[2]

    def log_value(self, t: Array) -> Array:
        """log φ(t), without underflow."""
        t = self._inside(t)
        if self.base == "logistic":
            return -namespace(t).logaddexp(0.0, -t)
        return _special(t).log_ndtr(t)

    @property
    def floor(self) -> float:
        """Below this φ and φ' underflow; derivatives of the loss are taken no further out."""
        return ((-600.0 if self.base == "logistic" else -36.0) - self.shift) / self.scale


ACTIVATIONS = {
    "sigmoid": Activation("logistic"),
    "tanh": Activation("logistic", 2.0),  # (1 + tanh t) / 2
    "erf": Activation("normal", 2**0.5),  # (1 + erf t) / 2
    "probit": Activation("normal"),
}


def _special(t: Array) -> Any:
    if namespace(t) is np:
        import scipy.special

        return scipy.special
    import jax

    return jax.scipy.special


SIGMOID = ACTIVATIONS["sigmoid"]


def output(W: Weights, x: Inputs, phi: Activation = SIGMOID) -> Labels:
    """H(W, x)."""
    return phi.value(x @ W).mean(-1)


def log_probabilities(W: Weights, x: Inputs, phi: Activation = SIGMOID) -> tuple[Array, Array]:
    """log H and log(1 - H)."""
    s = x @ W
    return _log_mean(phi.log_value(s)), _log_mean(phi.log_value(-s))


def _log_mean(logs: Array) -> Array:
    xp = namespace(logs)
    top = logs.max(-1)
    return top + xp.log(xp.exp(logs - top[..., None]).mean(-1))


def losses(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> Labels:
    """ℓ(W; x, y) of every sample."""
    return -_log_mean(phi.log_value((2 * y - 1)[:, None] * (x @ W)))


def risk(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> Array:
    """f_n(W)."""
    return losses(W, x, y, phi).mean()


def local(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID, order: int = 2) -> tuple[Array, ...]:
    """What the derivatives of the loss are made of: (2y - 1), and φ'/P, φ''/P, ... up to this order at (2y - 1) Wᵀx."""
    sign = 2 * y - 1
    t = namespace(x).maximum(sign[:, None] * (x @ W), phi.floor)
    value, *derivatives = phi.derivatives(t, order)
    P = value.mean(-1, keepdims=True)
    return sign, *(each / P for each in derivatives)


def gradient(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> Weights:
    """∇f_n(W) = Σ_i x_i ζ_iᵀ / n."""
    return x.T @ slopes(W, x, y, phi) / len(x)


def signed_gradient(
    W: Weights, signed: Float[Array, "dimension samples"], weights: Labels, phi: Activation = SIGMOID
) -> Weights:
    """∇f_n(W) from the columns (2y - 1)x: the layout in which a compiled step takes half the time."""
    t = namespace(signed).maximum(W.T @ signed, phi.floor)
    value, first = phi.derivatives(t, 1)
    return -(signed @ (first * (weights / value.mean(0))).T) / W.shape[1]


def slopes(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> Float[Array, "samples neurons"]:
    """ζ_j = -(1/K) (y - H)/(H(1 - H)) φ'(w_jᵀx)."""
    sign, first = local(W, x, y, phi, order=1)
    return -sign[:, None] * first / W.shape[1]


def curvatures(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> Float[Array, "samples neurons neurons"]:
    """ξ_jl: the Hessian of one sample's loss is ξ ⊗ xxᵀ."""
    K = W.shape[1]
    _, first, second = local(W, x, y, phi)
    return first[:, :, None] * first[:, None, :] / K**2 - second[:, :, None] * np.eye(K) / K


def third_factors(
    W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID
) -> Float[Array, "samples neurons neurons neurons"]:
    """T_jlk: ∂ξ_jl/∂w_k = T_jlk x."""
    K = W.shape[1]
    xp = namespace(x)
    sign, u, v, w = local(W, x, y, phi, order=3)
    same = np.eye(K)
    triple = -2 / K**3 * xp.einsum("nj,nl,nk->njlk", u, u, u)
    places = ("nj,nk,jl->njlk", "nj,nl,jk->njlk", "nl,nj,lk->njlk")
    pairs = sum(xp.einsum(place, v, u, same) for place in places) / K**2
    single = -xp.einsum("nj,jl,jk->njlk", w, same, same) / K
    return sign[:, None, None, None] * (triple + pairs + single)


def hessian(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> Float[Array, "dk dk"]:
    """∇²f_n(W) in the order (w_1, ..., w_K)."""
    return expand(W, x, y, namespace(x).full(len(x), 1 / len(x)), phi).hessian


class Expansion(NamedTuple):
    """f_n, ∇f_n and ∇²f_n at one W, from one forward pass."""

    risk: Array
    gradient: Weights
    hessian: Float[Array, "dk dk"]


def expand(W: Weights, x: Inputs, y: Labels, weights: Labels, phi: Activation = SIGMOID) -> Expansion:
    """The expansion of Σ_i weights_i ℓ_i; samples run along the rows, which vectorises better than many short rows."""
    (_, d), K = x.shape, W.shape[1]
    xp = namespace(x)
    signed = ((2 * y - 1)[:, None] * x).T
    value, first, second = phi.derivatives(xp.maximum(W.T @ signed, phi.floor), 2)
    P = value.mean(0)
    first = first / P
    spread = (first[:, None] * signed[None]).reshape(K * d, -1)
    curvature = (spread * (weights / K**2)) @ spread.T
    own = [(signed * (each * weights / (K * P))) @ signed.T for each in second]
    rows = [[own[j] if j == k else np.zeros((d, d)) for k in range(K)] for j in range(K)]
    return Expansion(-weights @ xp.log(P), -(signed @ (first * weights).T) / K, curvature - xp.block(rows))


CHUNK = 4000
"""Samples that are expanded together on the host: they stay in a core's cache."""


def expand_in_chunks(W: Weights, x: Inputs, y: Labels, weights: Labels, phi: Activation = SIGMOID) -> Expansion:
    """The same as `expand`, for many samples on the host."""
    parts = [slice(begin, begin + CHUNK) for begin in range(0, len(x), CHUNK)]
    found = [expand(W, x[part], y[part], weights[part], phi) for part in parts]
    return Expansion(*(sum(terms) for terms in zip(*found, strict=True)))  # pyright: ignore[reportArgumentType]


def flatten(W: Weights) -> Float[Array, " dk"]:
    """W as the vector (w_1, ..., w_K)."""
    return W.T.reshape(-1)


def unflatten(vector: Float[Array, " dk"], neurons: int) -> Weights:
    """The inverse of `flatten`."""
    return vector.reshape(neurons, -1).T
