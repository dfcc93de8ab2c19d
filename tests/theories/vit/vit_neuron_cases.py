"""Single neurons by brute force (probes 5.5 to 5.9): loops over neurons, samples and tokens in NumPy."""

import functools
import math
from typing import Any

import jax
import numpy as np

from lemmata.networks.shallow import Network, products, run_forward
from lemmata.theories.vit.data import Data
from lemmata.theories.vit.network import Features
from lemmata.theories.vit.neurons import (
    Lucky,
    neuron_probe,
)

CAPACITY, USED, TOKENS, DIMENSION, PATTERNS, VALUE, KEY, NEURONS = 6, 4, 7, 6, 4, 5, 4, 24


class Case:
    """Random data of which the last two samples are unused and some tokens masked, and a random network.

    Training labels differ from the true ones; the lucky sets are random sets of neurons of their sign.
    """

    def __init__(self, seed: int, heads: int = 0, skip: bool = False) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.skip = skip
        wide = DIMENSION if skip else VALUE
        leading = (heads,) if heads else ()
        shapes = ((NEURONS, wide), (wide, DIMENSION), (KEY, DIMENSION), (KEY, DIMENSION))
        self.network = Network(*(rng.normal(size=leading + shape) / math.sqrt(shape[1]) for shape in shapes))
        frame = lambda rows: np.linalg.qr(rng.normal(size=(*leading, rows, PATTERNS)))[0]  # noqa: E731
        self.features = Features(frame(wide), frame(KEY), frame(KEY))
        self.basis = np.linalg.qr(rng.normal(size=(DIMENSION, PATTERNS)))[0]
        self.signs = rng.choice([-1.0, 1.0], NEURONS) / math.sqrt(NEURONS)
        vote = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
        pattern = rng.permuted(np.tile([0, 0, 1, 1, 2, 3, 3], (CAPACITY, 1)), axis=1)
        tokens = self.basis.T[pattern] + 0.3 * rng.normal(size=(CAPACITY, TOKENS, DIMENSION))
        weight = rng.choice([0.0, 1.0, 1.0, 1.0], (CAPACITY, TOKENS))
        for n in range(CAPACITY):  # a kept relevant token in every sample
            weight[n, np.argmax(pattern[n] == (vote[n] < 0))] = 1.0
        label = vote * np.array([1, -1, -1, 1, -1, 1])
        self.data = Data(tokens, label, vote, pattern, weight, np.zeros((CAPACITY, TOKENS)))
        self.weight = np.where(np.arange(CAPACITY) < USED, 1 / USED, 0.0)
        self.unsolved = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
        sign = np.stack([self.signs > 0, self.signs < 0])
        draws = rng.random((2, 2, NEURONS)) < 0.5
        self.lucky = Lucky(draws[0], draws[0] & sign, draws[1] & sign)

    def probe(self) -> dict[str, np.ndarray]:
        fields = ("network", "features", "basis", "signs", "data", "weight", "unsolved", "lucky")
        return jax.device_get(probed(*(getattr(self, field) for field in fields), skip=self.skip))


@functools.partial(jax.jit, static_argnames="skip")
def probed(
    network: Network,
    features: Features,
    basis: Any,
    signs: Any,
    data: Data,
    weight: Any,
    unsolved: Any,
    lucky: Lucky,
    skip: bool = False,
) -> dict[str, Any]:
    run = run_forward(products(network, skip), signs, data.tokens, data.weight, skip)
    return neuron_probe(run, network, features, basis, signs, data, weight, unsolved, lucky)


def heads_of(network: Network) -> list[tuple[np.ndarray, ...]]:
    matrices = [np.asarray(w) for w in network]
    return list(zip(*(w if w.ndim == 3 else w[None] for w in matrices), strict=True))


def pooled_and_hidden(network: Network, x: np.ndarray, query: np.ndarray, skip: bool) -> tuple[np.ndarray, np.ndarray]:
    """X w_l of a query, averaged over the heads, and the hidden layer before its ReLU."""
    pooled, hidden = [], 0.0
    for w_o, w_v, w_k, w_q in heads_of(network):
        mass = np.exp(x @ w_k.T @ w_q @ query)
        pooled.append(mass @ x / mass.sum())
        hidden = hidden + w_o @ (w_v @ pooled[-1] + (query if skip else 0.0))
    return np.mean(pooled, axis=0), np.asarray(hidden)


def brute_force(
    network: Network,
    features: Features,
    basis: np.ndarray,
    signs: np.ndarray,
    data: Data,
    used: int,
    unsolved: np.ndarray,
    lucky: Lucky,
    skip: bool = False,
) -> dict[str, np.ndarray]:
    """Probes 5.7 and 5.8 as the paper words them: means over lists of neurons, samples and kept tokens."""
    m, k_heads = len(signs), len(heads_of(network))
    rows = [np.concatenate([head[0][i] for head in heads_of(network)]) for i in range(m)]
    frames = features.value if features.value.ndim == 3 else features.value[None]
    directions = [np.concatenate([p[:, j] for p in frames]) / math.sqrt(k_heads) for j in range(basis.shape[1])]
    plus, minus = (set(np.flatnonzero(mask)) for mask in lucky.signed)
    groups = [sorted(plus), sorted(minus), sorted(set(range(m)) - plus - minus)]
    halves = [np.flatnonzero(mask) for mask in lucky.halves]

    growth = np.zeros((2, m))
    firing: list[list[np.ndarray]] = [[], []]
    outputs: list[list[np.ndarray]] = [[], []]
    has_loss: list[list[float]] = [[], []]
    for n in range(used):
        kept = np.flatnonzero(data.weight[n])
        x = data.tokens[n, kept]
        side = 0 if data.vote[n] > 0 else 1
        added = np.zeros(m)
        for position, query in zip(kept, x, strict=True):
            pooled, hidden = pooled_and_hidden(network, x, query, skip)
            if data.pattern[n, position] == side:
                firing[side].append(hidden > 0)
            added += np.abs(signs) * np.maximum(hidden, 0) / len(kept)
            for k in range(2):
                push = -data.label[n] * unsolved[n] * signs * (hidden > 0) * (pooled @ basis[:, k])
                growth[k] += push / len(kept) / used
        outputs[side].append(added)
        has_loss[side].append(unsolved[n])
    cosine = lambda i, j: rows[i] @ directions[j] / np.linalg.norm(rows[i])  # noqa: E731
    persisting = lambda who, side: np.mean([active[i] for active in firing[side] for i in who])  # noqa: E731
    return {
        "alignment": np.array([np.mean([cosine(i, j) for i in groups[j]]) for j in range(2)]),
        "component": np.array([[np.mean([abs(rows[i] @ p) for i in g]) for p in directions] for g in groups]),
        "square_norm": np.array([np.mean([rows[i] @ rows[i] for i in g]) for g in groups]),
        "persistence": np.array(
            [persisting(who, side) for who, side in zip((*groups[:2], *halves), (0, 1, 0, 1), strict=True)]
        ),
        "value_growth": np.array([[np.mean(growth[k, g]) for k in range(2)] for g in groups]),
        "value_size": np.array([[np.mean(np.abs(growth[k, g])) for k in range(2)] for g in groups]),
        "group_output": np.array([[np.mean([o[g].sum() for o in outputs[k]]) for k in range(2)] for g in groups]),
        "unsolved": np.array([np.mean(has_loss[k]) for k in range(2)]),
    }
