"""The network and its gradient written out for one node at a time (3.1, oracle 8.2), and small worlds in float64."""

from typing import Any, NamedTuple

import jax
import numpy as np

from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.network import initialise, run_sampled
from lemmata.theories.graph_transformer.probes import draw_watched
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import prepare

SMALL: dict[str, Any] = {
    "nodes": 80, "patterns": 4, "dimension": 6, "degree": 8, "neurons": 12, "key_width": 6, "value_width": 6,
    "labelled": 40, "batch": 10, "sample": 8, "steps": 4, "record_every": 1, "records": 21, "test_draws": 2,
    "output_scale": 1.5, "step_size": 0.5,
}  # fmt: skip
"""The sizes of all tests in float64, which so share their programs."""
FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}
PARTS = ("W_O", "W_V", "W_K", "W_Q", "b")


class Weights(NamedTuple):
    """W_O, W_V, W_K, W_Q, b as NumPy arrays."""

    o: np.ndarray
    v: np.ndarray
    k: np.ndarray
    q: np.ndarray
    b: np.ndarray


def weights(parameters: Any) -> Weights:
    n = parameters.network
    return Weights(*(np.array(leaf, float) for leaf in (n.output, n.value, n.key, n.query, parameters.encoding)))


class Answer(NamedTuple):
    f: float
    alpha: np.ndarray
    mean: np.ndarray
    hidden: np.ndarray


def answer(w: Weights, a: np.ndarray, query: np.ndarray, keys: np.ndarray, bins: np.ndarray) -> Answer:
    """F of a node with these keys; bins by distance."""
    mass = np.array([np.exp((w.k @ x) @ (w.q @ query) + w.b[z]) for x, z in zip(keys, bins, strict=True)])
    alpha = mass / mass.sum()
    mean = sum(s * x for s, x in zip(alpha, keys, strict=True))
    hidden = w.o @ w.v @ mean
    return Answer(float(a @ np.maximum(hidden, 0)), alpha, mean, hidden)


def slopes(w: Weights, a: np.ndarray, query: np.ndarray, keys: np.ndarray, bins: np.ndarray) -> Weights:
    """dF/dW of oracle 8.2."""
    run = answer(w, a, query, keys, bins)
    c = a * (run.hidden > 0)
    r = w.o.T @ c
    e = np.array([r @ w.v @ x for x in keys])
    push = run.alpha * (e - run.alpha @ e)
    tilted = push @ keys
    by_bin = np.array([push[bins == z].sum() for z in range(len(w.b))])
    return Weights(
        np.outer(c, w.v @ run.mean),
        np.outer(r, run.mean),
        np.outer(w.q @ query, tilted),
        np.outer(w.k @ tilted, query),
        by_bin,
    )


class Case(NamedTuple):
    """A setting with its world, initial parameters and watched samples, on the host where NumPy reads them."""

    setting: Setting
    problem: Any
    key: Any
    world: Any
    parameters: Any
    signs: np.ndarray
    watched: Any

    def tokens(self, node: int, keys: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features of the node and of the keys that are used, and their bins."""
        used = keys[weight > 0]
        bins = np.minimum(self.world.table[node, used], self.setting.bins - 1)
        return self.world.features[node], self.world.features[used], bins

    def watched_tokens(self, draw: int, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.tokens(self.watched.node[row], self.watched.keys[draw, row], self.watched.weight[draw, row])


def in_float64(world: Any) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf, float) if np.asarray(leaf).dtype.kind == "f" else leaf, world)


def make_case(seed: int = 0, **changed: Any) -> Case:
    """A small case in float64 (inside `numerics("float64")`)."""
    setting = Setting(**{**SMALL, **changed})
    problem, key = setting.problem(), jax.random.key(seed)
    world = in_float64(prepare(setting, seed))
    parameters, signs = initialise(problem, key, world.directions)
    watched = draw_watched(problem, key, world)
    return Case(setting, problem, key, world, *jax.device_get((parameters, signs, watched)))


run = jax.jit(run_sampled, static_argnames="scores", **FAST)


def assert_trees(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    for one, two in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(two).max())))


def conserved(network: Network) -> tuple[Any, Any]:
    o, v, k, q = network
    return o.T @ o - v @ v.T, q @ q.T - k @ k.T
