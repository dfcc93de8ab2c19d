"""Mini-batches: which samples a step sees, with what weight, and on what that depends."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import permutations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from lemmata.lab import batches
from lemmata.lab.precision import numerics

SCHEMES = ("full", "epochs", "independent", "one_pass")
CAPACITY, ROOM = 12, 32
COUNTS = {
    "samples": st.integers(1, CAPACITY), "batch": st.sampled_from([1, 4, 14]), "seed": st.integers(0, 2**20),
}  # fmt: skip


def scheme(name: str, key: jax.Array, samples: Any, capacity: int, batch: int) -> batches.Batches:
    if name == "full":
        return batches.full(samples, capacity)
    if name == "one_pass":
        return batches.one_pass(samples, capacity, batch)
    if name == "independent":
        return batches.independent(key, samples, batch)
    return batches.epochs(key, samples, capacity, batch)


@partial(jax.jit, static_argnums=(0, 3, 4))
def drawn(name: str, seed: int, samples: int, capacity: int, batch: int, first: int = 0) -> tuple[jax.Array, jax.Array]:
    """Indices and weights of the batches of `ROOM` steps from `first` on; the number of samples is traced."""
    chosen = scheme(name, jax.random.key(seed), samples, capacity, batch)

    def body(state: Any, t: jax.Array) -> tuple[Any, tuple[jax.Array, jax.Array]]:
        state, drawn = chosen.draw(state, t)
        index = jnp.arange(capacity) if drawn.rows is None else drawn.rows
        return state, (index, drawn.weight)

    return jax.lax.scan(body, chosen.start(), first + jnp.arange(ROOM))[1]


def visits(
    name: str, seed: int, samples: int, batch: int, steps: int = ROOM, capacity: int = CAPACITY, first: int = 0
) -> list[list[int]]:
    """The samples that every step gives weight to."""
    index, weight = (np.asarray(part) for part in drawn(name, seed, samples, capacity, batch, first))
    assert steps <= ROOM
    return [i[w > 0].tolist() for i, w in zip(index[:steps], weight[:steps], strict=True)]


def steps_allowed(name: str, samples: int, batch: int) -> int:
    """One pass ends with the samples, the other schemes never."""
    return max(samples // batch, 1) if name == "one_pass" else ROOM


@pytest.mark.parametrize("name", SCHEMES)
@settings(max_examples=25, deadline=None)
@given(**COUNTS)
def test_weights_add_up_to_one_and_padding_has_none(name, samples, batch, seed):
    steps = steps_allowed(name, samples, batch)
    _, weight = drawn(name, seed, samples, CAPACITY, batch)
    np.testing.assert_allclose(np.asarray(weight).sum(axis=1), 1, rtol=1e-6)
    assert max(max(step) for step in visits(name, seed, samples, batch, steps)) < samples


@pytest.mark.parametrize("name", SCHEMES)
@settings(max_examples=25, deadline=None)
@given(**COUNTS)
def test_the_effective_batch_is_the_smaller_of_batch_and_samples(name, samples, batch, seed):
    wanted = samples if name == "full" else min(batch, samples)
    assert {len(step) for step in visits(name, seed, samples, batch)} == {wanted}
    weight = np.asarray(drawn(name, seed, samples, CAPACITY, batch)[1])
    np.testing.assert_allclose(weight[weight > 0], 1 / wanted, rtol=1e-6)


def test_the_full_batch_is_every_sample_in_order_and_copies_nothing():
    data = {"x": jnp.arange(5.0), "y": jnp.ones((5, 2))}
    _, batch = batches.full(3, 5).draw((), jnp.asarray(7))
    np.testing.assert_allclose(batch.weight, [1 / 3, 1 / 3, 1 / 3, 0, 0], rtol=1e-6)
    assert batch.take(data) is data


def test_a_batch_takes_the_same_rows_of_every_array():
    batch = batches.Batch(jnp.asarray([3, 1]), jnp.asarray([0.5, 0.5]))
    taken = batch.take({"x": jnp.arange(5.0), "y": jnp.arange(10.0).reshape(5, 2)})
    assert taken["x"].tolist() == [3, 1]
    assert taken["y"].tolist() == [[6, 7], [2, 3]]


@settings(max_examples=40, deadline=None)
@given(per_epoch=st.integers(1, 3), batch=st.sampled_from([1, 4]), seed=st.integers(0, 2**20))
def test_an_epoch_visits_every_sample_once_when_the_batch_divides_them(per_epoch, batch, seed):
    samples = per_epoch * batch
    steps = visits("epochs", seed, samples, batch, 3 * per_epoch)
    for epoch in range(3):
        visited = np.concatenate(steps[epoch * per_epoch : (epoch + 1) * per_epoch])
        assert sorted(visited) == list(range(samples))


@settings(max_examples=40, deadline=None)
@given(**COUNTS)
def test_the_partial_last_batch_of_an_epoch_is_dropped(samples, batch, seed):
    per_epoch = max(samples // batch, 1)
    steps = visits("epochs", seed, samples, batch, 2 * per_epoch)
    for epoch in range(2):
        visited = np.concatenate(steps[epoch * per_epoch : (epoch + 1) * per_epoch]).tolist()
        assert len(visited) == len(set(visited)) == min(per_epoch * batch, samples)


def test_every_epoch_has_its_own_permutation():
    orders = np.reshape(visits("epochs", 1, 12, 4, 30), (10, 12))
    assert len(np.unique(orders, axis=0)) == 10


def test_all_permutations_are_equally_likely():
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(80):
        counts.update(tuple(step) for step in visits("epochs", seed, 4, 4))
    observed = [counts[order] for order in permutations(range(4))]
    assert sum(observed) == 80 * ROOM
    assert chisquare(observed).pvalue > 1e-3


def test_the_dropped_sample_is_any_of_them_equally_often():
    left_out: Counter[int] = Counter()
    for seed in range(80):
        for step in visits("epochs", seed, 5, 4):
            left_out.update(set(range(5)) - set(step))
    assert sum(left_out.values()) == 80 * ROOM
    assert chisquare([left_out[i] for i in range(5)]).pvalue > 1e-3


@pytest.mark.parametrize("name", SCHEMES)
@settings(max_examples=15, deadline=None)
@given(**COUNTS)
def test_the_samples_of_a_step_do_not_depend_on_the_capacity(name, samples, batch, seed):
    steps = steps_allowed(name, samples, batch)
    assert visits(name, seed, samples, batch, steps) == visits(name, seed, samples, batch, steps, capacity=31)


def test_independent_slots_are_uniform_and_independent():
    index = np.concatenate([visits("independent", seed, 5, 4) for seed in range(40)])
    assert chisquare(np.bincount(index.ravel(), minlength=5)).pvalue > 1e-3
    pairs = np.bincount(5 * index[:, 0] + index[:, 1], minlength=25)
    assert chisquare(pairs).pvalue > 1e-3


def test_one_pass_takes_each_sample_once_in_order():
    assert visits("one_pass", 0, 11, 4, 2) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_fresh_samples_are_new_at_every_step_and_depend_on_key_and_step_alone():
    def value(seed: int, t: int) -> tuple[float, ...]:
        chosen = batches.fresh(jax.random.key(seed), lambda key: jax.random.normal(key, (3,)))
        return tuple(chosen.draw(chosen.start(), jnp.asarray(t))[1].tolist())

    assert value(3, 1) == value(3, 1)
    assert len({value(seed, t) for seed in (3, 4) for t in range(3)}) == 6


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("first", [3, 4, 8])
def test_the_batch_of_a_step_depends_on_the_step_alone(name, first):
    samples, batch, steps = (12, 1, 12) if name == "one_pass" else (9, 1, 20)
    whole = visits(name, 5, samples, batch, steps)
    assert visits(name, 5, samples, batch, steps - first, first=first) == whole[first:]


@pytest.mark.parametrize("name", SCHEMES)
def test_the_number_of_samples_compiles_nothing_new(name):
    drawn(name, 0, 2, CAPACITY, 4)
    programs = drawn._cache_size()
    for samples in (1, 5, 10):
        drawn(name, samples, samples, CAPACITY, 4)
    assert drawn._cache_size() == programs


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", SCHEMES)
def test_weights_have_the_precision_of_the_run(name, precision):
    with numerics(precision):
        assert jax.eval_shape(partial(drawn, name, capacity=6, batch=2), 0, 5)[1].dtype == precision
