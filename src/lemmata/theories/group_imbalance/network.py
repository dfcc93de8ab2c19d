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
Columns = Float[Array, "dimension samples"]
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

    def parts(self, t: Array) -> tuple[Array, Array, Array]:
        """φ, 1 - φ and φ', which keep their digits where the neuron saturates on either side."""
        if self.base == "logistic":
            odds = namespace(t).exp(-namespace(t).maximum(self._inside(t), -700.0))  # (1 - φ)/φ
            value = 1 / (1 + odds)
            rest = odds * value
            return value, rest, self.scale * value * rest
        return self.value(t), self._replace(shift=-self.shift).value(-t), self.first(t)

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


Sides = tuple[Array, Array]
"""H and 1 - H, each with its digits."""


def sides(W: Weights, x: Inputs, phi: Activation = SIGMOID) -> Sides:
    """H(W, x) and 1 - H(W, x)."""
    one, zero, _ = phi.parts(x @ W)
    return one.mean(-1), zero.mean(-1)


def cross_entropy(truth: Sides, fit: Sides) -> Array:
    """E ℓ over labels of Bern(H*), for a network whose output is H: the binary entropy of H* where H = H*."""
    log, tiny = namespace(truth[0]).log, np.finfo(float).tiny
    return -sum(p * log(namespace(q).maximum(q, tiny)) for p, q in zip(truth, fit, strict=True))


def excess(W: Weights, truth: Weights, x: Inputs, phi: Activation = SIGMOID) -> Array:
    """f̄(W) - f̄(W*) = E KL(Bern(H*) ‖ Bern(H)), the mean over points without labels."""
    known = sides(truth, x, phi)
    return (cross_entropy(known, sides(W, x, phi)) - cross_entropy(known, known)).mean()


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
    """What the derivatives of the loss are made of, samples last: (2y - 1), the probability P of the label that was
    seen, and φ'/P, φ''/P, ... up to this order at (2y - 1) Wᵀx."""
    sign = 2 * y - 1
    value, *derivatives = phi.derivatives(namespace(x).maximum(W.T @ (sign[:, None] * x).T, phi.floor), order)
    P = value.mean(0)
    return sign, P, *(each / P for each in derivatives)


def signed_gradient(W: Weights, signed: Columns, weights: Any, phi: Activation = SIGMOID) -> Weights:
    """∇ Σ_i weights_i ℓ_i from the columns (2y - 1)x: the layout in which a compiled step takes half the time."""
    t = namespace(signed).maximum(W.T @ signed, phi.floor)
    value, first = phi.derivatives(t, 1)
    return -(signed @ (first * (weights / value.mean(0))).T) / W.shape[1]


def gradient(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> Weights:
    """∇f_n(W)."""
    return signed_gradient(W, ((2 * y - 1)[:, None] * x).T, 1 / len(x), phi)


def bends(first: Array, second: Array) -> Float[Array, "neurons neurons samples"]:
    """ξ_jl from φ'/P and φ''/P: the Hessian of one sample's loss is ξ ⊗ xxᵀ."""
    K = len(first)
    xi = first[:, None] * first / K**2
    xi[np.diag_indices(K)] -= second / K
    return xi


def factors(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> tuple[Array, Array]:
    """ζ_j = -(1/K) (y - H)/(H(1 - H)) φ'(w_jᵀx) and ξ_jl of every sample, samples last."""
    sign, _, first, second = local(W, x, y, phi)
    return -sign * first / W.shape[1], bends(first, second)


def third_factors(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> Float[Array, "samples K K K"]:
    """T_jlk: ∂ξ_jl/∂w_k = T_jlk x."""
    K = W.shape[1]
    xp = namespace(x)
    sign, _, u, v, w = local(W, x, y, phi, order=3)
    same = np.eye(K)
    triple = -2 / K**3 * xp.einsum("jn,ln,kn->njlk", u, u, u)
    places = ("jn,kn,jl->njlk", "jn,ln,jk->njlk", "ln,jn,lk->njlk")
    pairs = sum(xp.einsum(place, v, u, same) for place in places) / K**2
    single = -xp.einsum("jn,jl,jk->njlk", w, same, same) / K
    return sign[:, None, None, None] * (triple + pairs + single)


def products(x: Inputs) -> Float[Array, "samples dd"]:
    """x_i x_iᵀ of every sample, as a row."""
    return (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)


def assemble(xi: Float[Array, "neurons neurons samples"], xx: Float[Array, "samples dd"]) -> Float[Array, "dk dk"]:
    """Σ_i ξ_i ⊗ x_i x_iᵀ in the order (w_1, ..., w_K)."""
    K, d = len(xi), round(xx.shape[1] ** 0.5)
    return (xi.reshape(K * K, -1) @ xx).reshape(K, K, d, d).swapaxes(1, 2).reshape(K * d, -1)


class Expansion(NamedTuple):
    """The risk, its gradient and its Hessian at one W, from one forward pass."""

    risk: Array
    gradient: Weights
    hessian: Float[Array, "dk dk"]


CHUNK = 100_000
"""Products x_i x_j that are expanded together on the host: they stay in a core's cache."""


def chunks(x: Inputs) -> list[slice]:
    """The rows of x in parts that are expanded together."""
    size = max(256, CHUNK // x.shape[1] ** 2)
    return [slice(begin, begin + size) for begin in range(0, len(x), size)]


def expand(W: Weights, x: Inputs, y: Labels, weights: Labels | None = None, phi: Activation = SIGMOID) -> Expansion:
    """The expansion of Σ_i weights_i ℓ_i on the host; of f_n unless weights are given."""
    shares: Array = np.full(len(x), 1 / len(x)) if weights is None else weights
    risk, slope, curvature = 0.0, np.zeros(W.shape), np.zeros((W.size, W.size))
    for part in chunks(x):
        sign, P, first, second = local(W, x[part], y[part], phi)
        risk -= shares[part] @ np.log(P)
        slope -= x[part].T @ (first * (sign * shares[part])).T / W.shape[1]
        curvature += assemble(shares[part] * bends(first, second), products(x[part]))
    return Expansion(risk, slope, curvature)


def hessian(W: Weights, x: Inputs, y: Labels, phi: Activation = SIGMOID) -> Float[Array, "dk dk"]:
    """∇²f_n(W)."""
    return expand(W, x, y, phi=phi).hessian


def flatten(W: Weights) -> Float[Array, " dk"]:
    """W as the vector (w_1, ..., w_K)."""
    return W.T.reshape(-1)


def unflatten(vector: Float[Array, " dk"], neurons: int) -> Weights:
    """The inverse of `flatten`."""
    return vector.reshape(neurons, -1).T
