"""Mini-batches: which samples a training step sees.

Every scheme is a `Batches`: `start()` gives its state, `draw(state, t)` the batch of step t. The number of samples is a
traced number with a static capacity; a batch is a set of sample indices with weights that add up to 1, so that padding
never enters an average. All randomness is `fold_in(key, t)` or `fold_in(key, epoch)`: no dependence on chunking.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Batch(NamedTuple):
    """Samples of one step. `rows` is None for all of them in order; `weight` adds up to 1.

    batch: lm.Batch
    chosen = batch.take(data)
    """

    rows: jax.Array | None
    weight: jax.Array

    def take(self, tree: Any) -> Any:
        """The batch's rows of every array of `tree` (leading dimension: samples)."""
        if self.rows is None:
            return tree
        return jax.tree.map(lambda leaf: leaf[self.rows], tree)


class Batches(NamedTuple):
    """A scheme: `draw(state, t) -> (state, batch)`.

    scheme: lm.Batches = lm.full(samples, room)
    """

    start: Callable[[], Any]
    draw: Callable[[Any, jax.Array], tuple[Any, Any]]


def full(samples: Any, capacity: int) -> Batches:
    """All samples at every step.

    lm.full(problem.samples, problem.room)
    """
    weight = (jnp.arange(capacity) < samples) / jnp.maximum(samples, 1)
    batch = Batch(None, weight.astype(jnp.result_type(float)))
    return Batches(lambda: (), lambda state, t: (state, batch))


def _slots(batch: int, samples: Any) -> jax.Array:
    """Weights of `batch` slots of which min(batch, samples) are used."""
    used = jnp.minimum(batch, samples)
    return ((jnp.arange(batch) < used) / used).astype(jnp.result_type(float))


def _permutation(key: jax.Array, samples: Any, capacity: int) -> jax.Array:
    """A uniform permutation of the first `samples` indices; the order of any two does not depend on the capacity."""
    marks = jax.random.uniform(key, (capacity,))  # entry i is a function of the key and i alone
    return jnp.argsort(jnp.where(jnp.arange(capacity) < samples, marks, jnp.inf)).astype(jnp.int32)


def epochs(key: jax.Array, samples: Any, capacity: int, batch: int) -> Batches:
    """Without replacement: every epoch a new permutation, cut into batches; a partial last batch is dropped.

    lm.epochs(lm.stream(key, "batch"), problem.samples, problem.room, problem.batch)
    """
    per_epoch = jnp.maximum(samples // batch, 1)
    slots = jnp.arange(batch)
    weight = _slots(batch, samples)

    def draw(state: Any, t: jax.Array) -> tuple[Any, Batch]:
        epoch, position = t // per_epoch, t % per_epoch
        # the permutation is kept for an epoch; its epoch is part of the state, so training may start in the middle
        order = jax.lax.cond(
            state[0] == epoch,
            lambda: state[1],
            lambda: _permutation(jax.random.fold_in(key, epoch), samples, capacity),
        )
        rows = order[jnp.minimum(position * batch + slots, capacity - 1)]
        return (jnp.asarray(epoch, jnp.int32), order), Batch(rows, weight)

    return Batches(lambda: (jnp.asarray(-1, jnp.int32), jnp.zeros(capacity, jnp.int32)), draw)


def independent(key: jax.Array, samples: Any, batch: int) -> Batches:
    """With replacement: every slot of every step an independent uniform sample.

    lm.independent(lm.stream(key, "batch"), problem.samples, problem.batch)
    """
    weight = _slots(batch, samples)

    def draw(state: Any, t: jax.Array) -> tuple[Any, Batch]:
        return state, Batch(jax.random.randint(jax.random.fold_in(key, t), (batch,), 0, samples), weight)

    return Batches(lambda: (), draw)


def one_pass(samples: Any, capacity: int, batch: int) -> Batches:
    """Each sample once, in order (the samples are exchangeable); train for samples // batch steps.

    lm.one_pass(problem.samples, problem.room, problem.batch)
    """
    slots = jnp.arange(batch)
    weight = _slots(batch, samples)

    def draw(state: Any, t: jax.Array) -> tuple[Any, Batch]:
        return state, Batch(jnp.minimum(t * batch + slots, capacity - 1), weight)

    return Batches(lambda: (), draw)


def fresh(key: jax.Array, sample: Callable[[jax.Array], Any]) -> Batches:
    """New samples at every step: the batch is `sample(key of step t)`, whatever the theory's gradient takes.

    lm.fresh(lm.stream(key, "batch"), lambda key: draw_sample(problem, key))
    """
    return Batches(lambda: (), lambda state, t: (state, sample(jax.random.fold_in(key, t))))


def with_key(batches: Batches, key: jax.Array) -> Batches:
    """The batches of another scheme, each with a key of its step, for what is drawn anew besides.

    lm.with_key(lm.full(problem.samples, problem.room), lm.stream(key, "noise"))
    """

    def draw(state: Any, t: jax.Array) -> tuple[Any, tuple[Any, jax.Array]]:
        state, batch = batches.draw(state, t)
        return state, (batch, jax.random.fold_in(key, t))

    return Batches(batches.start, draw)
