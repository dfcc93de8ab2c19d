"""Exact laws of training (section 8): what stays zero, what is conserved, what commutes with rotations.

Whole runs are of the package's own training in float32 (variants of the network: steps of its gradient on its batches);
balances and rotations are looked at step by step in float64.
"""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.icl.data import Prompts, World, training_prompts
from lemmata.theories.icl.experiments import TINY
from lemmata.theories.icl.network import gradient, initialise, run_forward
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import train_network

DIMENSION, LABELS, MU, BETA, DELTA = 12, 2, 6, 3.0, 0.2
SETTING = Setting(**{**TINY, "contexts": 10, "initial_scale": DELTA, "a_scale": "1/sqrt(m)", "steps": 80})
CANONICAL = SETTING.replace(basis="canonical")
VARIANTS = ("plain", "include_query", "heads")
FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}


class Trained(NamedTuple):
    world: World
    before: Network
    after: Network
    signs: np.ndarray


@functools.cache
def trained(setting: Setting, seed: int = 0) -> Trained:
    with jax.default_matmul_precision("highest"):
        world, before, after, signs, _ = train_network(setting.problem(), jax.random.key(seed))
    return Trained(*jax.device_get((world, before, after, signs)))


@functools.partial(jax.jit, static_argnames="include_query", **FAST)
def descend(
    network: Network, signs: Any, prompts: Prompts, step_size: Any, include_query: bool = False
) -> tuple[Network, Network]:
    """The network after one step on these prompts, and the gradient of their mean loss."""
    z, loss = prompts.label, hinge()
    d = gradient(network, signs, prompts, lambda outputs: z * loss.slope(z * outputs), include_query)
    return jax.tree.map(lambda w, g: w - step_size * g, network, d), d


@functools.partial(jax.jit, **FAST)
def batch(problem: Any, key: jax.Array, world: World, t: Any) -> Prompts:
    """The training batch of step t."""
    problem = problem.only(["context_capacity", "batch"])
    return training_prompts(problem, jax.random.fold_in(stream(key, "batch"), t), world, problem.batch)


@functools.cache
def variant(name: str) -> Trained:
    if name == "plain":
        return trained(SETTING)
    world, key = trained(SETTING).world, jax.random.key(0)
    setting = SETTING.replace(heads=2) if name == "heads" else SETTING
    before, signs = jax.device_get(initialise(setting.problem(), key))
    after = before
    for t in range(SETTING.steps):
        prompts = batch(SETTING.problem(), key, world, t)
        after, _ = descend(after, signs, prompts, 1.0, include_query=name == "include_query")
    return Trained(world, before, jax.device_get(after), signs)


def heads(network: Network) -> list[Network]:
    if network.key.ndim == 2:
        return [network]
    return [Network(*(leaf[head] for leaf in network)) for head in range(len(network.key))]


def coordinates(matrix: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """All of v_j^T W v_k / beta^2, in float64."""
    basis = np.asarray(basis, np.float64)
    return basis.T @ np.asarray(matrix, np.float64)[:DIMENSION, :DIMENSION] @ basis / BETA**2


# Exact zeros and the conservation law


@pytest.mark.parametrize("name", VARIANTS)
def test_label_columns_of_queries_and_rows_below_the_features_stay_exactly_zero(name: str) -> None:
    run = variant(name)
    for head in heads(run.after):
        np.testing.assert_array_equal(head.query[:, DIMENSION:], 0)
        np.testing.assert_array_equal(head.query[DIMENSION:], 0)
        np.testing.assert_array_equal(head.key[DIMENSION:], 0)
        # the label columns of the keys are trained, and so is everything else
        assert np.abs(head.key[:DIMENSION, DIMENSION]).max() > 1e-4
    for one, two in zip(run.before, run.after, strict=True):
        assert np.abs(one - two).max() > 1e-3


@pytest.mark.parametrize("name", VARIANTS)
def test_keys_of_the_sum_of_all_patterns_are_conserved(name: str) -> None:
    run = variant(name)
    total = np.asarray(run.world.patterns.relevant, np.float64).sum(axis=1)
    for head in heads(run.after):
        moved = np.asarray(head.key, np.float64)[:, :DIMENSION] @ total
        np.testing.assert_allclose(moved, DELTA * np.append(total, np.zeros(LABELS)), atol=1e-5 * BETA)
        rows, queries = (coordinates(w, run.world.basis)[:MU, :MU] for w in (head.key, head.query))
        assert np.abs(rows.sum(axis=1) - DELTA).max() < 1e-5
        # entries move by far more, and neither columns nor queries obey the law
        assert np.abs(rows - DELTA * np.eye(MU)).max() > 0.02
        assert np.abs(rows.sum(axis=0) - DELTA).max() > 1e-3
        assert np.abs(queries.sum(axis=1) - DELTA).max() > 1e-3


def test_without_irrelevant_parts_their_blocks_do_not_move() -> None:
    run = trained(CANONICAL.replace(amplitude=0.0))
    for matrix in (run.after.query, run.after.key):
        np.testing.assert_array_equal(matrix[MU:DIMENSION, MU:DIMENSION], np.float32(DELTA) * np.eye(6, dtype="f"))
    rotated = trained(SETTING.replace(amplitude=0.0))
    for matrix in (rotated.after.query, rotated.after.key):
        block = coordinates(matrix, rotated.world.basis)[MU:, MU:]
        np.testing.assert_allclose(block, DELTA * np.eye(6), atol=2e-6)
    # with irrelevant parts they do
    block = coordinates(trained(SETTING).after.query, trained(SETTING).world.basis)[MU:, MU:]
    assert np.abs(block - DELTA * np.eye(6)).max() > 1e-4


def test_the_first_step_with_decisive_contexts_moves_mass_from_partners_to_the_own_pattern() -> None:
    run = trained(CANONICAL.replace(amplitude=0.0, fraction=1.0, steps=1))
    moved = coordinates(run.after.key - run.before.key, run.world.basis)[:MU, :MU]
    for j in range(MU):
        partners = [(j + 1) % MU, (j - 1) % MU]
        others = [k for k in range(MU) if k != j and k not in partners]
        np.testing.assert_array_equal(moved[j, others], 0)
        assert abs(moved[j, j]) > 1e-6
        assert abs(moved[j, j] + moved[j, partners].sum()) < 1e-4 * np.abs(moved[j]).max()
    # with other contexts too the rest is not zero
    usual = trained(CANONICAL.replace(amplitude=0.0, steps=1))
    assert np.abs(coordinates(usual.after.key - usual.before.key, usual.world.basis)[0, 2:5]).max() > 1e-6


def test_a_single_context_leaves_keys_and_queries_unchanged_to_the_bit() -> None:
    run = trained(SETTING.replace(contexts=1))
    np.testing.assert_array_equal(run.after.key, run.before.key)
    np.testing.assert_array_equal(run.after.query, run.before.query)
    assert np.abs(run.after.value - run.before.value).max() > 1e-3
    two = trained(SETTING.replace(contexts=2))
    assert np.abs(two.after.key - two.before.key).max() > 1e-3


# Single steps


class Start(NamedTuple):
    network: Network
    signs: np.ndarray
    batches: list[Prompts]


@pytest.fixture(scope="module")
def start() -> Start:
    """A network and three batches of training prompts in float64."""
    run = trained(SETTING)
    drawn = [batch(SETTING.problem(), jax.random.key(0), run.world, t) for t in range(3)]
    wide = lambda leaf: np.asarray(leaf, np.float64 if leaf.dtype == np.float32 else None)  # noqa: E731
    return Start(*jax.tree.map(wide, (run.before, run.signs, drawn)))


def balances(network: Network) -> list[np.ndarray]:
    o, v, k, q = (np.asarray(leaf, np.float64) for leaf in network)
    return [q @ q.T - k @ k.T, v @ v.T - o.T @ o]


def test_both_balances_change_by_the_squared_gradients_in_every_step(start: Start) -> None:
    with numerics("float64"):
        network, expected = start.network, []
        for prompts in start.batches * 2:
            after, d = jax.device_get(descend(network, start.signs, prompts, 0.9))
            expected = [d.query @ d.query.T - d.key @ d.key.T, d.value @ d.value.T - d.output.T @ d.output]
            for one, two, growth in zip(balances(network), balances(after), expected, strict=True):
                np.testing.assert_allclose(two - one, 0.81 * growth, atol=1e-14)
            network = after
        assert np.abs(expected[0]).max() > 1e-7
        assert np.abs(expected[1]).max() > 1e-4


def test_the_drift_of_the_balances_halves_with_the_step_size(start: Start) -> None:
    with numerics("float64"):
        drifts = []
        for halvings in range(3):
            network, step_size = start.network, 0.2 / 2**halvings
            for _ in range(40 * 2**halvings):
                network, _ = descend(network, start.signs, start.batches[0], step_size)
            moved = [np.linalg.norm(b - a) for a, b in zip(balances(start.network), balances(network), strict=True)]
            drifts.append(moved)
        ratios = np.array(drifts[:-1]) / np.array(drifts[1:])
        np.testing.assert_allclose(ratios, 2, rtol=0.15)


def rotation() -> np.ndarray:
    """diag(R, I)."""
    matrix = np.eye(DIMENSION + LABELS)
    normal = np.random.default_rng(0).normal(size=(DIMENSION, DIMENSION))
    matrix[:DIMENSION, :DIMENSION] = np.linalg.qr(normal)[0]
    return matrix


def test_rotating_prompts_and_maps_together_changes_no_output_and_commutes_with_training(start: Start) -> None:
    r = rotation()

    def turn(network: Network) -> Network:
        o, v, k, q = network
        return Network(o @ r.T, r @ v @ r.T, r @ k @ r.T, r @ q @ r.T)

    forward = jax.jit(run_forward, **FAST)
    with numerics("float64"):
        plain, turned = start.network, turn(start.network)
        for prompts in start.batches * 3:
            other = prompts._replace(contexts=prompts.contexts @ r.T, query=prompts.query @ r.T)
            one, two = forward(plain, start.signs, prompts).output, forward(turned, start.signs, other).output
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
            # the maps must be turned along
            assert np.max(np.abs(one - forward(plain, start.signs, other).output)) > 1e-3
            plain, _ = jax.device_get(descend(plain, start.signs, prompts, 1.0))
            turned, _ = jax.device_get(descend(turned, start.signs, other, 1.0))
        for name, one, two in zip(Network._fields, turned, turn(plain), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-10, err_msg=name)
        assert np.abs(plain.key - start.network.key).max() > 1e-3
