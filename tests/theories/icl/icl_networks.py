"""Random networks on random prompts, beside NumPy loops in float64 that are written from the specification: heads are
concatenated before one wide W_O, prompts and contexts are gone through one by one."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import math
from typing import Any, NamedTuple

import jax
import numpy as np

from lemmata.networks.shallow import Network
from lemmata.theories.icl.data import Prompts
from lemmata.theories.icl.network import attention_on, run_forward
from lemmata.theories.icl.probes import scores

PROMPTS, CONTEXTS, FEATURES, LABELS, KEY, VALUE, NEURONS = 5, 6, 3, 2, 3, 4, 7
WIDTH = FEATURES + LABELS
FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}


class Reference(NamedTuple):
    """One prompt as the specification reads: F, the attention and the gradients of the hinge loss."""

    output: float
    attention: list[np.ndarray]
    hidden: np.ndarray
    gradient: Network


def by_hand(network: Network, a: np.ndarray, p: np.ndarray, query: np.ndarray, z: float = 1.0) -> Reference:
    """p: the tokens that are attended to, one per row. Several heads: one W_O of width H m_b on their concatenation."""
    leaves = [np.asarray(leaf, float) for leaf in network]
    w_o, w_v, w_k, w_q = (leaf if leaf.ndim == 3 else leaf[None] for leaf in leaves)
    wide, heads = np.concatenate(list(w_o), axis=1), len(w_o)
    attention, means = [], []
    for k, q in zip(w_k, w_q, strict=True):
        mass = np.array([math.exp((k @ token) @ (q @ query)) for token in p])
        attention.append(mass / mass.sum())
        means.append(sum(weight * token for weight, token in zip(attention[-1], p, strict=True)))
    v = np.concatenate([value @ mean for value, mean in zip(w_v, means, strict=True)])
    hidden = wide @ v
    output = float(sum(s * max(h, 0.0) for s, h in zip(a, hidden, strict=True)))
    c = -z if z * output < 1 else 0.0
    gate = a * (hidden > 0)
    d_wide = c * np.outer(gate, v)
    d = [np.split(d_wide, heads, axis=1), [], [], []]
    for head, g in enumerate(np.split(wide.T @ gate, heads)):
        u = [g @ w_v[head] @ token for token in p]
        w = sum(s * score * (token - means[head]) for s, score, token in zip(attention[head], u, p, strict=True))
        d[1].append(c * np.outer(g, means[head]))
        d[2].append(c * np.outer(w_q[head] @ query, w))
        d[3].append(c * np.outer(w_k[head] @ w, query))
    flat = [np.stack(parts) if leaves[0].ndim == 3 else parts[0] for parts in d]
    return Reference(output, attention, hidden, Network(*flat))


def make_prompts(contexts: Any, query: Any, weight: Any = None, label: Any = None) -> Prompts:
    """Prompts of which only the tokens matter."""
    count, length, _ = contexts.shape
    none = np.zeros((count, length), int)
    weight = np.ones((count, length)) if weight is None else weight
    label = np.ones(count) if label is None else label
    return Prompts(contexts, query, weight, label, none, none[:, 0], 0.0 * none, 0.0 * none, none[:, 0])


class Case:
    """A random network and random prompts, some contexts of which are not used."""

    def __init__(self, seed: int, heads: int = 1, masked: bool = True, value: int = VALUE) -> None:
        self.rng = rng = np.random.default_rng(seed)
        leading = (heads,) if heads > 1 else ()
        shapes = ((NEURONS, value), (value, WIDTH), (KEY, WIDTH), (KEY, WIDTH))
        self.network = Network(*(rng.normal(size=leading + shape) / math.sqrt(shape[1]) for shape in shapes))
        self.signs = rng.choice([-1.0, 1.0], NEURONS) / 2
        weight = np.ones((PROMPTS, CONTEXTS))
        if masked:
            weight = rng.choice([0.0, 1.0, 1.0], (PROMPTS, CONTEXTS))
            weight[:, 2] = 1.0
        query = rng.normal(size=(PROMPTS, WIDTH))
        query[:, FEATURES:] = 0
        label = rng.choice([-1.0, 1.0], PROMPTS)
        self.prompts = make_prompts(2 * rng.normal(size=(PROMPTS, CONTEXTS, WIDTH)), query, weight, label)

    def references(self, include_query: bool = False) -> list[Reference]:
        found = []
        for p, query, weight, z, *_ in zip(*self.prompts, strict=True):
            kept = p[weight > 0]
            tokens = np.concatenate([kept, query[None]]) if include_query else kept
            found.append(by_hand(self.network, self.signs, tokens, query, z))
        return found


run = jax.jit(run_forward, static_argnames="include_query", **FAST)
score = jax.jit(scores, **FAST)
on_contexts = jax.jit(attention_on, **FAST)
