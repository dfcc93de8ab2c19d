"""Batches with a key of their own for every step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab import batches

FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}


def schemes(key: jax.Array) -> dict[str, batches.Batches]:
    return {
        "full": batches.full(5, 8), "epochs": batches.epochs(key, 6, 8, 2),
        "independent": batches.independent(key, 5, 3), "one_pass": batches.one_pass(8, 8, 2),
    }  # fmt: skip


def walk(scheme: batches.Batches, steps: int) -> list:
    state, drawn, draw = scheme.start(), [], jax.jit(scheme.draw, **FAST)
    for t in range(steps):
        state, batch = draw(state, jnp.asarray(t))
        drawn.append(batch)
    return drawn


@pytest.mark.parametrize("name", ["full", "epochs", "independent", "one_pass"])
def test_the_batches_are_those_of_the_scheme_and_the_keys_those_of_the_step(name):
    scheme = schemes(jax.random.key(1))[name]
    for t, (plain, (batch, key)) in enumerate(
        zip(walk(scheme, 4), walk(batches.with_key(scheme, jax.random.key(9)), 4), strict=True)
    ):
        for one, two in zip(jax.tree.leaves(plain), jax.tree.leaves(batch), strict=True):
            np.testing.assert_array_equal(one, two)
        assert (batch.rows is None) == (plain.rows is None)
        assert key == jax.random.fold_in(jax.random.key(9), t)


def test_keys_of_steps_differ_and_do_not_depend_on_the_batches():
    keys = [
        [tuple(jax.random.key_data(key).tolist()) for _, key in walk(batches.with_key(scheme, jax.random.key(2)), 4)]
        for scheme in schemes(jax.random.key(7)).values()
    ]
    assert all(row == keys[0] for row in keys)
    assert len(set(keys[0])) == 4
