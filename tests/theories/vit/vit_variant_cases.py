"""Variants of the network (3.2) by hand: several heads, a skip connection, several classes.

The oracle is written token by token in NumPy from the paper's formulas and shares nothing with the package; a second
one is autodiff of a forward pass written in another way. Everything runs in float64.
"""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.networks.shallow import Network, forward, gradient
from lemmata.theories.vit.network import aim, margins
from lemmata.theories.vit.setting import Setting

SAMPLES, TOKENS, DIMENSION, VALUE, KEY, NEURONS = 4, 6, 5, 4, 3, 7

SMALL = Setting(tokens=10, neurons=16, samples=8, test_samples=16, steps=20, records=21)


class Variant(NamedTuple):
    """`heads` = 0: matrices without a leading axis."""

    heads: int = 0
    skip: bool = False
    outputs: int = 1


VARIANTS = {
    "plain": Variant(),
    "three heads": Variant(heads=3),
    "skip": Variant(skip=True),
    "four classes": Variant(outputs=2),
    "heads and classes": Variant(heads=2, outputs=3),
    "skip and classes": Variant(skip=True, outputs=2),
}
THREE = ("three heads", "skip", "four classes")

few = pytest.mark.parametrize("name", THREE)
positions = pytest.mark.parametrize("per_token", [False, True], ids=["shared", "per token"])


class Case:
    """A random network with random, partly masked and repeated tokens."""

    def __init__(self, seed: int, name: str, per_token: bool = False, masked: bool = True) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.name, self.per_token = name, per_token
        heads, self.skip, outputs = VARIANTS[name]
        wide = DIMENSION if self.skip else VALUE
        shapes = ((NEURONS, wide), (wide, DIMENSION), (KEY, DIMENSION), (KEY, DIMENSION))
        leading = (heads,) if heads else ()
        self.network = Network(*(rng.normal(size=leading + shape) / math.sqrt(shape[1]) for shape in shapes))
        layers = (outputs, TOKENS if per_token else 1) if outputs > 1 else (TOKENS,) if per_token else ()
        self.signs = rng.choice([-1.0, 1.0], (*layers, NEURONS)) / math.sqrt(NEURONS)
        self.tokens = rng.normal(size=(SAMPLES, TOKENS, DIMENSION))
        self.weight = np.ones((SAMPLES, TOKENS))
        if masked:
            self.weight = rng.choice([0.0, 1.0, 1.0, 3.0], (SAMPLES, TOKENS))
            self.weight[:, 0] = 1.0
        self.label = rng.choice([-1.0, 1.0], (SAMPLES, outputs) if outputs > 1 else SAMPLES)

    def inputs(self, **changes: Any) -> tuple[Any, ...]:
        order = ("network", "signs", "label", "tokens", "weight", "skip")
        return tuple(changes.get(field, getattr(self, field)) for field in order)


def heads_of(network: Network) -> list[Network]:
    matrices = [np.asarray(w) for w in network]
    if matrices[0].ndim == 2:
        matrices = [w[None] for w in matrices]
    return [Network(*head) for head in zip(*matrices, strict=True)]


def by_hand(
    network: Network, signs: np.ndarray, x: np.ndarray, count: np.ndarray, skip: bool
) -> tuple[np.ndarray, list[Network]]:
    """F of one sample, coordinate by coordinate, with the gradients of every coordinate (8.2).

    signs: [coordinates, tokens or 1, neurons]. The gradients have a leading axis of heads, as the network may.
    """
    heads = heads_of(network)
    outputs, coordinates = [], []
    for layer in np.broadcast_to(signs, (signs.shape[0], len(x), signs.shape[2])):
        f, d = 0.0, [[np.zeros_like(w) for w in head] for head in heads]
        for query, share, a in zip(x, count / count.sum(), layer, strict=True):
            hidden, seen = 0.0, []
            for w_o, w_v, w_k, w_q in heads:
                mass = count * np.exp(x @ w_k.T @ w_q @ query)
                w = mass / mass.sum()
                v_l = w_v @ (x.T @ w) + (query if skip else 0.0)
                seen.append((w, v_l))
                hidden = hidden + w_o @ v_l
            f += share * a @ np.maximum(hidden, 0)
            u = a * (hidden > 0)
            for part, (w_o, w_v, w_k, w_q), (w, v_l) in zip(d, heads, seen, strict=True):
                mean, g = x.T @ w, w_o.T @ u
                v = w_v.T @ g
                h = x.T @ (w * (x @ v)) - mean * (mean @ v)
                part[0] += share * np.outer(u, v_l)
                part[1] += share * np.outer(g, mean)
                part[2] += share * np.outer(w_q @ query, h)
                part[3] += share * np.outer(w_k @ h, query)
        outputs.append(f)
        together = (np.stack(parts) for parts in zip(*d, strict=True))
        coordinates.append(Network(*(part.reshape(w.shape) for part, w in zip(together, network, strict=True))))
    return np.array(outputs), coordinates


def kept_layers(signs: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Signs of the kept positions as [coordinates, tokens or 1, neurons]."""
    layers = signs if signs.ndim == 3 else np.atleast_2d(signs)[None]
    return layers[:, kept] if layers.shape[1] > 1 else layers


def plain_margins(network: Network, signs: Any, label: Any, tokens: Any, weight: Any, skip: bool) -> Any:
    """y^T F for autodiff, all heads at once; log multiplicities are added to the logits."""
    output, value, key, query = (w if w.ndim == 3 else w[None] for w in network)
    logits = jnp.einsum("hkd,nld,hke,nse->hnls", query, tokens, key, tokens) + jnp.log(weight)[None, :, None, :]
    values = jnp.einsum("hnls,hvd,nsd->hnlv", jax.nn.softmax(logits, axis=-1), value, tokens)
    if skip:
        values = values + tokens
    fired = jax.nn.relu(jnp.einsum("hmv,hnlv->nlm", output, values))
    if signs.ndim < 3:
        each = label[:, None] * jnp.sum(signs * fired, axis=-1)
    else:
        each = jnp.sum(label[:, :, None] * jnp.sum(signs * fired[:, None], axis=-1), axis=1)
    return jnp.sum(weight * each, axis=1) / jnp.sum(weight, axis=1)


@functools.partial(jax.jit, static_argnums=5)
def package(
    network: Network, signs: Any, label: Any, tokens: Any, weight: Any, skip: bool, slope: Any
) -> tuple[Any, Any, Network]:
    """The package's F, y^T F and gradient of sum_n slope_n y_n^T F_n."""
    aimed, factor = aim(signs, label)
    d = gradient(network, aimed, tokens, weight, lambda outputs: slope * factor, skip)
    outputs = forward(network, signs, tokens, weight, skip)
    return outputs, margins(network, signs, label, tokens, weight, skip), d


autodiff = jax.jit(jax.grad(lambda *inputs: jnp.sum(inputs[-1] * plain_margins(*inputs[:-1]))), static_argnums=5)
SLOPE = np.arange(1.0, SAMPLES + 1)


def whole_by_hand(case: Case, slope: np.ndarray = SLOPE) -> tuple[Any, Any, Network]:
    """The same in NumPy, with masked tokens deleted together with their signs."""
    outputs, margin, total = [], [], jax.tree.map(np.zeros_like, case.network)
    for x, count, y, c in zip(case.tokens, case.weight, np.reshape(case.label, (SAMPLES, -1)), slope, strict=True):
        kept = np.flatnonzero(count)
        f, each = by_hand(case.network, kept_layers(case.signs, kept), x[kept], count[kept], case.skip)
        outputs.append(f)
        margin.append(y @ f)
        for y_c, d in zip(y, each, strict=True):
            total = jax.tree.map(lambda t, g, factor=c * y_c: t + factor * g, total, d)
    return np.array(outputs).reshape(case.label.shape), np.array(margin), total


def assert_networks(actual: Network, expected: Network, tolerance: float) -> None:
    for field, one, two in zip(Network._fields, actual, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance, err_msg=field)


def assert_same(found: tuple[Any, Any, Network], expected: tuple[Any, Any, Network], tolerance: float = 1e-12) -> None:
    for one, two in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)
    assert_networks(found[2], expected[2], tolerance)
