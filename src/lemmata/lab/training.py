"""Training: one compiled loop for every theory.

`descent` makes the step (gradient, optimiser, frozen parameters, gradient noise); `loop` repeats it: an outer
`while_loop` over records and an inner `fori_loop` over the steps between them, with preallocated buffers. It leaves as
soon as the run has stopped (under `vmap`: when every run has). The number of steps is a traced number, the count of
records a size. Training is never differentiated through.

All that a run needs to go on is its `Carry`, so that the same program runs it whole or to a given step and on from
there (`lab.live`), between two records as well, to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from lemmata.lab import live
from lemmata.lab.batches import Batches
from lemmata.lab.simulation import Variable

RUN = (
    Variable("step", ("record",), "t", "training step of the record"),
    Variable("last_step", (), "", "last step that was trained"),
    Variable("diverged", (), "", "1 if training left the finite numbers and was frozen"),
)
"""The variables of every training run, which `Run.results` gives beside its records and first passages."""


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

        start, step = lm.descent(gradient, optax.sgd(0.1), lm.full(samples, room))
        run = lm.loop(step, start(network), probe, at)

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

        lm.record_steps(1000, 20, spacing="log")

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
    """Steps of records in order, those that repeat the one before marked as not used.

    lm.without_repeats(jnp.array([0, 1, 1, 2]))
    """
    repeated = jnp.concatenate([jnp.zeros(1, bool), at[1:] == at[:-1]])
    return jnp.where(repeated, -1, at).astype(jnp.int32)


class Best(NamedTuple):
    """The record with the smallest value of what was asked for: that value, its step, the state there."""

    value: jax.Array
    step: jax.Array
    state: Any


class Run(NamedTuple):
    """What a training loop leaves: the last state, the records, the last record, first-passage steps and flags.

        run: lm.Run = train(problem, data)
        run.state, run.results()

    `kept`: the states at the steps that were asked for, stacked in that order (NaN, in integers 0, where a run has no
    record at that step). `best`: the record with the smallest value. None where nothing was asked for.
    """

    state: Any
    records: dict[str, jax.Array]
    last: dict[str, jax.Array]
    step: jax.Array
    first: dict[str, jax.Array]
    last_step: jax.Array
    diverged: jax.Array
    kept: Any = None
    best: Best | None = None

    def results(self) -> dict[str, jax.Array]:
        """What a simulation returns of it: the records, `step`, `NAME_step` of every first passage, and the flags."""
        first = {f"{name}_step": step for name, step in self.first.items()}
        return {**self.records, "step": self.step, **first, "last_step": self.last_step, "diverged": self.diverged}


class Carry(NamedTuple):
    """Where a training is. `record`: the one that comes next, or, between two records, the one before.

    `previous` is the state at the record before, to which a run that left the finite numbers falls back.
    """

    record: jax.Array
    step: jax.Array
    stopped: jax.Array
    diverged: jax.Array
    state: Any
    previous: Any
    buffers: dict[str, jax.Array]
    steps: jax.Array
    first: dict[str, jax.Array]
    kept: Any
    best: Best | None


def loop(
    step: Callable[[jax.Array, Any], Any],
    state: Any,
    probe: Callable[[Any, Any], Mapping[str, jax.Array]],
    at: jax.Array,
    *,
    stop: Callable[[Mapping[str, jax.Array]], jax.Array] | None = None,
    passages: Mapping[str, Callable[[Mapping[str, jax.Array]], jax.Array]] | None = None,
    each_step: bool = False,
    keep: jax.Array | None = None,
    best: Callable[[Mapping[str, jax.Array]], jax.Array] | None = None,
) -> Run:
    """Train from step `at[0]` to the last used record, or until `stop`.

        run = lm.loop(step, start(network), probe, lm.record_steps(100, 11), stop=lambda probed: probed["loss"] < 0.01)

    step(t, state): one step.
    probe(state, previous): the recorded quantities; `previous` is the state at the previous record.
    at: int[records] from `record_steps`.
    stop(probed): leave at this record. passages: name -> condition on probed; its first step is returned (inf: never).
    each_step: every record is one step after the previous one (at = 0, 1, 2, ...): the step is then fused with the
        probe, which shares the forward pass.
    keep: int[count], steps among the records at which the state is kept. best(probed): keep the state of the record
        with the smallest value (a loss on validation data).

    A state or probed value that is no longer finite is not kept: the run is frozen at its last finite record and
    `diverged` is 1. This is judged at records alone, so that it does not matter where a run was divided.
    """
    passages = passages or {}
    count = at.shape[0]
    real = jnp.result_type(float)
    last_step = jnp.max(at)
    at = jnp.concatenate([at, jnp.full(1, -1, at.dtype)])
    shapes = jax.eval_shape(probe, state, state)
    buffers = jax.tree.map(lambda s: jnp.full((count, *s.shape), jnp.nan, real), dict(shapes))

    def unfinished(carry: Carry) -> jax.Array:
        return ~carry.stopped & (at[carry.record] >= 0)

    def advance(carry: Carry, limit: jax.Array | int) -> Carry:
        """Take the record that is due, then the steps to the next one or to `limit`."""
        k, state, previous, buffers, first = carry.record, carry.state, carry.previous, carry.buffers, carry.first
        now, following = at[k], at[k + 1]
        # only a divided run goes on between two records, after one that was taken before
        inside = jnp.asarray(False) if each_step else carry.step > now
        probed = probe(state, previous)
        # a finite state can have a loss that is not: what was finite at the first record must stay so
        lost = [jnp.any(~jnp.isfinite(probed[name]) & jnp.isfinite(buffers[name][0])) for name in buffers]
        sound = inside | (k == 0) | ~jnp.any(jnp.asarray(lost))
        taken = sound & ~inside

        def put(buffer: jax.Array, value: jax.Array) -> jax.Array:
            seen = jnp.where(sound, value.astype(real), jnp.nan)
            return buffer.at[k].set(jnp.where(inside, buffer[k], seen))

        buffers = {name: put(buffers[name], probed[name]) for name in buffers}
        steps = put(carry.steps, now)
        for name, condition in passages.items():
            here = taken & condition(probed) & jnp.isinf(first[name])
            first = first | {name: jnp.where(here, now.astype(real), first[name])}
        kept, found = _keep(carry.kept, keep, now, taken, state), _better(carry.best, best, probed, now, taken, state)
        stopped = jnp.asarray(False) if stop is None else ~inside & stop(probed)
        going = sound & ~stopped & (following >= 0)
        if each_step:
            moved = step(now, state)
            moved = jax.tree.map(lambda new, old: jnp.where(going, new, old), moved, state)
            until = jnp.where(going, following, now)
        else:
            until = jnp.where(going, jnp.minimum(following, limit), carry.step)
            moved = jax.lax.fori_loop(carry.step, until, step, state)
        arrived = ~going | (until == following)
        record = jax.tree.map(lambda before, here: jnp.where(inside, before, here), previous, state)
        finite = ~arrived | _all_finite(moved)
        last = jax.tree.map(
            lambda new, here, before: jnp.where(sound, jnp.where(finite, new, here), before), moved, record, previous
        )
        broken = ~(sound & finite)
        return Carry(
            k + (sound & arrived),
            until,
            stopped | broken,
            carry.diverged | broken,
            last,
            record,
            buffers,
            steps,
            first,
            kept,
            found,
        )

    no = jnp.asarray(False)
    begin = Carry(
        jnp.asarray(0),
        at[0],
        no,
        no,
        state,
        state,
        buffers,
        jnp.full(count, jnp.nan, real),
        {name: jnp.asarray(jnp.inf, real) for name in passages},
        None if keep is None else jax.tree.map(lambda leaf: _absent((keep.shape[0], *leaf.shape), leaf.dtype), state),
        None if best is None else Best(jnp.asarray(jnp.inf, real), jnp.asarray(jnp.nan, real), state),
    )
    end = live.repeat(unfinished, advance, begin, last_step)
    k = end.record
    last = {name: buffer[k - 1] for name, buffer in end.buffers.items()}
    final = at[k - 1].astype(real)
    flag = end.diverged.astype(real)
    return Run(end.state, end.buffers, last, end.steps, end.first, final, flag, end.kept, end.best)


def _keep(kept: Any, keep: jax.Array | None, now: jax.Array, taken: jax.Array, state: Any) -> Any:
    """The kept states, with this one where its step was asked for."""
    if keep is None:
        return None
    here = taken & (keep == now)
    chosen = lambda leaf: here.reshape(-1, *(1,) * leaf.ndim)  # noqa: E731
    return jax.tree.map(lambda old, leaf: jnp.where(chosen(leaf), leaf, old), kept, state)


def _better(
    found: Best | None,
    best: Callable[[Mapping[str, jax.Array]], jax.Array] | None,
    probed: Mapping[str, jax.Array],
    now: jax.Array,
    taken: jax.Array,
    state: Any,
) -> Best | None:
    """The best record so far, or this one."""
    if found is None or best is None:
        return None
    value = best(probed).astype(found.value.dtype)
    new = Best(value, now.astype(found.step.dtype), state)
    return jax.tree.map(lambda better, old: jnp.where(taken & (value < found.value), better, old), new, found)


def _absent(shape: tuple[int, ...], dtype: Any) -> jax.Array:
    return jnp.full(shape, jnp.nan if jnp.issubdtype(dtype, jnp.floating) else 0, dtype)


def _all_finite(tree: Any) -> jax.Array:
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in leaves])) if leaves else jnp.asarray(True)
