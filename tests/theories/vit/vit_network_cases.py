"""Networks and trainings for the tests of the network (2.1), by hand.

Oracles are computed in float64 by code that shares nothing with the package: NumPy loops over samples and tokens for
the formulas, and autodiff of a forward pass written in another way.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from lemmata.networks.shallow import Network, forward, gradient
from lemmata.theories.vit.data import draw_patterns
from lemmata.theories.vit.network import Features, initialise
from lemmata.theories.vit.setting import Setting

SMALL = Setting(tokens=10, neurons=16, samples=8, test_samples=16, steps=20, records=21)
SAMPLES, TOKENS, DIMENSION, VALUE, KEY, NEURONS = 4, 6, 5, 4, 3, 7

seeds = st.integers(0, 2**31 - 1)
few = settings(deadline=None, max_examples=15)


class Case:
    """A random network with random, partly masked and repeated tokens."""

    def __init__(self, seed: int, per_token: bool, masked: bool = True) -> None:
        self.rng = rng = np.random.default_rng(seed)
        shapes = ((NEURONS, VALUE), (VALUE, DIMENSION), (KEY, DIMENSION), (KEY, DIMENSION))
        self.network = Network(*(rng.normal(size=shape) / math.sqrt(shape[1]) for shape in shapes))
        self.signs = rng.choice([-1.0, 1.0], (TOKENS, NEURONS) if per_token else NEURONS) / math.sqrt(NEURONS)
        self.tokens = rng.normal(size=(SAMPLES, TOKENS, DIMENSION))
        self.weight = np.ones((SAMPLES, TOKENS))
        if masked:
            self.weight = rng.choice([0.0, 1.0, 1.0, 3.0], (SAMPLES, TOKENS))
            self.weight[:, 0] = 1.0
        self.label = rng.choice([-1.0, 1.0], SAMPLES)

    def forward(self) -> np.ndarray:
        return np.asarray(jitted_forward(self.network, self.signs, self.tokens, self.weight))


def softmax(logits: np.ndarray, multiplicity: np.ndarray) -> np.ndarray:
    mass = multiplicity * np.exp(logits - logits.max())
    return mass / mass.sum()


def by_hand(network: Network, signs: np.ndarray, x: np.ndarray, count: np.ndarray) -> tuple[float, Network]:
    """F of one sample and its four gradients, token by token, as the paper's formulas read."""
    w_o, w_v, w_k, w_q = (np.asarray(w) for w in network)
    total, output, d = count.sum(), 0.0, [np.zeros_like(w) for w in (w_o, w_v, w_k, w_q)]
    for position, (query, share) in enumerate(zip(x, count / total, strict=True)):
        a = signs[position] if signs.ndim == 2 else signs
        w = softmax(x @ w_k.T @ w_q @ query, count)
        mean = x.T @ w
        v_l = w_v @ mean
        hidden = w_o @ v_l
        output += share * a @ np.maximum(hidden, 0)
        u = a * (hidden > 0)
        g = w_o.T @ u
        v = w_v.T @ g
        h = x.T @ (w * (x @ v)) - mean * (mean @ v)
        d[0] += share * np.outer(u, v_l)
        d[1] += share * np.outer(g, mean)
        d[2] += share * np.outer(w_q @ query, h)
        d[3] += share * np.outer(w_k @ h, query)
    return output, Network(*d)  # pyright: ignore[reportArgumentType]


def plain_forward(network: Network, signs: Any, tokens: Any, weight: Any) -> Any:
    """The network written matrix by matrix for autodiff; log multiplicities are added to the logits."""

    def one(x: Any, count: Any) -> Any:
        logits = (x @ network.query.T) @ (x @ network.key.T).T + jnp.log(count)[None, :]
        values = jax.nn.softmax(logits, axis=-1) @ (x @ network.value.T)
        per_token = jnp.sum(signs * jax.nn.relu(values @ network.output.T), axis=-1)
        return jnp.sum(count * per_token) / jnp.sum(count)

    return jax.vmap(one)(tokens, weight)


jitted_forward = jax.jit(forward)
jitted_gradient = jax.jit(lambda n, a, x, c, slope: gradient(n, a, x, c, lambda outputs: slope))
autodiff = jax.jit(jax.grad(lambda n, a, x, c, slope: jnp.sum(slope * plain_forward(n, a, x, c))))


def assert_networks(actual: Network, expected: Network, tolerance: float) -> None:
    for name, one, two in zip(Network._fields, actual, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance, err_msg=name)


def start(setting: Setting, seed: int = 0) -> tuple[Network, Features, np.ndarray]:
    key = jax.random.key(seed)
    basis = draw_patterns(setting.problem(), jax.random.fold_in(key, 1))
    network, features = initialise(setting.problem(), key, basis)
    return (*jax.tree.map(np.asarray, (network, features)), np.asarray(basis))
