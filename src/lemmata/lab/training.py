"""Training: one compiled loop for every theory.

`descent` makes the step (gradient, optimiser, frozen parameters, gradient noise); `loop` repeats it: an outer
`while_loop` over records and an inner `fori_loop` over the steps between them, with preallocated buffers. It leaves as
soon as the run has stopped (under `vmap`: when every run has). The number of steps is a traced number, the count of
records a size. Training is never differentiated through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from lemmata.lab.batches import Batches


class Descent(NamedTuple):
    """The state of a training run."""

    parameters: Any
    optimiser: Any
    batches: Any


def descent(
    gradient: Callable[[Any, Any], Any],
    optimiser: optax.GradientTransformation,
    batches: Batches,
    *,
    trainable: Any = None,
    noise: Any = None,
    key: jax.Array | None = None,
) -> tuple[Callable[[Any], Descent], Callable[[jax.Array, Descent], Descent]]:
    """`start(parameters)` and `step(t, state)` of gradient descent.

    gradient: (parameters, batch) -> gradient of the batch loss, by autodiff or in closed form.
    optimiser: any `optax` transformation; `optax.sgd(eta)` is the plain step. Step sizes that change with t (stages)
        are `optax` schedules.
    trainable: a tree prefix of 0/1 multipliers of the update, or a function of t that gives one (stages); None: all.
    noise: standard deviation of Gaussian noise added to every gradient entry (needs `key`).
    """

    def start(parameters: Any) -> Descent:
        return Descent(parameters, optimiser.init(parameters), batches.start())

    def step(t: jax.Array, state: Descent) -> Descent:
        batches_state, batch = batches.draw(state.batches, t)
        gradients = gradient(state.parameters, batch)
        if noise is not None:
            assert key is not None, "gradient noise needs a key"
            gradients = _add_noise(gradients, noise, jax.random.fold_in(key, t))
        updates, optimiser_state = optimiser.update(gradients, state.optimiser, state.parameters)
        if trainable is not None:
            factors = trainable(t) if callable(trainable) else trainable
            updates = jax.tree.map(
                lambda factor, tree: jax.tree.map(lambda u: factor * u, tree), factors, updates, is_leaf=_is_scalar
            )
        return Descent(optax.apply_updates(state.parameters, updates), optimiser_state, batches_state)

    return start, step


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (int, float)) or getattr(value, "ndim", None) == 0


def _add_noise(gradients: Any, noise: Any, key: jax.Array) -> Any:
    leaves, tree = jax.tree.flatten(gradients)
    keys = jax.random.split(key, len(leaves))
    noisy = [g + noise * jax.random.normal(k, g.shape, g.dtype) for g, k in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(tree, noisy)


def record_steps(steps: Any, records: int, every: Any = 1, spacing: str = "even") -> jax.Array:
    """The steps at which records 0..records-1 are taken; -1 marks a record that is not used.

    "even": every `every` steps (more, if the records would not reach the end), and the last step; "log": 0 and then
    geometric up to `steps`. Both start at 0, are strictly increasing while used, and end with `steps`.
    """
    assert records >= 2, "the first and the last step are recorded"
    index = jnp.arange(records)
    if spacing == "even":
        stride = jnp.maximum(every, -(-steps // (records - 1)))
        at = jnp.minimum(index * stride, steps)
    else:
        assert spacing == "log", spacing
        grid = jnp.round((steps + 1.0) ** (index / (records - 1))) - 1
        # rounding repeats small steps; each is pushed at least one past the previous one
        at = jnp.minimum(index + jax.lax.cummax(grid - index), steps)
    return without_repeats(at)


def without_repeats(at: jax.Array) -> jax.Array:
    """Steps of records in order, those that repeat the one before marked as not used."""
    repeated = jnp.concatenate([jnp.zeros(1, bool), at[1:] == at[:-1]])
    return jnp.where(repeated, -1, at).astype(jnp.int32)


class Run(NamedTuple):
    """What a training loop leaves: the last state, the records, the last record, first-passage steps and flags."""

    state: Any
    records: dict[str, jax.Array]
    last: dict[str, jax.Array]
    step: jax.Array
    first: dict[str, jax.Array]
    last_step: jax.Array
    diverged: jax.Array


def loop(
    step: Callable[[jax.Array, Any], Any],
    state: Any,
    probe: Callable[[Any, Any], Mapping[str, jax.Array]],
    at: jax.Array,
    *,
    stop: Callable[[Mapping[str, jax.Array]], jax.Array] | None = None,
    passages: Mapping[str, Callable[[Mapping[str, jax.Array]], jax.Array]] | None = None,
    each_step: bool = False,
) -> Run:
    """Train from step `at[0]` to the last used record, or until `stop`.

    step(t, state): one step.
    probe(state, previous): the recorded quantities; `previous` is the state at the previous record.
    at: int[records] from `record_steps`.
    stop(probed): leave at this record. passages: name -> condition on probed; its first step is returned (inf: never).
    each_step: every record is one step after the previous one (at = 0, 1, 2, ...): the step is then fused with the
        probe, which shares the forward pass.

    A state or probed value that is no longer finite is not kept: the run is frozen at its last finite record and
    `diverged` is 1.
    """
    passages = passages or {}
    count = at.shape[0]
    real = jnp.result_type(float)
    at = jnp.concatenate([at, jnp.full(1, -1, at.dtype)])
    shapes = jax.eval_shape(probe, state, state)
    buffers = jax.tree.map(lambda s: jnp.full((count, *s.shape), jnp.nan, real), dict(shapes))

    def unfinished(carry: Any) -> jax.Array:
        k, stopped = carry[0], carry[1]
        return ~stopped & (at[k] >= 0)

    def advance(carry: Any) -> Any:
        k, _, diverged, state, previous, buffers, steps, first = carry
        now, following = at[k], at[k + 1]
        probed = probe(state, previous)
        # a finite state can have a loss that is not: what was finite at the first record must stay so
        lost = [jnp.any(~jnp.isfinite(probed[name]) & jnp.isfinite(buffers[name][0])) for name in buffers]
        sound = (k == 0) | ~jnp.any(jnp.asarray(lost))
        put = lambda buffer, value: buffer.at[k].set(jnp.where(sound, value.astype(real), jnp.nan))  # noqa: E731
        buffers = {name: put(buffers[name], probed[name]) for name in buffers}
        steps = put(steps, now)
        for name, condition in passages.items():
            here = sound & condition(probed) & jnp.isinf(first[name])
            first = first | {name: jnp.where(here, now.astype(real), first[name])}
        stopped = jnp.asarray(False) if stop is None else stop(probed)
        going = sound & ~stopped & (following >= 0)
        if each_step:
            moved = step(now, state)
            moved = jax.tree.map(lambda new, old: jnp.where(going, new, old), moved, state)
        else:
            moved = jax.lax.fori_loop(now, jnp.where(going, following, now), step, state)
        finite = _all_finite(moved)
        kept = jax.tree.map(
            lambda new, now, before: jnp.where(sound, jnp.where(finite, new, now), before), moved, state, previous
        )
        broken = ~(sound & finite)
        return k + sound, stopped | broken, diverged | broken, kept, state, buffers, steps, first

    never = {name: jnp.asarray(jnp.inf, real) for name in passages}
    no = jnp.asarray(False)
    carry = (jnp.asarray(0), no, no, state, state, buffers, jnp.full(count, jnp.nan, real), never)
    k, _, diverged, state, _, buffers, steps, first = jax.lax.while_loop(unfinished, advance, carry)
    last = {name: buffer[k - 1] for name, buffer in buffers.items()}
    return Run(state, buffers, last, steps, first, at[k - 1].astype(real), diverged.astype(real))


def _all_finite(tree: Any) -> jax.Array:
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in leaves])) if leaves else jnp.asarray(True)
